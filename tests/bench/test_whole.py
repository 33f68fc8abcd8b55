"""The benchmark of whole processes: times, turns, the table, the check of a fall."""

import sys

import numpy as np
import pytest

from bench.check import checked_whole
from bench.peers.summary import Fall
from bench.whole.pictures import photograph
from bench.whole.processes import ProcessFailed, interleaved_runs, run_once
from bench.whole.rows import OPENCV, OURS, Files, rows_of
from bench.whole.tables import ratios_of

PYTHON = sys.executable


def entry(key="filter-png", ours=(1.0,), peer=(2.0,), peak=50_000_000):
    contenders = {
        OURS: {"elapsed_s": list(ours), "peak_bytes": [peak]},
        OPENCV: {"elapsed_s": list(peer), "peak_bytes": [None]},
    }
    return {"key": key, "title": key, "contenders": contenders}


def make_run(*rows, **absent):
    return {
        "machine": {"device": "a CPU", "threads": 2},
        "device": "auto",
        "rows": list(rows),
        "absent": absent,
    }


@pytest.mark.slow
def test_that_a_process_is_measured_by_its_own_memory_and_time():
    size = 200_000_000
    spent = run_once([PYTHON, "-c", f"held = b'1' * {size}; sum(range(1_000_000))"])
    assert spent.elapsed_s > 0
    assert spent.cpu_s > 0
    assert spent.system_s <= spent.cpu_s
    if spent.peak_bytes is not None:
        assert size <= spent.peak_bytes < 2 * size


def test_that_a_process_that_fails_says_why():
    with pytest.raises(ProcessFailed, match="ended with 3: no such mask"):
        run_once([PYTHON, "-c", "import sys; print('no such mask', file=sys.stderr); sys.exit(3)"])
    with pytest.raises(ProcessFailed):
        run_once(["there-is-no-such-program"])


def test_that_processes_that_work_take_turns(capsys):
    asked = []

    def command(key, status=0):
        def make():
            asked.append(key)
            return [PYTHON, "-S", "-c", f"raise SystemExit({status})"]

        return make

    commands = {"a": command("a"), "broken": command("broken", 1), "b": command("b")}
    spent, failures = interleaved_runs(commands, 2)
    assert asked == ["a", "broken", "b", "a", "b", "b", "a"]
    assert {key: len(runs) for key, runs in spent.items()} == {"a": 2, "b": 2}
    assert "ended with 1" in failures["broken"]
    assert "broken does not take part" in capsys.readouterr().out


def test_that_ratios_are_of_medians():
    run = make_run(entry(ours=(1.0, 9.0, 2.0), peer=(3.0, 5.0, 4.0)), entry("alone", peer=()))
    assert ratios_of(run) == {"filter-png": {OPENCV: 2.0}}


def test_that_every_row_begins_with_ours(tmp_path):
    (tmp_path / "photo.jpg").touch()
    files = Files(tmp_path / "picture.png", tmp_path / "photo.jpg", tmp_path, (16, 9), (8, 6))
    peers = {OPENCV: [PYTHON]}
    rows = rows_of(files, peers, cores=2, count=3, many=12, rounds=2, device="cpu")
    assert {row.key for row in rows} >= {"filter-png", "filter-jpeg", "devices", "first-filter", "batch-3"}
    assert all(next(iter(row.commands)) == OURS for row in rows)
    assert not any({"vips", "magick"} & set(row.commands) for row in rows)
    assert len(list(files.folder_of(3).iterdir())) == 3


def test_that_the_picture_is_the_same_each_time():
    picture = photograph(64, 48)
    assert picture.shape == (48, 64, 3)
    assert np.array_equal(picture, photograph(64, 48))
    # Neighbours are alike, and the whole is not flat.
    steps = np.abs(np.diff(picture.astype(int), axis=1)).mean()
    assert 1 < steps < picture.std()


def test_that_a_fall_of_a_whole_process_is_measured_again():
    asked = []

    def measure(rows):
        asked.append(rows)
        return {key: {OPENCV: 0.5 if len(asked) == 1 else 0.99} for key in rows}

    outcome = checked_whole({"a": {OPENCV: 1.0}, "b": {OPENCV: 0.5}}, measure)
    assert asked == [{"a", "b"}, {"a"}]
    assert (outcome.falls, outcome.forgiven) == ([], [Fall("a", OPENCV, 1.0, 0.5)])
    assert checked_whole({"a": {OPENCV: 1.0}}, lambda rows: {"a": {OPENCV: 0.5}}).falls

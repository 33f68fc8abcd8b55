"""The benchmark of whole calls with made-up libraries and figures: cells, limits, ratios, the check."""

import argparse
import json
import sys
from types import SimpleNamespace

import pytest

from bench import check
from bench.calls import __main__ as calls
from bench.calls.tables import title_of
from bench.peers.summary import append

MACHINE = {"device": "a CPU, 2 cores", "threads": 2}
ABOUT = {"date": "2026-01-02", "commit": "abc", "versions": {"numpy": "2"}, "machine": MACHINE}


def cell(side=64, mask=3, dtype="uint8", channels=1, **times_us):
    return {"side": side, "mask": mask, "dtype": dtype, "channels": channels, "us": times_us}


@pytest.fixture
def library(monkeypatch):
    """Return how often each of two made-up libraries was called."""
    called = {"ours": 0, "opencv": 0}

    def call(name):
        called[name] += 1

    made = {name: lambda name=name: call(name) for name in called}
    monkeypatch.setitem(sys.modules, "bench.calls.on_cpu", SimpleNamespace(calls_of=lambda *given: made))
    monkeypatch.setattr(calls, "SECONDS_PER_CELL", 0.0)
    return called


def test_that_a_limit_follows_from_the_size_and_the_peers():
    for found, device, limit in [
        (cell(64, opencv=9.0, copy=1.0), "cpu", 25.0),
        (cell(128, opencv=50.0, copy=1.0), "cpu", 70.0),
        (cell(512, opencv=1000.0, copy=1.0), "cpu", 1200.0),
        (cell(1024, opencv=1000.0, copy=1.0), "cpu", 1000.0),
        (cell(1024, 5, "float32", opencv=1000.0, copy=200.0), "cpu", 1000.0),
        (cell(1024, 3, "float32", opencv=1000.0, copy=200.0), "cpu", 240.0),
        (cell(64, cupy=80.0, torch=70.0), "gpu", 70.0),
        (cell(64, cupy=60.0, torch=70.0), "arrays", 60.0),
    ]:
        assert calls.limit_us(found, device) == pytest.approx(limit)


def test_that_cells_beyond_their_limits_are_listed():
    cells = [cell(ours=24.0, opencv=9.0, copy=1.0), cell(channels=3, ours=26.0, opencv=9.0, copy=1.0)]
    head, missed = calls.summary(cells, "cpu").splitlines()
    assert head == "1 of 2 cells within their limits"
    assert missed.startswith("64 × 64 8-bit RGB, 3 × 3")
    assert missed.endswith("limit 25.0")


def test_that_all_cells_are_within_their_limits_where_none_is_beyond():
    assert calls.summary([cell(ours=5.0, cupy=6.0, torch=7.0)], "gpu") == "1 of 1 cells within their limits"


@pytest.mark.parametrize(("device", "pairs"), [("cpu", 4), ("gpu", 3), ("arrays", 3)])
def test_that_quick_cells_have_both_types_with_one_and_three_channels(device, pairs):
    found = list(calls.cells_of(device, True))
    assert len(found) == 4 * pairs
    assert {(one["dtype"], one["channels"]) for one in found} == {
        (dtype, channels) for dtype in ("uint8", "float32") for channels in (1, 3)
    }


def test_that_every_cell_has_a_name_of_its_own():
    found = list(calls.cells_of("cpu", False))
    assert len({title_of(one) for one in found}) == len(found) == 4 * len(calls.SIDES) * len(calls.MASKS)


def test_that_libraries_are_called_in_turn(library):
    times = calls.measured(16, 3, "uint8", 3, "cpu")
    assert set(times) == {"ours", "opencv"}
    # Two calls first, then one that does not count before each few.
    turns = calls.LEAST_CALLS // calls.CALLS_IN_A_ROW
    assert library == dict.fromkeys(library, 2 + turns * (1 + calls.CALLS_IN_A_ROW))


def test_that_a_run_on_the_cpu_is_recorded_by_its_ratios(library, monkeypatch, tmp_path):
    history, figures = tmp_path / "history.jsonl", tmp_path / "figures.json"
    monkeypatch.setattr(calls, "HISTORY", history)
    monkeypatch.setattr(calls, "about", lambda device: ABOUT)
    monkeypatch.setattr(calls, "measured", lambda *given: {"ours": 10.0, "opencv": 25.0, "copy": 1.0})
    assert calls.main(["--quick", "--history", "--json", str(figures)]) == 0
    line = json.loads(history.read_text())
    cells = json.loads(figures.read_text())["cells"]
    assert line["ratios"] == {title_of(one): {"opencv": 2.5} for one in cells}
    assert line["device"] == MACHINE["device"]


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """Record a run in which OpenCV took twice as long as our call of 64 x 64."""
    key = title_of(cell())
    monkeypatch.setattr(calls, "HISTORY", tmp_path / "history.jsonl")
    append(MACHINE | {"date": "", "commit": "", "ratios": {key: {"opencv": 2.0}}}, calls.HISTORY)
    monkeypatch.setattr(check, "find_spec", lambda name: name)
    monkeypatch.setattr(check.whole, "about", lambda device: ABOUT)
    return key


@pytest.mark.parametrize(("ours", "falls"), [(10.0, 0), (12.0, 1)])
def test_that_the_check_compares_calls_with_the_recorded_ones(recorded, monkeypatch, ours, falls):
    asked = []

    def measured(*given):
        asked.append(given)
        return {"ours": ours, "opencv": 20.0}

    monkeypatch.setattr(calls, "measured", measured)
    outcome, ratios, _ = check._calls(argparse.Namespace(device="cpu"))
    assert (outcome.compared, len(outcome.falls), list(ratios)) == (1, falls, [recorded])
    # Only what is recorded, and a fall once more.
    assert asked == [(64, 3, "uint8", 1, "cpu")] * (1 + falls)


def test_that_the_check_of_a_gpu_has_no_calls(recorded):
    assert check._calls(argparse.Namespace(device="gpu")) is None


def test_that_the_check_says_how_to_record_calls(recorded, monkeypatch, capsys):
    monkeypatch.setattr(check.whole, "about", lambda device: ABOUT | {"machine": MACHINE | {"threads": 16}})
    assert check._calls(argparse.Namespace(device="cpu")) is None
    assert "python -m bench.calls --quick --history records one" in capsys.readouterr().out

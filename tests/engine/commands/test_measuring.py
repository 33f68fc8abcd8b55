"""What `bench` and `matmul` have in common: files, Ctrl+C, lost devices, wrong results, exit statuses."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

# Before a test replaces what is in the registry: a command that is imported meanwhile would keep that.
import engine.commands.benchmark
import engine.commands.matmul
import engine.variants.registry
from engine.commands import measuring
from engine.commands.output import log
from engine.variants.registry import matmul_variant
from tests.engine.commands.conftest import raising, strict_json
from tests.engine.commands.wrong_variant import make_every_variant_wrong

BENCH = "bench --sizes 8 --masks 3 --budget 0 --variants"
MATMUL = "matmul --size 8 --tiles 4 --budget 0 --variants"
ONE_CELL = pytest.mark.parametrize("one_cell", [f"{BENCH} cpu-serial", f"{MATMUL} numpy"])


@ONE_CELL
@pytest.mark.parametrize(("lost", "other"), [("--out", "--csv"), ("--csv", "--out")])
def test_that_a_full_disk_loses_one_file_and_no_measurement(
    command, full_disk, tmp_path, one_cell, lost, other
):
    bad, good = full_disk / "a.txt", tmp_path / "b.txt"
    answer = command(one_cell, lost, bad, other, good)
    assert answer.status == 2
    assert "verified" in answer.out
    assert answer.err.splitlines()[-1].startswith(f"{bad} cannot be written: the disk is full.")
    assert str(good) not in answer.err
    assert one_cell.split()[-1] in good.read_text()
    assert not bad.exists()


def test_that_the_json_answer_is_whole_although_its_file_is_not_written(command, full_disk):
    answer = command(BENCH, "cpu-serial --json --out", full_disk / "a.json")
    assert answer.status == 2
    assert len(answer.document["results"]) == 1


def test_that_a_stopped_bench_says_what_was_done_and_leaves_old_files(command, monkeypatch, tmp_path):
    out, csv, shown = tmp_path / "r.json", tmp_path / "r.csv", []
    out.write_text("old")

    def log_once(line):
        if shown:
            raise KeyboardInterrupt
        shown.append(line)
        log(line)

    monkeypatch.setattr(measuring, "log", log_once)
    answer = command(BENCH, "cpu-serial --masks 1,2,3 --out", out, "--csv", csv)
    assert (answer.status, answer.out) == (130, "")
    stopped = f"Stopped: 2 of 3 cells done; {out} was not written; {csv} was not written."
    assert answer.err.splitlines()[1:] == [stopped]
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
    assert out.read_text() == "old"


def test_that_a_stopped_command_says_which_file_is_there_or_without_files_what_was_done(
    command, monkeypatch, tmp_path
):
    out, csv = tmp_path / "r.json", tmp_path / "r.csv"
    monkeypatch.setattr(measuring, "results_csv", raising(KeyboardInterrupt()))
    answer = command(BENCH, "cpu-serial --out", out, "--csv", csv)
    stopped = f"Stopped: 1 of 1 cells done; {out} was written; {csv} was not written."
    assert (answer.status, answer.err.splitlines()[1:]) == (130, [stopped])
    assert out.is_file()
    monkeypatch.setattr(measuring, "log", raising(KeyboardInterrupt()))
    answer = command(MATMUL, "numpy")
    assert (answer.status, answer.out, answer.err) == (130, "", "Stopped: 1 of 1 cells done.\n")


@ONE_CELL
def test_that_a_wrong_result_has_status_4_and_no_speed(command, monkeypatch, tmp_path, one_cell):
    make_every_variant_wrong(monkeypatch)
    wrong = SimpleNamespace(launch=lambda image, out, stream=None: out.fill(1e9))
    numpy = replace(matmul_variant("numpy"), prepare=lambda *given: wrong)
    monkeypatch.setattr(engine.variants.registry, "MATMUL_VARIANTS", (numpy,))
    out = tmp_path / "r.json"
    answer = command(one_cell, "--json --out", out)
    assert answer.status == 4
    assert answer.document == strict_json(out.read_text())
    (result,) = answer.document["results"]
    assert (result["timing"], result["speed_up"]) == (None, None)
    assert result["status"].startswith("not verified: row 0, column 0")


@pytest.mark.parametrize(
    "cells", [f"{BENCH} naive,tiled,cpu-serial", f"{MATMUL} matmul-naive,matmul-tiled,numpy"]
)
def test_that_after_a_lost_device_all_cells_are_written(command, lost_device, tmp_path, cells):
    out = tmp_path / "r.json"
    answer = command(cells, "--device simulator --out", out)
    assert (answer.status, lost_device) == (3, [3])
    assert answer.err.splitlines()[-1] == "cuda:0: illegal address. Start again."
    naive, tiled, on_cpu = strict_json(out.read_text())["results"]
    assert (naive["failure"], naive["refused"]) == ("cuda:0: illegal address. Start again.", False)
    assert tiled["failure"].startswith("Not measured: the device was lost before (cuda:0: illegal address)")
    assert on_cpu["verification"]["passed"] is True


@pytest.mark.parametrize(
    ("arguments", "status", "failure", "line"),
    [
        (f"{BENCH} tiled --blocks 64x32 --device simulator", 2, "2,048 threads", "nothing could be measured"),
        (f"{MATMUL} matmul-tiled", 3, "There is no driver.", "needs a CUDA device: There is no driver."),
    ],
)
def test_that_a_measurement_without_any_run_writes_the_reasons(
    command, no_gpu, tmp_path, arguments, status, failure, line
):
    answer = command(arguments, "--out", tmp_path / "r.json")
    assert answer.status == status
    assert line in answer.err.splitlines()[-1]
    (result,) = strict_json((tmp_path / "r.json").read_text())["results"]
    assert failure in result["failure"]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--budget -1", "--budget -1 ... from 0 to 3600"),
        ("--seed 1.5", "--seed 1.5 ... whole number"),
        ("--csv {folder}/r.json", "--out and --csv ... the same file"),
        ("--csv {folder}/nowhere/r.csv", "its folder does not exist"),
        ("--out {folder}", "it is a folder ... Add a file name."),
        ("--variants a,,b", "a part of the list is empty"),
        ("--device cuda:77", "device 'cuda:77' ... no such device"),
    ],
)
@ONE_CELL
def test_that_bad_input_is_refused_before_the_work(refused, monkeypatch, tmp_path, one_cell, options, says):
    monkeypatch.setattr("engine.commands.matmul.sweep", None)  # any work would fail
    monkeypatch.setattr("engine.commands.benchmark.measured", None)
    status = 3 if "cuda:77" in options else 2
    options = options.replace("{folder}", str(tmp_path))
    refused(one_cell, "--out", tmp_path / "r.json", options, status=status, says=says)

"""`bench` and `matmul`: what is measured, files, Ctrl+C, lost devices, wrong results, exit statuses."""

import csv
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import engine.commands.benchmark
import engine.commands.command_line
import engine.commands.matmul
import engine.tasks.product.problem
import engine.tasks.read_results
from engine.commands import measuring
from engine.commands.output import log
from engine.geometry.block import every_block
from engine.results.metrics import number_of
from engine.tasks.messages import RecordedRequest
from engine.tasks.product.problem import matmul_variant
from engine.tasks.read_results import result_from_json
from engine.work.filter_task import random_mask
from engine.work.problem import random_picture
from tests.engine.commands.conftest import Left, make_every_variant_wrong, strict_json
from tests.made_runs import made_recorded_runs, make_result

# Before a test replaces what is in the registry: a command that is imported meanwhile would keep that.

BENCH = "bench --sizes 8 --masks 3 --budget 0 --variants"
MATMUL = "matmul --size 8 --tiles 4 --budget 0 --variants"
ONE_CELL = pytest.mark.parametrize("one_cell", [f"{BENCH} cpu-serial", f"{MATMUL} numpy"])


@ONE_CELL
@pytest.mark.parametrize(("lost", "other"), [("--out", "--csv"), ("--csv", "--out")])
def test_that_a_full_disk_loses_no_measurement(command, full_disk, tmp_path, one_cell, lost, other):
    bad, good = full_disk / "a.txt", tmp_path / "b.txt"
    answer = command(one_cell, lost, bad, other, good)
    assert answer.status == 2
    assert "verified" in answer.out
    assert answer.err.splitlines()[-1].startswith(f"{bad} cannot be written: the disk is full.")
    assert str(good) not in answer.err
    assert one_cell.split()[-1] in good.read_text()
    assert not bad.exists()
    assert len(command(one_cell, "--json", lost, bad, other, good).document["results"]) == 1


def test_that_a_stopped_bench_leaves_old_files(command, ctrl_c, monkeypatch, tmp_path):
    out, csv, shown = tmp_path / "r.json", tmp_path / "r.csv", []
    out.write_text("old")

    def log_once(line):
        if shown:
            ctrl_c()
        shown.append(line)
        log(line)

    monkeypatch.setattr(measuring, "log", log_once)
    with pytest.raises(Left) as left:
        command(BENCH, "cpu-serial --masks 1,2,3 --out", out, "--csv", csv)
    stopped = f"Stopped: 2 of 3 cells done; {out} was not written; {csv} was not written."
    assert str(left.value) == stopped
    assert [path.name for path in tmp_path.iterdir()] == ["r.json"]
    assert out.read_text() == "old"


def test_that_a_stopped_command_says_which_file_is_there_or_without_files_what_was_done(
    command, ctrl_c, monkeypatch, tmp_path
):
    out, csv = tmp_path / "r.json", tmp_path / "r.csv"
    monkeypatch.setattr(measuring.columns, "results_csv", ctrl_c)
    with pytest.raises(Left) as left:
        command(BENCH, "cpu-serial --out", out, "--csv", csv)
    assert str(left.value) == f"Stopped: 1 of 1 cells done; {out} was written; {csv} was not written."
    assert out.is_file()
    monkeypatch.setattr(measuring, "log", ctrl_c)
    with pytest.raises(Left, match=r"^Stopped: 1 of 1 cells done\.$"):
        command(MATMUL, "numpy")


@ONE_CELL
def test_that_a_wrong_result_has_no_speed(command, monkeypatch, tmp_path, one_cell):
    make_every_variant_wrong(monkeypatch)
    wrong = SimpleNamespace(launch=lambda image, out, stream=None: out.fill(1e9))
    numpy = replace(matmul_variant("numpy"), prepare=lambda *given: wrong)
    monkeypatch.setattr(engine.tasks.product.problem, "MATMUL_VARIANTS", (numpy,))
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
def test_that_what_both_refuse_is_refused_before_the_work(
    refused, monkeypatch, tmp_path, one_cell, options, says
):
    monkeypatch.setattr("engine.commands.measuring.sweep", None)  # any work would fail
    status = 3 if "cuda:77" in options else 2
    options = options.replace("{folder}", str(tmp_path))
    refused(one_cell, "--out", tmp_path / "r.json", options, status=status, says=says)


@pytest.mark.parametrize(
    ("line", "what"), [("bench --masks 3,{file}", "mask"), ("network --weights {file}", "file of weights")]
)
def test_that_results_never_replace_what_is_read(command, tmp_path, line, what):
    read = tmp_path / "read.csv"
    read.write_text("1,2,1\n")
    for option in (f"--out {read}", f"--out {tmp_path}/r.json --csv {read}"):
        answer = command(line.format(file=read), option)
        assert answer.status == 2
        assert f"read.csv is the {what} itself: its result would replace it." in answer.err
    assert read.read_text() == "1,2,1\n"


def _rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def bench(command, tmp_path):
    """Return a function that measures; it returns the answer, the JSON and the rows of CSV."""

    def do(options):
        out, table = tmp_path / "r.json", tmp_path / "r.csv"
        answer = command(
            "bench",
            options if "--budget" in options else f"{options} --budget 0",
            "--out",
            out,
            "--csv",
            table,
        )
        assert answer.status == 0, answer
        return answer, strict_json(out.read_text()), _rows(table)

    return do


@pytest.mark.slow
def test_that_every_cell_is_a_result_with_raw_samples_or_its_reason(bench):
    """Two CPU variants, and one in the simulator with a legal and an illegal block."""
    cells = (
        "--variants cpu-serial,cpu-parallel,naive --sizes 9x7 --masks 3,2x5 --border wrap --blocks 8x4,64x32"
    )
    _, document, rows = bench(f"{cells} --device simulator --budget 0.001 --seed 5")
    results = document["results"]
    problems = [result["problem"] for result in results]
    blocks = [r["block"] and (r["block"]["x"], r["block"]["y"]) for r in results]
    one_mask = [("cpu-serial", None), ("cpu-parallel", None), ("naive", (8, 4)), ("naive", (64, 32))]
    assert [(r["variant"], block) for r, block in zip(results, blocks, strict=True)] == one_mask * 2
    assert [problem["mask_shape"] for problem in problems] == [[3, 3]] * 4 + [[2, 5]] * 4
    assert {(p["width"], p["height"], p["border"]) for p in problems} == {(9, 7, "wrap")}
    for result, row in list(zip(results, rows, strict=True))[3::4]:
        assert "2,048 threads" in result["failure"]
        assert "The nearest legal block is 64 × 16." in result["failure"]
        assert (result["timing"], result["verification"], result["speed_up"]) == (None, None, None)
        assert (row["status"], row["verified"], row["speed_up"]) == (result["failure"], "no", "")
        assert [value for name, value in row.items() if name.endswith("_ms")] == [""] * 18
    naive = results[2]
    assert (naive["device"], naive["verification"]["passed"], naive["timing"]) == ("simulator", True, None)
    assert (rows[2]["verified"], rows[2]["kernel_median_ms"]) == ("yes", "")
    for result in results[:2]:
        samples = result["timing"]["kernel"]["samples_ms"]
        assert len(samples) >= 5
        assert all(sample > 0 for sample in samples)
        assert (result["seed"], bool(result["environment"]["versions"]["numba"])) == (5, True)
        assert result_from_json(result).kernel_ms == result["timing"]["kernel"]["median_ms"]
    assert float(rows[0]["kernel_median_ms"]) == results[0]["timing"]["kernel"]["median_ms"]
    head = (document["format"], document["version"], document["baseline"])
    assert head == ("haloscope-results", 2, "cpu-serial")
    assert results[0]["speed_up"] == 1.0 != results[1]["speed_up"] > 0


@pytest.mark.slow
def test_that_masks_by_name_are_measured_with_the_variants_they_are_for(bench):
    masks = ["random 3 × 3", "gaussian:3", "box:3", "box:4"]
    options = "--variants cpu-serial,cpu-separable,cpu-box --sizes 9x7 --masks 3,gaussian:3,box:3,box:4"
    answer, document, rows = bench(options)
    assert [mask["name"] for mask in document["sweep"]["masks"]] == masks
    results = {(r["mask_name"], r["variant"]): r for r in document["results"]}
    cannot = {cell for cell, r in results.items() if r["refused"]}
    assert cannot == {(masks[0], "cpu-separable"), (masks[0], "cpu-box"), (masks[1], "cpu-box")}
    assert all(r["verification"]["passed"] for cell, r in results.items() if cell not in cannot)
    assert all(results[name, "cpu-serial"]["speed_up"] == 1.0 for name in masks)
    assert "failed" not in answer.out
    assert "[4/12] 9 × 7 grey, mask gaussian:3, 3 × 3, cpu-serial:" in answer.err
    assert "mask 3 × 3, cpu-box: unavailable" in answer.err
    assert [row["refused"] for row in rows] == ["yes" if cell in cannot else "no" for cell in results]


@pytest.mark.slow
def test_that_layouts_are_an_axis_of_the_cuda_variants_alone(bench):
    options = "--variants cpu-serial,naive --sizes 9x7 --masks 3 --layouts packed,pitched --device simulator"
    answer, document, rows = bench(options)
    wanted = [("cpu-serial", ""), ("naive", "packed"), ("naive", "pitched")]
    assert document["sweep"]["layouts"] == ["packed", "pitched"]
    assert [(r["variant"], r["layout"]) for r in document["results"]] == wanted
    assert [(row["variant"], row["layout"]) for row in rows] == wanted
    header, *lines = answer.out.splitlines()
    at = header.index("rows")
    assert [line[at:].split()[0] for line in lines] == ["-", "packed", "pitched"]
    assert answer.err.splitlines()[1].startswith("[2/3] 9 × 7 grey, mask 3 × 3, naive 32 × 8 packed:")


@pytest.mark.slow
def test_that_the_table_gives_each_reason_once(bench):
    cells = "--variants cpu-serial,tiled,cached --sizes 1449 --masks 3 --channels 1 --dtype uint16"
    answer, document, _ = bench(f"{cells} --device simulator --baseline cpu-parallel")
    assert [line.split()[0] for line in answer.err.splitlines()] == ["[1/3]", "[2/3]", "[3/3]"]
    _, serial, tiled, cached, reason = answer.out.splitlines()
    for line, variant in ((serial, "cpu-serial"), (tiled, "tiled"), (cached, "cached")):
        assert line.split()[line.split().index("×", 5) + 2] == variant
    assert "verified" in serial
    assert tiled.endswith("unavailable (1)")
    assert cached.endswith("unavailable (1)")
    assert reason.startswith("(1) A picture of 1449 × 1449: too large for the simulator")
    # The baseline was not measured, so there is no speed-up.
    assert [r["speed_up"] for r in document["results"]] == [None] * 3


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("bench", "--variants cpu-serial,tield", "variant 'tield' ... Did you mean tiled?"),
        ("bench", "--variants atuo", "variant 'atuo' ... Choose one of cpu-serial,"),
        ("bench", "--variants auto", "measures variants by name ... cpu-serial"),
        ("bench", "--baseline auto", "measures variants by name"),
        ("bench", "--baseline best", "variant 'best'"),
        ("bench", "--sizes 0", "--sizes 0 ... width × height"),
        ("bench", "--sizes big", "--sizes big ... Write it as 5 or as 5x7."),
        ("bench", "--sizes 100000", "37.3 GiB ... the limit is 4.0 GiB ... smaller size"),
        ("bench", "--masks 64", "--masks 64 ... 1 to 63"),
        ("bench", "--masks 3,1x128", "--masks 1x128 ... 1 to 127 in a mask of one row"),
        ("bench", "--masks 0x3", "--masks 0x3 ... 1 to 63"),
        ("bench", "--masks 1xa", "--masks 1xa ... rows × columns"),
        ("bench", "--masks 3,box:64", "Box of 64 × 64 cells cannot be made ... 1 to 63"),
        ("bench", "--masks box:", "'box:' makes no mask ... Write box:rowsxcolumns, as in box:7x3."),
        ("bench", "--masks box", "--masks: Unknown mask 'box' ... Did you mean box:7x3? ... gaussian"),
        ("bench", "--masks blur:9", "--masks: Unknown mask 'blur:9' ... 5x7 ... box, gaussian, disk, motion"),
        ("bench", "--masks nowhere.json", "--masks: 'nowhere.json' cannot be opened ... no such file"),
        ("bench", "--blocks 0x8", "--blocks 0 × 8 ... it has no threads"),
        ("bench", "--border sideways", "border 'sideways'"),
        ("bench", "--channels 5", "--channels 5 ... from 1 to 4"),
        ("bench", "--dtype float64", "--dtype float64 ... uint8, uint16, float32"),
        ("bench", "--layouts pitched,dense", "layout 'dense' ... Choose one of pitched, packed."),
        ("matmul", "--size 0", "matrices of 0 × 0 ... from 1 to 1,048,576"),
        ("matmul", "--size big", "size 'big' ... Write it as 512 or as 17x33x5"),
        ("matmul", "--sizes 512,3x4", "size '3x4'"),
        ("matmul", "--size 100000", "the three take ... the limit is 4.0 GiB"),
        ("matmul", "--tiles 33", "tile 33 ... 2 to 32 ... The nearest legal tile is 32."),
        ("matmul", "--tiles 3.7", "tile 3.7 ... not a whole number ... The nearest legal tile is 4."),
        ("matmul", "--variants tiled", "variant 'tiled' ... Did you mean matmul-tiled?"),
    ],
)
def test_that_bad_input_is_refused_before_the_work(refused, monkeypatch, tmp_path, name, options, says):
    monkeypatch.setattr("engine.commands.measuring.sweep", None)  # any work would fail
    refused(name, "--out", tmp_path / "r.json", options, says=says)


def test_that_a_seed_names_picture_and_weights():
    shape = 5, 9, 3
    picture = random_picture(shape, "uint8", 7)
    assert (picture.shape, picture.dtype) == (shape, np.uint8)
    assert np.array_equal(picture, random_picture(shape, "uint8", 7))
    assert not np.array_equal(picture, random_picture(shape, "uint8", 8))
    assert random_picture((99, 99, 1), "uint8", 7).max() == 255
    floats = random_picture((64, 64, 1), "float32", 7)
    assert floats.dtype == np.float32
    assert 0 <= floats.min() <= floats.max() < 1
    assert random_mask(2, 5, 7) == random_mask(2, 5, 7) != random_mask(2, 5, 8)
    assert random_mask(2, 5, 7).shape == (2, 5)


def test_that_without_a_gpu_what_can_be_counted_is_there(command, no_gpu, tmp_path):
    out, table = tmp_path / "r.json", tmp_path / "r.csv"
    answer = command("matmul --size 32 --tiles 4,8,16,32 --budget 0.01 --out", out, "--csv", table)
    assert answer.status == 0
    document = strict_json(out.read_text())
    assert (document["format"], document["version"]) == ("haloscope-results", 2)
    results = document["results"]
    assert [(r["variant"], r["block"] and r["block"]["x"]) for r in results] == [
        *(("matmul-naive", tile) for tile in (4, 8, 16, 32)),
        *(("matmul-tiled", tile) for tile in (4, 8, 16, 32)),
        ("numpy", None),
    ]
    *cuda, numpy = results
    assert [r["cgma_flop_per_load"] for r in cuda] == [1.0] * 4 + [4.0, 8.0, 16.0, 32.0]
    assert cuda[6]["lecture_limit_gflops"] == pytest.approx(345.6, abs=1e-9)
    assert cuda[0]["lecture_limit_gflops"] == pytest.approx(21.6, abs=1e-9)
    assert all("There is no driver." in r["failure"] and r["refused"] and not r["timing"] for r in cuda)
    assert (numpy["verification"]["passed"], numpy["refused"]) == (True, False)
    assert number_of(result_from_json(numpy), "gflops") == numpy["gflops"] > 0
    rows = _rows(table)
    assert [row["cgma_flop_per_load"] for row in rows] == [*["1.0"] * 4, "4.0", "8.0", "16.0", "32.0", ""]
    assert (rows[-1]["verified"], rows[0]["status"]) == ("yes", cuda[0]["failure"])


@pytest.mark.slow
def test_that_the_simulator_proves_small_products_without_times(command, tmp_path):
    out = tmp_path / "r.json"
    answer = command("matmul --sizes 5x7x6,513 --tiles 4 --device simulator --json --budget 0 --out", out)
    assert answer.status == 0
    assert answer.document == json.loads(out.read_text())
    naive, tiled, numpy, large, _, large_numpy = answer.document["results"]
    for result in (naive, tiled):
        found = (result["device"], result["verification"]["passed"], result["timing"])
        assert found == ("simulator", True, None)
    assert (numpy["device"], numpy["timing"] is None) == ("cpu", False)
    limit = "too large for the simulator (limit 512 × 512)"
    assert large["failure"].startswith(f"Matrices of 513 × 513 × 513: {limit}")
    assert (large["device"], large["cgma_flop_per_load"]) == ("simulator", 1.0)
    assert large_numpy["verification"]["passed"] is True


def test_that_recorded_runs_of_what_is_asked_for_stand_below_those_of_this_machine(
    command, tmp_path, monkeypatch
):
    made = lambda problem, mask: made_recorded_runs(RecordedRequest(problem, mask))  # noqa: E731
    monkeypatch.setattr(engine.tasks.read_results, "recorded_runs", made)
    answer = command(BENCH, "cpu-serial,tiled --recorded --json --out", tmp_path / "r.json")
    rows = [(row["variant"], row["device"]) for row in answer.document["results"]]
    assert rows[-2:] == [("cpu-serial", "recorded"), ("tiled", "recorded")]
    assert "Recorded of another problem: 4096 × 4096 grey float32" in answer.err
    # The baseline too.
    answer = command(BENCH, "cpu-parallel --recorded --json --out", tmp_path / "r.json")
    assert [row["variant"] for row in answer.document["results"]] == ["cpu-parallel", "cpu-serial"]


@pytest.fixture
def timed(monkeypatch):
    """Let every cell of a benchmark have a time: the best block is the one nearest to 64 threads."""
    sweeps = []

    def measured(jobs, device, budget_s, on_result, measure):
        results = []
        for job in jobs:
            kernel_ms = 0.1 + abs(job.block.threads - 64) / 100
            result = make_result(job.variant.key, kernel_ms, problem=job.problem, block=job.block)
            results.append(result)
            on_result(result)
        sweeps.append(results)
        return results, None

    monkeypatch.setattr(measuring, "sweep", measured)
    return sweeps


BEST = "bench --best --variants tiled,naive --sizes 64 --masks 3"


def test_that_the_best_block_of_each_kernel_is_said(command, timed):
    answer = command(BEST, "--blocks 8x8,16x16,32x8")
    assert answer.status == 0
    table = answer.out[answer.out.index("best block") :]
    assert "8 × 8 (0.100 ms), 20.2× as fast as its default" in table


def test_that_without_a_list_every_block_is_measured(command, timed, tmp_path):
    answer = command(BEST, "--json")
    assert answer.status == 0
    assert [result.block for result in timed[0][:66]] == list(every_block())
    assert [one["block"]["x"] * one["block"]["y"] for one in answer.document["best_blocks"]] == [64, 64]
    command("bench --variants naive --sizes 64 --masks 3 --blocks all --out", tmp_path / "r.json")
    assert len(timed[1]) == 66
    assert "best_blocks" not in (tmp_path / "r.json").read_text()


def test_that_it_is_said_why_there_is_no_best_block(command, refused, timed):
    assert "one block only. Name several" in command(BEST, "--blocks 8x8").out
    refused("bench --variants naive", says="no file for the results is named ... --best")
    refused("bench --best --blocks 8x", says="block '8x' ... Write it as 16x16.")
    refused("bench --best --blocks 0x8", says="--blocks 0 × 8 ... it has no threads")


@pytest.mark.slow
def test_that_simulated_runs_have_no_best_block(command):
    cells = "--variants naive --sizes 6 --masks 3 --blocks 4x4,2x4 --budget 0"
    simulated = command("bench --best", cells, "--device simulator")
    assert simulated.status == 0
    assert "No best block: the simulator's times mean nothing." in simulated.out

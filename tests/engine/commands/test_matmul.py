import csv
import json

import pytest

from engine.results.metrics import number_of
from engine.results.read import result_from_json
from tests.engine.commands.conftest import strict_json


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
    assert all("There is no driver." in r["failure"] for r in cuda)
    assert all((r["timing"], r["gflops"], r["verification"]) == (None, None, None) for r in cuda)
    assert (numpy["title"], numpy["verification"]["passed"]) == ("numpy (BLAS)", True)
    assert len(numpy["timing"]["kernel"]["samples_ms"]) >= 5
    assert number_of(result_from_json(numpy), "gflops") == numpy["gflops"] > 0
    assert [r["refused"] for r in results] == [*[True] * 8, False]
    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["cgma_flop_per_load"] for row in rows] == [*["1.0"] * 4, "4.0", "8.0", "16.0", "32.0", ""]
    assert [value for name, value in rows[0].items() if name.endswith("_ms")] == [""] * 18
    assert (rows[-1]["verified"], rows[0]["status"]) == ("yes", cuda[0]["failure"])
    assert [row["refused"] for row in rows] == [*["yes"] * 8, "no"]


def test_that_the_table_gives_each_reason_once_and_progress_goes_to_stderr(command, no_gpu):
    answer = command("matmul --sizes 8,3x5x7 --tiles 4,16 --budget 0")
    assert answer.status == 0
    assert [line.split()[0] for line in answer.err.splitlines()] == [f"[{n}/10]" for n in range(1, 11)]
    assert answer.err.count(": cannot\n") == 8
    lines = answer.out.splitlines()
    assert lines[0].startswith("run  rows x inner x columns  variant")
    assert lines[1].endswith("cannot (1)")
    assert lines[3].endswith("cannot (2)")
    assert "numpy (BLAS)" in lines[5]
    assert "verified" in lines[5]
    assert lines[6].split()[:6] == ["6", *["3", "x", "5", "x", "7"]]
    assert [line[:4] for line in lines[11:]] == ["(1) ", "(2) "]


@pytest.mark.slow
def test_that_the_simulator_proves_small_products_without_times_and_gives_the_reason_for_large_ones(
    command, tmp_path
):
    out = tmp_path / "r.json"
    answer = command("matmul --sizes 5x7x6,65 --tiles 4 --device simulator --json --budget 0 --out", out)
    assert answer.status == 0
    assert answer.document == json.loads(out.read_text())
    naive, tiled, numpy, large, _, large_numpy = answer.document["results"]
    for result in (naive, tiled):
        found = (result["device"], result["verification"]["passed"], result["timing"])
        assert found == ("simulator", True, None)
    assert (numpy["device"], numpy["timing"] is None) == ("cpu", False)
    assert large["failure"].startswith("matrices of 65 x 65 x 65 in the simulator")
    assert (large["device"], large["cgma_flop_per_load"]) == ("simulator", 1.0)
    assert large_numpy["verification"]["passed"] is True


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--size 0", "matrices of 0 x 0 ... from 1 to 1,048,576"),
        ("--size big", "size 'big' ... Write it as 512 or as 17x33x5"),
        ("--sizes 512,3x4", "size '3x4'"),
        ("--size 100000", "the three take ... the limit is 4.0 GiB"),
        ("--tiles 33", "tile 33 ... 2 to 32 ... The nearest legal tile is 32."),
        ("--tiles 4,1", "tile 1 ... The nearest legal tile is 2."),
        ("--tiles 3.7", "tile 3.7 ... not a whole number ... The nearest legal tile is 4."),
        ("--tiles x", "tile x ... The nearest legal tile is 16."),
        ("--variants tiled", "variant 'tiled' ... Did you mean matmul-tiled?"),
    ],
)
def test_that_bad_input_is_refused_before_the_work(refused, monkeypatch, options, says):
    monkeypatch.setattr("engine.commands.matmul.sweep", None)  # any work would fail
    refused("matmul", options, says=says)

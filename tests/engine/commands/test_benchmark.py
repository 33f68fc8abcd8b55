import csv

import numpy as np
import pytest

import engine.commands
from engine.results.read import result_from_json
from engine.tasks.filtering.task import random_mask, random_picture
from tests.engine.commands.conftest import strict_json, words


def _rows(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measure two CPU variants, and one in the simulator with a legal and an illegal block: JSON and CSV."""
    folder = tmp_path_factory.mktemp("bench")
    cells = (
        "--variants cpu-serial,cpu-parallel,naive --sizes 9x7 --masks 3,2x5 --border wrap --blocks 8x4,64x32"
    )
    options = f"{cells} --device simulator --budget 0.001 --seed 5 --out {folder}/r.json --csv {folder}/r.csv"
    assert engine.commands.main(words(["bench", options])) == 0
    return strict_json((folder / "r.json").read_text()), _rows(folder / "r.csv")


@pytest.fixture
def bench(command, tmp_path):
    """Return a function that measures; it returns the answer, the JSON and the rows of CSV."""

    def do(options):
        out, table = tmp_path / "r.json", tmp_path / "r.csv"
        answer = command("bench --budget 0", options, "--out", out, "--csv", table)
        assert answer.status == 0, answer
        return answer, strict_json(out.read_text()), _rows(table)

    return do


def test_that_every_cell_of_the_product_is_a_result(measured):
    document, rows = measured
    problems = [result["problem"] for result in document["results"]]
    blocks = [r["block"] and (r["block"]["x"], r["block"]["y"]) for r in document["results"]]
    cells = [(r["variant"], block) for r, block in zip(document["results"], blocks, strict=True)]
    one_mask = [("cpu-serial", None), ("cpu-parallel", None), ("naive", (8, 4)), ("naive", (64, 32))]
    assert cells == one_mask * 2
    assert [problem["mask_shape"] for problem in problems] == [[3, 3]] * 4 + [[2, 5]] * 4
    assert len(rows) == len(cells)
    assert {(p["width"], p["height"], p["border"]) for p in problems} == {(9, 7, "wrap")}


def test_that_an_impossible_cell_has_its_reason_and_no_times(measured):
    document, rows = measured
    for result, row in list(zip(document["results"], rows, strict=True))[3::4]:
        assert "2,048 threads" in result["failure"]
        assert "The nearest legal block is 64 x 16." in result["failure"]
        assert (result["timing"], result["verification"], result["speed_up"]) == (None, None, None)
        assert (row["status"], row["verified"]) == (result["failure"], "no")
        assert [value for name, value in row.items() if name.endswith("_ms")] == [""] * 18
        assert row["speed_up"] == ""


def test_that_times_are_raw_samples_with_what_made_them_and_the_simulator_has_none(measured):
    document, rows = measured
    naive = document["results"][2]
    assert (naive["device"], naive["verification"]["passed"], naive["timing"]) == ("simulator", True, None)
    assert (rows[2]["verified"], rows[2]["kernel_median_ms"]) == ("yes", "")
    for result in document["results"][:2]:
        samples = result["timing"]["kernel"]["samples_ms"]
        assert len(samples) >= 5
        assert all(sample > 0 for sample in samples)
        assert result["environment"]["versions"]["numba"]
        assert result["seed"] == 5
        assert result_from_json(result).kernel_ms == result["timing"]["kernel"]["median_ms"]
    assert float(rows[0]["kernel_median_ms"]) == document["results"][0]["timing"]["kernel"]["median_ms"]
    head = (document["format"], document["version"], document["baseline"])
    assert head == ("haloscope-results", 2, "cpu-serial")
    assert document["results"][0]["speed_up"] == 1.0
    assert document["results"][1]["speed_up"] > 0


def test_that_a_1d_variant_takes_127_columns_and_fails_with_its_reason_on_a_square(bench):
    answer, document, _ = bench(
        "--variants cpu-parallel,row-naive --sizes 9x2 --masks 1x127,3 --device simulator"
    )
    wide_cpu, wide_row, square_cpu, square_row = document["results"]
    assert wide_cpu["problem"]["mask_shape"] == wide_row["problem"]["mask_shape"] == [1, 127]
    assert all(result["verification"]["passed"] for result in (wide_cpu, wide_row, square_cpu))
    assert "A 1-D kernel takes a mask of one row, and this one has 3." in square_row["failure"]
    assert "Take a mask of one row, or naive" in answer.out


@pytest.mark.slow
def test_that_masks_by_name_are_measured_with_the_variants_they_are_for(bench):
    masks = ["random 3 x 3", "gaussian:3", "box:3", "box:4"]
    options = "--variants cpu-serial,cpu-separable,cpu-box --sizes 9x7 --masks 3,gaussian:3,box:3,box:4"
    answer, document, rows = bench(options)
    assert [mask["name"] for mask in document["sweep"]["masks"]] == masks
    results = {(r["mask_name"], r["variant"]): r for r in document["results"]}
    cannot = {cell for cell, r in results.items() if r["refused"]}
    assert cannot == {(masks[0], "cpu-separable"), (masks[0], "cpu-box"), (masks[1], "cpu-box")}
    assert all(r["verification"]["passed"] for cell, r in results.items() if cell not in cannot)
    assert all(results[name, "cpu-serial"]["speed_up"] == 1.0 for name in masks)
    assert "failed" not in answer.out
    assert "[4/12] 9 x 7 grey, mask gaussian:3, 3 x 3, cpu-serial:" in answer.err
    assert "mask 3 x 3, cpu-box: cannot" in answer.err
    assert [row["refused"] for row in rows] == ["yes" if cell in cannot else "no" for cell in results]


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
    assert answer.err.splitlines()[1].startswith("[2/3] 9 x 7 grey, mask 3 x 3, naive 32 x 8 packed:")


def test_that_the_table_gives_each_reason_once_and_progress_goes_to_stderr(bench):
    cells = "--variants cpu-serial,tiled,cached --sizes 70 --masks 3 --channels 3 --dtype uint16"
    answer, document, _ = bench(f"{cells} --device simulator --baseline cpu-parallel")
    assert [line.split()[0] for line in answer.err.splitlines()] == ["[1/3]", "[2/3]", "[3/3]"]
    _, serial, tiled, cached, reason = answer.out.splitlines()
    for line, variant in ((serial, "cpu-serial"), (tiled, "tiled"), (cached, "cached")):
        assert line.split()[line.split().index("x", 5) + 2] == variant
    assert "verified" in serial
    assert tiled.endswith("cannot (1)")
    assert cached.endswith("cannot (1)")
    assert reason.startswith("(1) a picture of 70 x 70 in the simulator")
    # The baseline was not measured, so there is no speed-up.
    assert [r["speed_up"] for r in document["results"]] == [None] * 3


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--variants cpu-serial,tield", "variant 'tield' ... Did you mean tiled?"),
        ("--variants atuo", "variant 'atuo' ... Choose one of cpu-serial,"),
        ("--variants auto", "measures variants by name ... cpu-serial"),
        ("--baseline auto", "measures variants by name"),
        ("--baseline best", "variant 'best'"),
        ("--sizes 0", "--sizes 0 ... width x height"),
        ("--sizes big", "--sizes big ... Write it as 5 or as 5x7."),
        ("--sizes 100000", "37.3 GiB ... the limit is 4.0 GiB ... smaller size"),
        ("--masks 64", "--masks 64 ... 1 to 63"),
        ("--masks 3,1x128", "--masks 1x128 ... 1 to 127 in a mask of one row"),
        ("--masks 0x3", "--masks 0x3 ... 1 to 63"),
        ("--masks 1xa", "--masks 1xa ... rows x columns"),
        ("--masks 3,box:64", "A box mask of side 64 cannot be made ... 1 to 63"),
        ("--masks box:", "'box:' makes no mask ... Write box:7 or box:7x3."),
        ("--masks box", "--masks: 'box' is no mask ... Did you mean 'box:7'? ... gaussian"),
        ("--masks blur:9", "--masks: 'blur:9' is no mask ... 5x7 ... box, gaussian, motion, log, disk"),
        ("--masks nowhere.json", "--masks: 'nowhere.json' cannot be opened ... no such file"),
        ("--blocks 0x8", "--blocks 0 x 8 ... it has no threads"),
        ("--blocks 16", "block '16'"),
        ("--border sideways", "border 'sideways'"),
        ("--channels 5", "--channels 5 ... from 1 to 4"),
        ("--dtype float64", "--dtype float64 ... uint8, uint16, float32"),
        ("--layouts pitched,dense", "layout 'dense' ... Choose one of pitched, packed."),
    ],
)
def test_that_bad_input_is_refused_before_the_work(refused, monkeypatch, tmp_path, options, says):
    monkeypatch.setattr("engine.commands.benchmark.measured", None)  # any work would fail
    refused("bench --out", tmp_path / "r.json", options, says=says)


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

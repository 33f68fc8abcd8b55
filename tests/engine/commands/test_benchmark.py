import csv
import json

import numpy as np
import pytest

import engine.commands
from engine.errors import DeviceFault
from engine.host.executor import SimulatorExecutor
from engine.results.read import result_from_json
from engine.tasks.filtering.task import random_mask, random_picture
from tests.engine.commands.wrong_variant import make_every_variant_wrong


def _strict(text):
    def refuse(word):
        raise ValueError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measure a small product once: two CPU variants, one CUDA variant in the simulator with a legal and an illegal block."""
    folder = tmp_path_factory.mktemp("bench")
    arguments = [
        "--variants",
        "cpu-serial,cpu-parallel,naive",
        "--sizes",
        "9x7",
        "--masks",
        "3,2x5",
        "--border",
        "wrap",
    ]
    arguments += ["--blocks", "8x4,64x32", "--device", "simulator", "--budget", "0.001", "--seed", "5"]
    files = ["--out", str(folder / "r.json"), "--csv", str(folder / "r.csv")]
    assert engine.commands.main(["bench", *arguments, *files]) == 0
    with (folder / "r.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return _strict((folder / "r.json").read_text()), rows


def test_that_every_cell_of_the_product_is_a_result(measured):
    document, rows = measured
    cells = [
        (r["problem"]["mask_shape"], r["variant"], r["block"] and (r["block"]["x"], r["block"]["y"]))
        for r in document["results"]
    ]
    one_mask = [("cpu-serial", None), ("cpu-parallel", None), ("naive", (8, 4)), ("naive", (64, 32))]
    assert cells == [(mask, *cell) for mask in ([3, 3], [2, 5]) for cell in one_mask]
    assert len(rows) == len(cells)
    assert {
        (r["problem"]["width"], r["problem"]["height"], r["problem"]["border"]) for r in document["results"]
    } == {(9, 7, "wrap")}


def test_that_an_impossible_cell_stands_with_its_reason_and_without_times(measured):
    document, rows = measured
    for result, row in list(zip(document["results"], rows, strict=True))[3::4]:
        assert "2,048 threads" in result["failure"]
        assert "The nearest legal block is 64 x 16." in result["failure"]
        assert (result["timing"], result["verification"], result["speed_up"]) == (None, None, None)
        assert (row["status"], row["verified"]) == (result["failure"], "no")
        assert [value for name, value in row.items() if name.endswith("_ms")] == [""] * 18
        assert row["speed_up"] == ""


def test_that_the_simulator_proves_and_has_no_times(measured):
    document, rows = measured
    result = document["results"][2]
    assert (result["device"], result["verification"]["passed"], result["timing"]) == ("simulator", True, None)
    assert (rows[2]["verified"], rows[2]["kernel_median_ms"]) == ("yes", "")


def test_that_times_are_raw_samples_with_what_made_them(measured):
    document, rows = measured
    for result in document["results"][:2]:
        samples = result["timing"]["kernel"]["samples_ms"]
        assert len(samples) >= 5
        assert all(sample > 0 for sample in samples)
        assert result["environment"]["versions"]["numba"]
        assert result["seed"] == 5
        assert result_from_json(result).kernel_ms == result["timing"]["kernel"]["median_ms"]
    assert float(rows[0]["kernel_median_ms"]) == document["results"][0]["timing"]["kernel"]["median_ms"]
    assert (document["format"], document["version"], document["baseline"]) == (
        "haloscope-results",
        2,
        "cpu-serial",
    )
    assert document["results"][0]["speed_up"] == 1.0
    assert document["results"][1]["speed_up"] > 0


def test_that_a_1d_variant_takes_127_columns_and_fails_with_its_reason_on_a_square(command, tmp_path):
    arguments = ("--variants", "cpu-parallel,row-naive", "--sizes", "9x2", "--masks", "1x127,3")
    files = ("--device", "simulator", "--budget", "0", "--out", tmp_path / "r.json")
    answer = command("bench", *arguments, *files)
    assert answer.status == 0
    wide_cpu, wide_row, square_cpu, square_row = _strict((tmp_path / "r.json").read_text())["results"]
    assert wide_cpu["problem"]["mask_shape"] == wide_row["problem"]["mask_shape"] == [1, 127]
    assert all(result["verification"]["passed"] for result in (wide_cpu, wide_row, square_cpu))
    assert "A 1-D kernel takes a mask of one row, and this one has 3." in square_row["failure"]
    assert "Take a mask of one row, or naive" in answer.out


def test_that_masks_by_name_are_measured_with_the_variants_they_are_for(command, tmp_path):
    arguments = ("--variants", "cpu-serial,cpu-separable,cpu-box", "--sizes", "9x7")
    files = ("--out", tmp_path / "r.json", "--csv", tmp_path / "r.csv")
    answer = command("bench", *arguments, "--masks", "3,gaussian:3,box:3,box:4", "--budget", "0", *files)
    assert answer.status == 0
    document = _strict((tmp_path / "r.json").read_text())
    names = ["random 3 x 3", "gaussian:3", "box:3", "box:4"]
    assert [mask["name"] for mask in document["sweep"]["masks"]] == names
    results = {(r["mask_name"], r["variant"]): r for r in document["results"]}
    cannot = {cell for cell, r in results.items() if r["refused"]}
    assert cannot == {
        ("random 3 x 3", "cpu-separable"),
        ("random 3 x 3", "cpu-box"),
        ("gaussian:3", "cpu-box"),
    }
    assert all(r["verification"]["passed"] for cell, r in results.items() if cell not in cannot)
    assert all(results[name, "cpu-serial"]["speed_up"] == 1.0 for name in names)
    assert "failed" not in answer.out
    assert "[4/12] 9 x 7 grey, mask gaussian:3, 3 x 3, cpu-serial:" in answer.err
    assert "mask 3 x 3, cpu-box: cannot" in answer.err
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        refused = [row["refused"] for row in csv.DictReader(file)]
    assert refused == ["yes" if cell in cannot else "no" for cell in results]


def test_that_layouts_are_an_axis_of_the_cuda_variants_alone(command, tmp_path):
    files = ("--out", tmp_path / "r.json", "--csv", tmp_path / "r.csv")
    arguments = ("--variants", "cpu-serial,naive", "--sizes", "9x7", "--masks", "3", "--budget", "0")
    answer = command("bench", *arguments, "--layouts", "packed,pitched", "--device", "simulator", *files)
    assert answer.status == 0
    wanted = [("cpu-serial", ""), ("naive", "packed"), ("naive", "pitched")]
    document = _strict((tmp_path / "r.json").read_text())
    assert document["sweep"]["layouts"] == ["packed", "pitched"]
    assert [(r["variant"], r["layout"]) for r in document["results"]] == wanted
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        assert [(row["variant"], row["layout"]) for row in csv.DictReader(file)] == wanted
    header, *rows = answer.out.splitlines()
    place = header.index("rows")
    assert [row[place:].split()[0] for row in rows] == ["-", "packed", "pitched"]
    assert answer.err.splitlines()[1].startswith("[2/3] 9 x 7 grey, mask 3 x 3, naive 32 x 8 packed:")


def test_that_the_table_tells_each_reason_once_and_progress_goes_to_stderr(command, tmp_path):
    arguments = (
        "--variants",
        "cpu-serial,tiled,cached",
        "--sizes",
        "70",
        "--masks",
        "3",
        "--device",
        "simulator",
    )
    files = ("--out", tmp_path / "r.json", "--baseline", "cpu-parallel")
    answer = command("bench", *arguments, *files, "--budget", "0", "--channels", "3", "--dtype", "uint16")
    assert answer.status == 0
    assert [line.split()[0] for line in answer.err.splitlines()] == ["[1/3]", "[2/3]", "[3/3]"]
    lines = answer.out.splitlines()
    assert [line.split()[line.split().index("x", 5) + 2] for line in lines[1:4]] == [
        "cpu-serial",
        "tiled",
        "cached",
    ]
    assert "verified" in lines[1]
    assert lines[2].endswith("cannot (1)")
    assert lines[3].endswith("cannot (1)")
    assert lines[4].startswith("(1) a picture of 70 x 70 in the simulator")
    assert len(lines) == 5
    # The baseline was not measured, so nobody has a speed-up.
    assert [r["speed_up"] for r in _strict((tmp_path / "r.json").read_text())["results"]] == [None] * 3


def test_that_a_result_that_is_wrong_has_status_4_and_is_written_without_speed(
    command, monkeypatch, tmp_path
):
    make_every_variant_wrong(monkeypatch)
    out = tmp_path / "r.json"
    answer = command(
        "bench", "--variants", "cpu-serial", "--sizes", "8", "--masks", "3", "--out", out, "--json"
    )
    assert answer.status == 4
    assert _strict(answer.out) == _strict(out.read_text())
    (result,) = _strict(answer.out)["results"]
    assert (result["timing"], result["speed_up"]) == (None, None)
    assert result["status"].startswith("not verified: row 0, column 0")


def test_that_after_a_lost_device_the_other_cells_are_told_so_and_all_is_written(
    command, monkeypatch, tmp_path
):
    def lose(executor, function, *arguments):
        raise DeviceFault("cuda:0", "illegal address", "Start again.")

    monkeypatch.setattr(SimulatorExecutor, "submit", lose)
    left = []
    monkeypatch.setattr(engine.commands, "leave_at_once", left.append)
    out = tmp_path / "r.json"
    arguments = ("--variants", "naive,tiled,cpu-serial", "--sizes", "8", "--masks", "3", "--budget", "0")
    answer = command("bench", *arguments, "--device", "simulator", "--out", out)
    assert (answer.status, left) == (3, [3])
    assert answer.err.splitlines()[-1] == "cuda:0: illegal address. Start again."
    naive, tiled, serial = _strict(out.read_text())["results"]
    assert naive["failure"] == "cuda:0: illegal address. Start again."
    assert tiled["failure"].startswith("Not measured: the device was lost before (cuda:0: illegal address)")
    assert serial["verification"]["passed"] is True


@pytest.mark.parametrize(
    ("options", "status", "says"),
    [
        (("--variants", "cpu-serial,tield"), 2, ("variant 'tield'", "Did you mean tiled?")),
        (("--variants", "atuo"), 2, ("variant 'atuo'", "Choose one of cpu-serial,")),
        (("--baseline", "auto"), 2, ("measures variants by name",)),
        (("--variants", "auto"), 2, ("measures variants by name", "cpu-serial")),
        (("--variants", "a,,b"), 2, ("a part of the list is empty",)),
        (("--baseline", "best"), 2, ("variant 'best'",)),
        (("--sizes", "0"), 2, ("--sizes 0", "width x height")),
        (("--sizes", "big"), 2, ("--sizes big", "Write it as 5 or as 5x7.")),
        (("--sizes", "100000"), 2, ("37.3 GiB", "the limit is 4.0 GiB", "smaller size")),
        (("--masks", "64"), 2, ("--masks 64", "1 to 63")),
        (("--masks", "3,1x128"), 2, ("--masks 1x128", "1 to 127 in a mask of one row")),
        (("--masks", "2x64"), 2, ("--masks 2x64", "1 to 63")),
        (("--masks", "0x3"), 2, ("--masks 0x3", "1 to 63")),
        (("--masks", "1xa"), 2, ("--masks 1xa", "rows x columns")),
        (("--masks", "box:0"), 2, ("A box mask of side 0 cannot be made", "from 1 to 63")),
        (("--masks", "3,box:64"), 2, ("A box mask of side 64 cannot be made", "1 to 63")),
        (("--masks", "box:"), 2, ("'box:' makes no mask", "Write box:7 or box:7x3.")),
        (("--masks", "box:5:3"), 2, ("'box:5:3' makes no mask", "Write box:7 or box:7x3.")),
        (("--masks", "box"), 2, ("--masks: 'box' is no mask", "Did you mean 'box:7'?", "gaussian")),
        (("--masks", "gauss:9"), 2, ("--masks: 'gauss:9' is no mask", "Did you mean 'gaussian:9'?")),
        (
            ("--masks", "blur:9"),
            2,
            ("--masks: 'blur:9' is no mask", "box, gaussian, motion, log, disk", "5x7"),
        ),
        (("--masks", "nowhere.json"), 2, ("--masks: 'nowhere.json' cannot be opened", "no such file")),
        (("--blocks", "0x8"), 2, ("--blocks 0 x 8", "it has no threads")),
        (("--blocks", "16"), 2, ("block '16'",)),
        (("--border", "sideways"), 2, ("border 'sideways'",)),
        (("--channels", "5"), 2, ("--channels 5", "from 1 to 4")),
        (("--dtype", "float64"), 2, ("--dtype float64", "uint8, uint16, float32")),
        (("--budget", "-1"), 2, ("--budget -1", "from 0 to 3600")),
        (("--seed", "1.5"), 2, ("--seed 1.5", "whole number")),
        (("--layouts", "pitched,dense"), 2, ("layout 'dense'", "Choose one of pitched, packed.")),
        (("--csv", "{folder}/r.json"), 2, ("--out and --csv", "the same file")),
        (("--csv", "{folder}/nowhere/r.csv"), 2, ("its folder does not exist",)),
        (("--out", "{folder}"), 2, ("it is a folder", "Add a file name.")),
        (("--device", "cuda:77"), 3, ("device 'cuda:77'", "no such device")),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) and value[0].startswith("--") else "",
)
def test_that_bad_input_is_refused_before_the_work(refused, monkeypatch, tmp_path, options, status, says):
    monkeypatch.setattr("engine.commands.benchmark.measured", None)  # any work would fail
    options = [option.replace("{folder}", str(tmp_path)) for option in options]
    refused("bench", "--out", tmp_path / "r.json", *options, status=status, says=says)


def test_that_a_seed_names_picture_and_weights():
    shape = 5, 9, 3
    assert np.array_equal(random_picture(shape, "uint8", 7), random_picture(shape, "uint8", 7))
    assert not np.array_equal(random_picture(shape, "uint8", 7), random_picture(shape, "uint8", 8))
    assert (random_picture(shape, "uint8", 7).shape, random_picture(shape, "uint8", 7).dtype) == (
        shape,
        np.uint8,
    )
    assert random_picture((99, 99, 1), "uint8", 7).max() == 255
    floats = random_picture((64, 64, 1), "float32", 7)
    assert floats.dtype == np.float32
    assert (floats.min() >= 0, floats.max() < 1) == (True, True)
    assert random_mask(2, 5, 7) == random_mask(2, 5, 7)
    assert random_mask(2, 5, 7) != random_mask(2, 5, 8)
    assert random_mask(2, 5, 7).shape == (2, 5)


def test_that_a_benchmark_in_which_nothing_could_run_writes_the_reasons_and_says_so(tmp_path, capsys):
    out = tmp_path / "r.json"
    arguments = [
        "--variants",
        "tiled",
        "--sizes",
        "9",
        "--masks",
        "3",
        "--blocks",
        "64x32",
        "--out",
        str(out),
    ]
    assert engine.commands.main(["bench", *arguments, "--device", "simulator"]) == 2
    assert "2,048 threads" in _strict(out.read_text())["results"][0]["failure"]
    assert "nothing could be measured" in capsys.readouterr().err

"""Results of the picture's own type."""

import csv
import itertools
import json

import numpy as np
import pytest

import engine
from engine.commands.command_line import main
from engine.errors import BadValue, UnknownName
from engine.geometry.block import UnsupportedVariant
from engine.results.measurement import Environment
from engine.tasks.read_results import result_from_json
from engine.work.columns import RunResult
from engine.work.filtering import oracle
from engine.work.problem import Problem

# Direct sums: what they give is known to the last step, overflow included.
DIRECT = ("cpu-serial", "cpu-parallel")
PICTURE = np.random.default_rng(6).integers(0, 256, (12, 17, 3), np.uint8)
SOBEL = np.array([[1, 0, -1], [2, 0, -2], [1, 0, -1]])


def test_that_ties_ends_and_infinity_become_whole_numbers():
    for row, mask, border, expected in [
        # 0.5, 1.5, 2.5, 3.5, 126.5, 127.5: ties go to the even number.
        ([1, 3, 5, 7, 253, 255], [[0.5]], "zero", [0, 2, 2, 4, 126, 128]),
        # Both ends saturate and nothing wraps.
        ([0, 1, 200, 255], [[2.0]], "zero", [0, 2, 255, 255]),
        ([0, 1, 200, 255], [[-1.0]], "zero", [0, 0, 0, 0]),
        ([0, 100, 255], engine.Mask([[1.0]], offset=-99.5), "zero", [0, 0, 156]),
        ([0, 255], engine.Mask([[1.0]], offset=1e30), "zero", [255, 255]),
        # 255 x 3e38 is infinite in float32.
        ([255], [[3e38]], "zero", [255]),
        ([255], [[-3e38]], "zero", [0]),
    ]:
        for key in DIRECT:
            how = {"border": border, "variant": key, "device": "cpu", "result": "same"}
            answer = engine.correlate(np.array([row], np.uint8), mask, **how)
            assert (answer.dtype, answer.tolist()) == (np.uint8, [expected])


@pytest.mark.slow
def test_that_the_simulator_makes_the_same_of_nan_and_infinity():
    for key, dtype in (("naive", "uint8"), ("register-blocked", "uint16")):
        white = np.iinfo(dtype).max
        picture = np.array([[white, 0, 0], [white, white, white], [0, white, 0]], dtype)
        # Each pixel less the one above, times 3e38: of white and white infinity less infinity.
        how = {"border": "replicate", "result": "same"}
        for where in ({"variant": "cpu-serial", "device": "cpu"}, {"variant": key, "device": "simulator"}):
            answer = engine.correlate(picture, [[-3e38], [3e38]], **how, **where)
            assert answer.tolist() == [[0, 0, 0], [0, white, white], [0, 0, 0]]


@pytest.mark.slow
def test_that_a_signed_mask_gives_the_rounded_oracle():
    how = {"border": "mirror", "result": "same", "device": "cpu", "budget_s": 0}
    for key, picture in itertools.product(DIRECT, (PICTURE, PICTURE.astype(np.uint16) * 257)):
        applied = engine.apply(picture, SOBEL, variant=key, **how)
        wanted = oracle.correlate(picture, engine.Mask(SOBEL), engine.Border.MIRROR)
        assert applied.values.dtype == applied.result.problem.result_dtype == picture.dtype
        assert np.array_equal(applied.values, np.clip(wanted, 0, np.iinfo(picture.dtype).max))
        assert applied.result.status.endswith("every pixel matches the rounded float64 reference exactly")
        assert applied.result.work.minimum_bytes == 2 * picture.nbytes


def test_that_results_are_float32_by_default():
    def dtype_of(picture, **options):
        return engine.correlate(picture, SOBEL, variant="cpu-serial", **options).dtype

    assert dtype_of(PICTURE) == np.float32
    assert dtype_of(PICTURE.astype(np.float32), result="same") == np.float32
    assert dtype_of(PICTURE.astype(">u2"), result="same") == np.uint16
    answer = engine.convolve(np.array([[3, 1]], np.uint8), [[0, 0, 0.5]], variant="cpu-serial", result="same")
    assert (answer.dtype, answer.tolist()) == (np.uint8, [[0, 2]])
    data = RunResult("naive", "", "cpu", Problem(1, 1, dtype="uint8"), None, Environment("")).as_json()
    assert data["problem"].pop("result_dtype") == "float32"
    assert result_from_json(data).problem.result_dtype == "float32"
    rounded = Problem(1, 1, dtype="uint8", result_dtype="uint8")
    data = RunResult("naive", "", "cpu", rounded, None, Environment("")).as_json()
    assert result_from_json(json.loads(json.dumps(data))).problem == rounded


def test_that_a_type_that_results_cannot_have_is_refused_in_words():
    for picture, result, variant, error, says in [
        (PICTURE, "uint8", "auto", UnknownName, "Choose one of float32, same"),
        (PICTURE.astype(np.int32), "same", "auto", BadValue, "type int32.* is filtered as float32"),
        (PICTURE > 9, "same", "auto", BadValue, "results of type bool.* is filtered as uint8"),
        (PICTURE, "same", "cached", UnsupportedVariant, r"'cached': It writes float32 results only\..*naive"),
    ]:
        device = "cpu" if variant == "auto" else "simulator"
        with pytest.raises(error, match=says):
            engine.correlate(picture, SOBEL, variant=variant, device=device, result=result)


def test_that_filter_saves_what_the_kernel_rounded(tmp_path, capsys):
    source, out = tmp_path / "in.png", tmp_path / "out.png"
    engine.save_image(PICTURE, source)
    arguments = ["--mask", "0.5 -0.5", "--result-type", "same", "--variant", "cpu-serial"]
    assert main(["filter", str(source), str(out), *arguments]) == 0
    said = capsys.readouterr().out
    assert ", uint8 results" in said
    assert "matches the rounded float64 reference exactly" in said
    wanted = np.clip(np.rint(oracle.correlate(PICTURE, engine.Mask([[0.5, -0.5]]))), 0, 255)
    assert np.array_equal(engine.open_image(out).pixels, wanted)
    assert main(["filter", str(source), str(out), *arguments, "--range", "absolute"]) == 2
    assert "--range absolute with --result-type same" in capsys.readouterr().err


def test_that_bench_measures_results_of_the_pictures_type(tmp_path, capsys):
    files = ["--out", str(tmp_path / "r.json"), "--csv", str(tmp_path / "r.csv")]
    cell = ["--variants", "cpu-serial,separable-l0", "--sizes", "9x7", "--masks", "3", "--budget", "0"]
    options = ["--dtype", "uint16", "--result-type", "same", "--device", "simulator"]
    assert main(["bench", *cell, *options, *files]) == 0
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["sweep"]["result_type"] == "same"
    assert [result["problem"]["result_dtype"] for result in document["results"]] == ["uint16", "uint16"]
    measured, refused = (result_from_json(result) for result in document["results"])
    assert measured.verification.passed
    assert measured.verification.in_steps
    assert "It writes float32 results only." in refused.status
    with (tmp_path / "r.csv").open(newline="", encoding="utf-8") as file:
        assert [row["result_dtype"] for row in csv.DictReader(file)] == ["uint16", "uint16"]
    capsys.readouterr()

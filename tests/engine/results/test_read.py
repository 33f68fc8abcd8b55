import copy
import functools
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from engine.device_info import Environment
from engine.errors import EngineError
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.compare import compared
from engine.results.export import results_document
from engine.results.measurement import ProductResult, RunResult, Spread, Timing
from engine.results.metrics import number_of
from engine.results.read import result_from_json, results_from_document
from engine.results.strict_json import json_text
from engine.tasks.filtering.problem import Problem
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.work import Work
from engine.verify.verification import Verification

MEASURED = RunResult(
    "tiled", "Tiled", "cuda:0", Problem(5, 7, 3, "uint8", (3, 5), (0, 4), Border.CONSTANT, 2.5), Block(32, 8),
    Environment("a GPU", "13.0", "1980 MHz", {"numba": "1"}, "abc"),
    Timing(Spread((2.0, 1.0, 4.0)), Spread((9.0,)), 10.0, 0.5, Spread((3.0,)), None, "device events", "cold"),
    Verification(True, 1e-7, 3e-6, 30, 35, False), mask_name="Sobel x", weights_digest="0123456789abcdef",
    work=Work(3150, 1575, 105, 1575, 420, 525, 1500, 900, 100, 75), seed=7, layout="packed",
    chosen_because="the fastest",
)  # fmt: skip
FAILED = RunResult("naive", "Naive", "cuda:0", Problem(1, 1), None, Environment(""), failure="no driver")
WRONG = replace(MEASURED, timing=None, verification=Verification(False, math.inf, 3e-6, 30, 35, False, "off"))
PRODUCT = ProductResult(
    "matmul-tiled", "Tiled", "cuda:0", MatrixProduct(5, 6, 7), Block(4, 4),
    Environment("a GPU", bandwidth_gb_s=86.4), failure="no", refused=True, work=MEASURED.work,
)  # fmt: skip


@pytest.mark.parametrize(
    "result", [MEASURED, FAILED, WRONG, PRODUCT], ids=["measured", "failed", "wrong", "product"]
)
def test_that_a_result_comes_back_from_json_as_it_was(result):
    assert result_from_json(json.loads(json_text(result.as_json()))) == result
    document = results_document(compared([result], "naive"), "naive", {})
    assert results_from_document(json.loads(json_text(document))) == (result,)


def kept(name):
    return json.loads((Path(__file__).parents[2] / "data" / "results" / f"{name}-v1.json").read_text())


def test_that_files_of_version_1_are_read():
    serial, parallel, naive, refused = results_from_document(kept("bench"))
    assert serial.problem == Problem(7, 9, mask_shape=(3, 3), anchor=(1, 1), border=Border.WRAP)
    assert serial.kernel_ms == kept("bench")["results"][0]["timing"]["kernel"]["median_ms"]
    assert (serial.mask_name, serial.weights_digest) == ("box:3", None)
    assert (naive.block, naive.layout, naive.proof) == (Block(32, 8), "pitched", "verified, simulated")
    assert (refused.refused, refused.proof) == (True, "cannot")
    assert compared([serial, parallel], "cpu-serial")[1].speed_up == kept("bench")["results"][1]["speed_up"]
    *_, wrong = results_from_document(kept("window"))
    assert math.isnan(wrong.verification.max_error)
    assert (wrong.verification.bound, wrong.kernel_ms) == (math.inf, None)


def test_that_files_of_products_of_version_1_are_read():
    document = kept("matmul")
    results = results_from_document(document)
    assert [(r.task, r.variant, r.tile) for r in results] == [
        ("product", "matmul-naive", 4), ("product", "matmul-tiled", 4), ("product", "numpy", None),
    ]  # fmt: skip
    for old, result in zip(document["results"], results, strict=True):
        assert result.problem == MatrixProduct(5, 7, 6)
        for key, before in (
            ("gflops", "gflops"), ("cgma_flop_per_load", "cgma"), ("lecture_limit_gflops", "lecture_gflops"),
        ):  # fmt: skip
            assert number_of(result, key) == old[before]
    old["bandwidth_gb_s"] = 86.4
    assert result_from_json(old).environment.bandwidth_gb_s == 86.4


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "another"}, "no file of results"),
        ({"version": 3}, "reads up to 2"),
        ({"results": None}, "list of results is missing"),
        ({"results": [{"task": "network"}]}, "'network' is no task"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",
)
def test_that_a_file_that_cannot_be_read_says_why(change, says):
    with pytest.raises(EngineError, match=says):
        results_from_document({"format": "haloscope-results", "version": 2, "results": []} | change)


GONE = object()


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("variant", GONE), ("problem anchor", GONE), ("variant", 3), ("problem height", True),
        ("problem height", 0), ("problem border", "sideways"), ("problem mask_shape", [3]),
        ("timing kernel samples_ms", []), ("timing kernel samples_ms", [float("nan")]),
        ("timing kernel samples_ms", ["1"]), ("verification passed", 1), ("timing", 3), ("environment", None),
    ],
)  # fmt: skip
def test_that_a_spoilt_result_is_refused_in_words(path, value):
    spoilt = copy.deepcopy(MEASURED.as_json())
    *parents, last = path.split()
    part = functools.reduce(dict.__getitem__, parents, spoilt)
    if value is GONE:
        del part[last]
    else:
        part[last] = value
    with pytest.raises(EngineError):
        result_from_json(spoilt)


@pytest.mark.parametrize("data", [None, [], "result", 3])
def test_that_what_is_no_result_at_all_is_refused_in_words(data):
    with pytest.raises(EngineError):
        result_from_json(data)

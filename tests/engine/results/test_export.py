"""Results written and read."""

import copy
import csv
import functools
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from engine.device.device_list import NO_DRIVER
from engine.errors import EngineError
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.columns import machine_document, results_csv, results_document
from engine.results.measurement import Bound, Environment, ExplainedTime, Spread, Timing
from engine.results.metrics import compared, metrics_of, number_of
from engine.results.problem import Work
from engine.results.text_forms import harmless, json_text
from engine.tasks.product.problem import MatrixProduct, ProductResult, tile_of
from engine.tasks.read_results import result_from_json, results_from_document
from engine.verify.closeness import Verification
from engine.work.columns import RunResult
from engine.work.problem import Problem
from tests.gui.made_results import CPU_DEVICE
from tests.made_runs import (
    PROBLEM,
    PROVED,
    WORK,
    make_failure,
    make_result,
    make_simulated,
    make_timing,
    make_unverified,
)


def refuse_constant(name):
    raise AssertionError(f"{name} is not JSON")


def read_csv(*results, baseline="cpu-serial"):
    text = results_csv(compared(results, baseline), baseline)
    return list(csv.DictReader(io.StringIO(text)))


def read_json(*results, baseline="cpu-serial"):
    machine = machine_document([CPU_DEVICE], {"numpy": "2"}, "abc")
    document = results_document(compared(results, baseline), baseline, machine)
    return json.loads(json_text(document), parse_constant=refuse_constant)


def test_that_text_which_a_spreadsheet_could_run_is_disarmed():
    for text in ["=1+1", "+cmd", "-a", "@sum", "\tx", "\rx", "-inf", "-1-1", "=cmd|' /C calc'!A0"]:
        assert harmless(text) == f"'{text}"
        (row,) = read_csv(replace(make_failure(reason=text), mask_name=text))
        assert (row["status"], row["mask"]) == (f"'{text}", f"'{text}")
    for text in ["", "plain", "-0.5", "-1.5", "+3", "-1e-5", "1=1", "a-b"]:
        assert harmless(text) == text


def test_that_json_keeps_every_raw_sample():
    document = {"a": math.nan, "b": [math.inf, 1.5, (-math.inf, 2)], 3: {"c": True, "d": None}}
    found = json.loads(json_text(document), parse_constant=refuse_constant)
    assert found == {"a": "NaN", "b": ["Infinity", 1.5, ["-Infinity", 2]], "3": {"c": True, "d": None}}
    assert [float(found["b"][0]), math.isnan(float(found["a"]))] == [math.inf, True]
    wrong = replace(PROVED, passed=False, max_error=math.nan, bound=math.inf, reason="NaN at row 0")
    timing = make_timing(0.04)
    document = read_json(make_result(timing=timing), make_result(verification=wrong), baseline="naive")
    first, second = document["results"]
    assert first["timing"]["kernel"]["samples_ms"] == list(timing.kernel.samples_ms)
    assert first["environment"]["versions"]["numpy"] == "2.4.6"
    assert (second["verification"]["max_error"], second["max_error"]) == ("NaN", "NaN")
    assert second["verification"]["bound"] == "Infinity"
    kind = (document["format"], document["version"], document["baseline"])
    assert kind == ("haloscope-results", 2, "naive")
    assert document["environment"]["devices"][0]["key"] == "cpu"


def test_that_every_metric_is_in_both_files_with_full_precision_and_reasons_where_they_are_known():
    results = make_result("cpu-serial", 20.0), make_result("tiled", 1 / 3, work=WORK, layout="packed")
    row, entry = read_csv(*results)[1], read_json(*results)["results"][1]
    for metric in metrics_of(PROBLEM):
        assert metric.key in entry
        assert float(row[metric.key] or "nan") == pytest.approx(
            math.nan if entry[metric.key] is None else entry[metric.key], rel=0, nan_ok=True
        )
    assert entry["kernel_median_ms"] == 1 / 3
    assert entry["speed_up"] == 20.0 / (1 / 3)
    assert (entry["run"], entry["baseline_run"], row["run"], row["baseline_run"]) == (2, 1, "2", "1")
    assert (row["baseline"], row["driver"], row["layout"]) == ("cpu-serial", "580.65", "packed")
    told = read_json(*results)["metrics"]
    assert set(told) == {metric.key for metric in metrics_of(PROBLEM)}
    assert told["kernel_median_ms"]["unit"] == "ms"
    explained, silent = read_csv(EXPLAINED, MEASURED)
    assert (explained["share_of_tallest_limit"], explained["transactions_per_request"]) == ("0.25", "1.9")
    assert (silent["share_of_tallest_limit"], silent["transactions_per_request"]) == ("", "")


def test_that_a_run_without_a_speed_says_why():
    for result in (make_failure(), make_unverified(), make_simulated()):
        (row,) = read_csv(result)
        assert [value for name, value in row.items() if name.endswith("_ms") and value] == []
        assert row["status"]
        (entry,) = read_json(result)["results"]
        assert [key for key, value in entry.items() if key.endswith("_ms") and value is not None] == []


MEASURED = RunResult(
    "tiled", "Tiled", "cuda:0", Problem(5, 7, 3, "uint8", (3, 5), (0, 4), Border.CONSTANT, 2.5), Block(32, 8),
    Environment("a GPU", "13.0", "1980 MHz", {"numba": "1"}, "abc"),
    Timing(Spread((2.0, 1.0, 4.0)), Spread((9.0,)), 10.0, 0.5, Spread((3.0,)), None, "device events", "cold"),
    Verification(True, 1e-7, 3e-6, 30, 35, False), mask_name="Sobel x", weights_digest="0123456789abcdef",
    work=Work(3150, 1575, 105, 1575, 420, 525, 1500, 900, 100, 75), seed=7, layout="packed",
    chosen_because="the fastest",
)  # fmt: skip
COPY = Bound("copy", "copy", 0.5, 525.0, "bytes", 1e6, "the problem")
REASON = ExplainedTime("a GPU", (COPY,), 0.5, 2.0, "Copies.", "cached", 1.9)
EXPLAINED = replace(MEASURED, explained=REASON)
COUNTED = replace(MEASURED, explained=ExplainedTime("a GPU", not_explained=NO_DRIVER))
FAILED = RunResult("naive", "Naive", "cuda:0", Problem(1, 1), None, Environment(""), failure=NO_DRIVER)
WRONG = replace(MEASURED, timing=None, verification=Verification(False, math.inf, 3e-6, 30, 35, False, "off"))
PRODUCT = ProductResult(
    "matmul-tiled", "Tiled", "cuda:0", MatrixProduct(5, 6, 7), Block(4, 4),
    Environment("a GPU", bandwidth_gb_s=86.4), failure=NO_DRIVER, refused=True, work=MEASURED.work,
)  # fmt: skip


def test_that_a_result_comes_back_from_json_as_it_was():
    for result in [MEASURED, EXPLAINED, COUNTED, FAILED, WRONG, PRODUCT]:
        assert result_from_json(json.loads(json_text(result.as_json()))) == result
        document = results_document(compared([result], "naive"), "naive", {})
        assert results_from_document(json.loads(json_text(document))) == (result,)


def kept(name):
    return json.loads((Path(__file__).parents[2] / "data" / "results" / f"{name}-v1.json").read_text())


def test_that_files_of_version_1_are_read_of_filters_and_of_products_and_others_say_why_not():
    serial, parallel, naive, refused = results_from_document(kept("bench"))
    assert serial.problem == Problem(7, 9, mask_shape=(3, 3), anchor=(1, 1), border=Border.WRAP)
    assert serial.kernel_ms == kept("bench")["results"][0]["timing"]["kernel"]["median_ms"]
    assert (serial.mask_name, serial.weights_digest) == ("box:3", None)
    assert (naive.block, naive.layout, naive.proof) == (Block(32, 8), "pitched", "verified, simulated")
    assert (refused.refused, refused.proof) == (True, "unavailable")
    assert compared([serial, parallel], "cpu-serial")[1].speed_up == kept("bench")["results"][1]["speed_up"]
    *_, wrong = results_from_document(kept("window"))
    assert math.isnan(wrong.verification.max_error)
    assert (wrong.verification.bound, wrong.kernel_ms) == (math.inf, None)
    document = kept("matmul")
    results = results_from_document(document)
    assert [(r.task, r.variant, tile_of(r)) for r in results] == [
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
    for change, says in [
        ({"format": "another"}, "not a file of results"),
        ({"format": []}, "not a file of results"),
        ({"version": 3}, "reads up to 2"),
        ({"results": None}, "list of results is missing"),
        ({"results": [{"task": "weather"}]}, "'weather' is not a task"),
    ]:
        with pytest.raises(EngineError, match=says):
            results_from_document({"format": "haloscope-results", "version": 2, "results": []} | change)


GONE = object()


def test_that_a_spoilt_result_is_refused_in_words():
    # Whole numbers that no float holds are among them: what divides one or shows it would fail later.
    for path, values in {
        "variant": (GONE, 3), "problem anchor": (GONE,), "problem height": (True, 0, 10**400),
        "problem channels": (10**400,), "problem border": ("sideways",), "problem mask_shape": ([3],),
        "timing kernel samples_ms": ([], [math.nan], ["1"], [10**400]), "timing": (3,),
        "verification passed": (1,), "environment": (None,), "work global_loads": (0,),
        "work shared_loads": (-1,),
    }.items():  # fmt: skip
        for value in values:
            *parents, last = path.split()
            spoilt = copy.deepcopy(MEASURED.as_json())
            part = functools.reduce(dict.__getitem__, parents, spoilt)
            part |= {last: value}
            if value is GONE:
                del part[last]
            with pytest.raises(EngineError):
                result_from_json(spoilt)
    for data in [None, [], "result", 3]:
        with pytest.raises(EngineError):
            result_from_json(data)

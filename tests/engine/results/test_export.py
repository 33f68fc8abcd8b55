import csv
import io
import json
import math
from dataclasses import replace

import pytest

from engine.results.compare import compared
from engine.results.export import machine_document, results_csv, results_document
from engine.results.metrics import metrics_of
from engine.results.spreadsheet import harmless
from engine.results.strict_json import json_text
from engine.tasks.product.problem import MatrixProduct
from tests.gui.made_results import CPU_DEVICE
from tests.made_runs import (
    PROVED,
    WORK,
    made_product,
    made_rows,
    make_failure,
    make_result,
    make_simulated,
    make_timing,
    make_unverified,
)


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def read_csv(*results: object, baseline: str = "cpu-serial") -> list[dict[str, str]]:
    text = results_csv(compared(results, baseline), baseline)  # type: ignore[arg-type]
    return list(csv.DictReader(io.StringIO(text)))


def read_json(*results: object, baseline: str = "cpu-serial") -> dict:  # type: ignore[type-arg]
    machine = machine_document([CPU_DEVICE], {"numpy": "2"}, "abc")
    document = results_document(compared(results, baseline), baseline, machine)  # type: ignore[arg-type]
    return json.loads(json_text(document), parse_constant=refuse_constant)


@pytest.mark.parametrize(
    "text", ["=1+1", "+cmd", "-a", "@sum", "\tx", "\rx", "-inf", "-1-1", "=cmd|' /C calc'!A0"]
)
def test_that_text_which_a_spreadsheet_could_run_is_disarmed(text):
    assert harmless(text) == f"'{text}"
    (row,) = read_csv(replace(make_failure(reason=text), mask_name=text))
    assert (row["status"], row["mask"]) == (f"'{text}", f"'{text}")


@pytest.mark.parametrize("text", ["", "plain", "-0.5", "-1.5", "+3", "-1e-5", "1=1", "a-b"])
def test_that_text_and_numbers_stay_as_they_are(text):
    assert harmless(text) == text


def test_that_a_number_that_json_has_not_is_a_string_and_what_there_is_not_is_null():
    document = {"a": math.nan, "b": [math.inf, 1.5, (-math.inf, 2)], 3: {"c": True, "d": None}}
    found = json.loads(json_text(document), parse_constant=refuse_constant)
    assert found == {"a": "NaN", "b": ["Infinity", 1.5, ["-Infinity", 2]], "3": {"c": True, "d": None}}
    assert [float(found["b"][0]), math.isnan(float(found["a"]))] == [math.inf, True]


def test_that_every_metric_is_in_both_files_with_full_precision_and_its_explanation():
    results = make_result("cpu-serial", 20.0), make_result("tiled", 1 / 3, work=WORK, layout="packed")
    row, entry = read_csv(*results)[1], read_json(*results)["results"][1]
    for metric in metrics_of("filtering"):
        assert metric.key in entry
        assert float(row[metric.key] or "nan") == pytest.approx(
            math.nan if entry[metric.key] is None else entry[metric.key], rel=0, nan_ok=True
        )
    assert entry["kernel_median_ms"] == 1 / 3
    assert entry["speed_up"] == 20.0 / (1 / 3)
    assert (entry["run"], entry["baseline_run"], row["run"], row["baseline_run"]) == (2, 1, "2", "1")
    assert (row["baseline"], row["driver"], row["layout"]) == ("cpu-serial", "580.65", "packed")
    told = read_json(*results)["metrics"]
    assert set(told) == {metric.key for metric in metrics_of("filtering")}
    assert told["kernel_median_ms"]["unit"] == "ms"


@pytest.mark.parametrize("result", [make_failure(), make_unverified(), make_simulated()])
def test_that_a_run_without_a_speed_has_no_times_and_says_why(result):
    (row,) = read_csv(result)
    assert [value for name, value in row.items() if name.endswith("_ms") and value] == []
    assert row["status"]
    (entry,) = read_json(result)["results"]
    assert [key for key, value in entry.items() if key.endswith("_ms") and value is not None] == []


def test_that_json_is_strict_and_keeps_every_raw_sample():
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


def test_that_products_are_written_by_the_same_writer():
    rows = made_rows(MatrixProduct(64, 32, 16), (8,), cuda=True)
    results = made_product(rows[1], 1.0), made_product(rows[2], 4.0)
    row, entry = read_csv(*results, baseline="numpy")[0], read_json(*results, baseline="numpy")["results"][0]
    assert entry["problem"] == {"rows": 64, "inner": 32, "columns": 16}
    assert (row["task"], row["rows"], row["inner"], row["columns"]) == ("product", "64", "32", "16")
    assert (entry["speed_up"], row["speed_up"]) == (4.0, "4.0")
    assert float(row["gflops"]) == entry["gflops"] == 2 * 64 * 32 * 16 / 1e6
    assert "mask" not in row

import csv
import io
import json
import math
from dataclasses import replace

import pytest

from gui.explore.results.results_export import to_clipboard_text, to_csv, to_json
from gui.explore.results.results_model import ResultsModel
from tests.gui.made_results import (
    PROVED,
    WORK,
    make_failure,
    make_result,
    make_simulated,
    make_timing,
    make_unverified,
)

pytestmark = pytest.mark.usefixtures("qapp")


def rows_of(*results: object) -> tuple[object, ...]:
    model = ResultsModel()
    for result in results:
        model.add(result)  # type: ignore[arg-type]
    return model.rows()


def read_csv(*results: object) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(to_csv(rows_of(*results), "cpu-serial"))))  # type: ignore[arg-type]


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_that_text_which_a_spreadsheet_could_run_is_disarmed(start: str) -> None:
    evil = f"{start}cmd|' /C calc'!A0"
    result = make_failure(reason=evil)
    assert read_csv(result)[0]["status"].startswith(f"'{start}")
    named = replace(result, mask_name=evil)
    assert read_csv(named)[0]["mask"].startswith("'")
    assert f"\t{start}cmd" not in to_clipboard_text(rows_of(named), "cpu-serial")  # type: ignore[arg-type]


def test_that_csv_has_full_precision_and_units_in_its_header() -> None:
    record = read_csv(make_result("cpu-serial", 20.0), make_result("tiled", 1 / 3))[1]
    assert float(record["kernel_median_ms"]) == 1 / 3
    assert float(record["speed_up"]) == 20.0 / (1 / 3)
    assert record["baseline"] == "cpu-serial"
    assert record["driver"] == "580.65"


@pytest.mark.parametrize("result", [make_failure(), make_unverified(), make_simulated()])
def test_that_csv_has_no_time_for_a_run_without_a_speed_and_says_why(result: object) -> None:
    record = read_csv(result)[0]
    assert [value for name, value in record.items() if name.endswith("_ms") and value] == []
    assert record["status"]


def test_that_json_is_strict_and_keeps_every_raw_sample() -> None:
    wrong = replace(PROVED, passed=False, max_error=math.nan, bound=math.inf, reason="NaN at row 0")
    timing = make_timing(0.04)
    rows = rows_of(make_result(timing=timing), make_result(verification=wrong))
    document = json.loads(to_json(rows, "naive"), parse_constant=refuse_constant)  # type: ignore[arg-type]
    assert document["results"][0]["timing"]["kernel"]["samples_ms"] == list(timing.kernel.samples_ms)
    assert document["results"][0]["environment"]["versions"]["numpy"] == "2.4.6"
    assert document["results"][1]["verification"]["max_error"] == "NaN"
    assert document["results"][1]["verification"]["bound"] == "Infinity"
    assert document["baseline"] == "naive"
    assert document["units"]


def test_that_layout_and_model_of_work_are_in_both_files() -> None:
    run = make_result("tiled", work=WORK, layout="packed")
    record, failed = read_csv(run, make_failure())
    assert (record["layout"], failed["layout"]) == ("packed", "pitched")
    assert int(record["model_shared_loads"]) == WORK.shared_loads
    assert float(record["model_cgma_flop_per_load"]) == WORK.cgma
    assert float(record["model_intensity_flop_per_byte"]) == WORK.arithmetic_intensity
    assert {value for name, value in failed.items() if name.startswith("model_")} == {""}
    document = json.loads(to_json(rows_of(run), "naive"))  # type: ignore[arg-type]
    assert document["results"][0]["layout"] == "packed"
    assert document["results"][0]["work"]["constant_loads"] == 0
    assert document["results"][0]["work"]["cgma"] == WORK.cgma
    assert "model" in document["units"]["work"]


def test_that_json_of_a_failure_has_its_reason_and_no_timing() -> None:
    document = json.loads(to_json(rows_of(make_failure()), "naive"))  # type: ignore[arg-type]
    assert document["results"][0]["timing"] is None
    assert document["results"][0]["failure"]


def test_that_clipboard_text_is_a_line_a_row_with_as_many_cells_as_headers() -> None:
    result = make_failure(reason="first\nsecond\tthird")
    lines = to_clipboard_text(rows_of(make_result("tiled", 1 / 3), result), "naive").splitlines()  # type: ignore[arg-type]
    assert len(lines) == 3
    assert len({line.count("\t") for line in lines}) == 1
    assert "0.333333" in lines[1]
    assert "first second third" in lines[2]


def test_that_a_text_which_is_a_number_stays_one() -> None:
    named = replace(make_failure(), mask_name="-1.5")
    assert read_csv(named)[0]["mask"] == "-1.5"

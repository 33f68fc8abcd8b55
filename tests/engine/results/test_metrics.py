import pytest

from engine.geometry.block import Block
from engine.results.columns import columns_of, mask_text, problem_text, repeated, table_text
from engine.results.compare import Compared, compared
from engine.results.metrics import METRICS, metric, metrics_of, number_of
from engine.tasks.product.problem import MatrixProduct
from tests.made_runs import PROBLEM, WORK, made_product, made_rows, make_failure, make_result


def test_that_every_metric_and_column_has_a_key_of_its_own_and_explains_itself():
    assert len({entry.key for entry in METRICS}) == len(METRICS)
    for task in ("filtering", "product"):
        columns = columns_of(task)
        assert len({column.header for column in columns}) == len(columns)
        assert [column.header for column in columns if not column.explanation.endswith(".")] == []
    assert [entry.key for entry in METRICS if entry.key.endswith("_ms") != (entry.unit == "ms")] == []
    heads = {entry.key for entry in METRICS}
    assert [entry.key for entry in METRICS if entry.of and entry.of not in heads] == []


def test_that_the_numbers_of_a_filter_run_are_those_of_its_timing_and_its_model():
    result = make_result("tiled", 2.0, work=WORK)
    assert number_of(result, "kernel_p20_ms") == result.timing.kernel.p20_ms
    assert number_of(result, "device_to_host_minimum_ms") == 0.21
    assert number_of(result, "samples") == 5
    assert number_of(result, "model_shared_loads") == WORK.shared_loads
    assert number_of(result, "model_shared_loads_per_value") == 25.0
    assert number_of(result, "model_cgma_flop_per_load") == WORK.cgma == 25.0
    assert metric("model_picture_loads_per_value").text(Compared(result)) == "1.6"
    assert "gflops" not in {entry.key for entry in metrics_of("filtering")}


def test_that_the_numbers_of_a_product_are_those_of_the_lecture():
    rows = made_rows(MatrixProduct(1024, 1024, 1024), (16,), cuda=True)
    run = Compared(made_product(rows[1], 2.0))
    for key, text in (
        ("gflops", "1,074 GFLOPS"), ("cgma_flop_per_load", "16"), ("lecture_limit_gflops", "345.6 GFLOPS"),
        ("bandwidth_limit_gflops", "16,000 GFLOPS"), ("share_of_limit", "6.71 %"),
    ):  # fmt: skip
        assert metric(key).words(run) == text
    assert metric("gflops").text(Compared(rows[1])) == "–"


def test_that_what_is_the_same_for_all_runs_can_be_said_once():
    runs = compared([make_result("tiled", block=Block(8, side)) for side in (8, 16)], "naive")
    said = repeated(columns_of("filtering"), runs)
    assert list(said.values()) == [
        "512 x 512 RGB uint8", "mask Gaussian, 5 x 5", "border zero", "pitched rows", "cuda:0",
    ]  # fmt: skip
    mixed = compared([runs[0].result, make_result("cpu-serial")], "naive")
    assert set(repeated(columns_of("filtering"), mixed)) == {"picture", "mask", "border"}
    assert problem_text(make_result()) == "512 x 512 RGB uint8, mask Gaussian, 5 x 5, border zero"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("", "5 x 5"),
        ("random 5 x 5", "5 x 5"),
        ("box:5", "box:5, 5 x 5"),
        ("Gaussian 5 x 5", "Gaussian 5 x 5"),
        ("Gaussian 5 x 5, sigma 1.5", "Gaussian 5 x 5, sigma 1.5"),
        # The size of another mask, which this was a part of.
        ("Gaussian 15 x 15, its middle", "Gaussian 15 x 15, its middle, 5 x 5"),
    ],
)
def test_that_a_mask_is_named_with_its_size_once(name, text):
    assert mask_text(make_result(mask_name=name, problem=PROBLEM)) == text


def test_that_a_pasted_table_has_a_line_a_run_with_as_many_cells_as_headers():
    result = make_failure(reason="first\nsecond\tthird")
    runs = compared([make_result("tiled", 1 / 3), result], "naive")
    lines = table_text(columns_of("filtering"), runs, "naive").splitlines()
    assert len(lines) == 3
    assert len({line.count("\t") for line in lines}) == 1
    assert "0.333333" in lines[1].split("\t")
    assert "first second third" in lines[2]
    assert "Speed-up vs naive" in lines[0]
    named = table_text(columns_of("filtering"), compared([make_failure(reason="=cmd|' /C calc'!A0")], ""), "")
    assert "\t=cmd" not in named

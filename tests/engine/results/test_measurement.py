"""Quantities, measurements, metrics and their comparison."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from engine.errors import Reason
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.results.columns import columns_of, problem_text, repeated, table_text
from engine.results.measurement import Environment, Spread, Timing
from engine.results.metrics import Compared, comparable, compared, metric, metrics_of, number_of
from engine.results.text_forms import (
    MISSING,
    digits_text,
    duration_text,
    error_text,
    ms_cell,
    ms_text,
    ratio_text,
    tick_text,
)
from engine.tasks.product.problem import MatrixProduct
from engine.tasks.registry import TASKS
from engine.verify.closeness import Verification
from engine.work.columns import RunResult, fastest_blocks, found_words, mask_text
from engine.work.problem import Problem
from tests.made_runs import (
    PROBLEM,
    WORK,
    made_product,
    made_rows,
    make_failure,
    make_result,
    make_simulated,
    make_unverified,
)


def test_that_numbers_are_written_as_people_read_them():
    for write, written in [
        # A duration has three digits and no exponent; what was not measured is a dash and not a zero.
        (ms_cell, {0.04123: "0.0412", 0.00012: "0.000120", 18.4: "18.4", 8013.2: "8,013", 0.0: "0",
                   912.0: "912", None: MISSING}),
        (ms_text, {0.0412: "0.0412 ms"}),
        # And alone the unit that suits it.
        (duration_text, {0.1178: "118 µs", 19.6: "19.6 ms", 0.99996: "1.00 ms", 1200: "1.20 s",
                         5e-4: "500 ns", 0.0: "0 ms"}),
        (tick_text, {0.02: "20 µs", 5.0: "5 ms", 2e3: "2 s", 1e-4: "100 ns", 1.0: "1 ms", 1e8: "100,000 s"}),
        # A speed-up has a multiplication sign; what is slower is put the other way round.
        (ratio_text, {1310.2: "1,310×", 19.44: "19.4×", 30799: "30,800×", 0.9996: "1.00×", None: MISSING,
                      0.0111: "90.1× slower", 0.000667: "1,500× slower", 0.8: "1.25× slower"}),
        (error_text, {math.nan: "NaN", math.inf: "infinite", None: MISSING}),
        (lambda value: digits_text(value, 3), {math.nan: "NaN"}),
    ]:  # fmt: skip
        assert {value: write(value) for value in written} == written


PROOF = Verification(True, 1e-7, 3e-7, 63, 63, False)


def result_of(kernel_ms, **changes):
    timing = Timing(Spread((kernel_ms,)), Spread((2 * kernel_ms,)), 12.0, 0.5)
    made = RunResult(
        "tiled", "Tiled", "cuda:0", Problem(7, 9, border=Border.WRAP), Block(8, 4), Environment("a GPU"),
        timing, PROOF, mask_name="box",
    )  # fmt: skip
    return replace(made, **changes)


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=30))
def test_that_a_spread_says_what_numpy_says(samples):
    spread = Spread(tuple(samples))
    assert spread.median_ms == pytest.approx(np.median(samples), rel=4e-16)
    assert spread.minimum_ms == min(samples)
    assert spread.p20_ms == pytest.approx(np.quantile(samples, 0.2), rel=1e-15)
    assert spread.p80_ms == pytest.approx(np.quantile(samples, 0.8), rel=1e-15)


def test_that_what_has_no_speed_says_why_in_a_word():
    for changes, no_speed, proof in [
        ({}, "", "verified"),
        ({"verification": replace(PROOF, exact=True)}, "", "verified, exact"),
        ({"failure": Reason("error", "It broke")}, "failed", "failed"),
        ({"failure": Reason("no-gpu", "No GPU"), "refused": True}, "unavailable", "unavailable"),
        ({"verification": None}, "not run yet", "not run yet"),
        ({"verification": replace(PROOF, passed=False)}, "not verified", "failed"),
        ({"timing": None}, "not timed", "verified, not timed"),
        ({"device": "simulator"}, "simulated", "verified, simulated"),
    ]:
        result = result_of(3.0, **changes)
        assert (result.no_speed, result.proof) == (no_speed, proof)
        assert (result.kernel_ms is None) == bool(no_speed)


def test_that_a_failure_has_a_short_and_a_whole_status_and_a_proof_says_how_much_it_covers():
    failed = result_of(1.0, failure=Reason("memory", "Out of memory", "Out of memory: 9 GB.", "Crop it."))
    assert (failed.short_status, failed.status) == ("Out of memory", "Out of memory: 9 GB. Crop it.")
    wrong = result_of(1.0, verification=replace(PROOF, passed=False, reason="row 3 is off"))
    assert wrong.short_status == wrong.status == "row 3 is off"
    exact = replace(PROOF, exact=True).sentence()
    assert exact == "verified: every pixel matches the float64 reference exactly"
    part = replace(PROOF, checked_pixels=1000, total_pixels=4000)
    said = "1,000 of 4,000 pixels were checked, and all are within rounding, max error 1e-07, rounding bound"
    assert part.sentence() == f"verified: {said} 3e-07"


def test_that_every_metric_and_column_explains_itself():
    for task in TASKS.values():
        metrics, columns = metrics_of(task.problem), columns_of(task.problem)
        assert len({entry.key for entry in metrics}) == len(metrics)
        assert [entry.key for entry in metrics if entry.key.endswith("_ms") != (entry.unit == "ms")] == []
        heads = {entry.key for entry in metrics}
        assert [entry.key for entry in metrics if entry.of and entry.of not in heads] == []
        assert len({column.header for column in columns}) == len(columns)
        assert [column.header for column in columns if not column.explanation.endswith(".")] == []


def test_that_the_numbers_of_a_run_are_those_of_its_timing_its_model_and_the_lecture():
    result = make_result("tiled", 2.0, work=WORK)
    assert number_of(result, "kernel_p20_ms") == result.timing.kernel.p20_ms
    assert number_of(result, "device_to_host_minimum_ms") == 0.21
    assert number_of(result, "samples") == 5
    assert number_of(result, "model_shared_loads") == WORK.shared_loads
    assert number_of(result, "model_shared_loads_per_value") == 25.0
    assert number_of(result, "model_cgma_flop_per_load") == WORK.cgma == 25.0
    assert metric("model_picture_loads_per_value").text(Compared(result)) == "1.6"
    assert number_of(result, "gflops") == WORK.flops / 2.0 / 1e6
    rows = made_rows(MatrixProduct(1024, 1024, 1024), (16,), cuda=True)
    run = Compared(made_product(rows[1], 2.0))
    for key, text in (
        ("gflops", "1,074 GFLOPS"), ("cgma_flop_per_load", "16"), ("lecture_limit_gflops", "345.6 GFLOPS"),
        ("bandwidth_limit_gflops", "16,000 GFLOPS"), ("share_of_limit", "6.71 %"),
    ):  # fmt: skip
        assert metric(key, MatrixProduct).words(run) == text
    assert metric("gflops", MatrixProduct).text(Compared(rows[1])) == "–"


def test_that_what_is_the_same_for_all_runs_can_be_said_once():
    runs = compared([make_result("tiled", block=Block(8, side)) for side in (8, 16)], "naive")
    said = repeated(columns_of(Problem), runs)
    assert list(said.values()) == [
        "512 × 512 RGB uint8", "mask Gaussian, 5 × 5", "border zero", "pitched rows", "cuda:0",
    ]  # fmt: skip
    mixed = compared([runs[0].result, make_result("cpu-serial")], "naive")
    assert set(repeated(columns_of(Problem), mixed)) == {"picture", "mask", "border"}
    assert problem_text(make_result()) == "512 × 512 RGB uint8, mask Gaussian, 5 × 5, border zero"


def test_that_a_mask_is_named_with_its_size_once():
    for name, text in [
        ("", "5 × 5"),
        ("random 5 × 5", "5 × 5"),
        ("box:5", "box:5, 5 × 5"),
        ("Gaussian 5 × 5", "Gaussian 5 × 5"),
        ("Gaussian 5 × 5, sigma 1.5", "Gaussian 5 × 5, sigma 1.5"),
        # The size of another mask, which this was a part of.
        ("Gaussian 15 × 15, its middle", "Gaussian 15 × 15, its middle, 5 × 5"),
    ]:
        assert mask_text(make_result(mask_name=name, problem=PROBLEM)) == text


def test_that_a_pasted_table_has_a_line_a_run_with_as_many_cells_as_headers():
    result = make_failure(reason="first\nsecond\tthird")
    runs = compared([make_result("tiled", 1 / 3), result], "naive")
    lines = table_text(columns_of(Problem), runs, "naive").splitlines()
    assert len(lines) == 3
    assert len({line.count("\t") for line in lines}) == 1
    assert "0.333333" in lines[1].split("\t")
    assert "first second third" in lines[2]
    assert "Speed-up vs naive" in lines[0]
    named = table_text(columns_of(Problem), compared([make_failure(reason="=cmd|' /C calc'!A0")], ""), "")
    assert "\t=cmd" not in named


def speed_ups(results, baseline, chosen=None):
    return [run.speed_up for run in compared(results, baseline, chosen)]


def test_that_a_speed_up_is_the_baselines_time_over_the_runs_of_filters_and_of_products():
    results = [make_result("cpu-serial", 6.0), make_result("tiled", 1.5), make_result("cpu-parallel", 12.0)]
    assert speed_ups(results, "cpu-serial") == [1.0, 4.0, 0.5]
    assert speed_ups(results, "cached") == [None] * 3
    assert Compared(results[0]).speed_up is None
    small, large = (made_rows(MatrixProduct(side, side, side), (8,), cuda=True) for side in (8, 16))
    results = [made_product(small[1], 1.0), made_product(small[2], 4.0), made_product(large[1], 1.0)]
    assert speed_ups(results, "numpy") == [4.0, 1.0, None]
    assert speed_ups([make_result("naive", 0.0), make_result("tiled", 1.0)], "naive") == [None, None]


def test_that_problems_that_differ_are_not_compared_and_without_a_digest_masks_are_told_by_name():
    for change in [
        {"height": 511}, {"width": 511}, {"channels": 1}, {"dtype": "float32"}, {"result_dtype": "uint8"},
        {"anchor": (0, 0)}, {"mask_shape": (5, 3), "anchor": (2, 1)}, {"border": Border.WRAP},
        {"border": Border.CONSTANT, "cval": 1.0},
    ]:  # fmt: skip
        other = make_result("tiled", 1.0, problem=structs.replace(PROBLEM, **change))
        # Other weights are another problem, whatever the name.
        weights = make_result("tiled", 1.0, weights_digest="of another Gaussian")
        found = speed_ups([make_result("cpu-serial", 6.0), other, weights], "cpu-serial")
        assert found == [1.0, None, None]
    old = [make_result("naive", 8.0, mask_name=name, weights_digest=None) for name in ("box", "gauss")]
    new = make_result("tiled", 2.0, mask_name="box", weights_digest=None)
    assert speed_ups([*old, new], "naive") == [1.0, 1.0, 4.0]
    unused = make_result("tiled", 1.0, problem=structs.replace(PROBLEM, cval=7.0))
    assert comparable(unused) == comparable(make_result())


def test_that_the_fastest_verified_run_of_the_baseline_counts_or_of_its_own_problem_a_chosen_one():
    slow, fast, newest = (make_result("naive", kernel_ms) for kernel_ms in (3.0, 2.0, 4.0))
    without = [make_failure("naive"), make_unverified("naive"), make_simulated("naive")]
    runs = compared([slow, fast, newest, *without, make_result("tiled", 1.0)], "naive")
    assert runs[-1].speed_up == 2.0
    assert [run.baseline_run for run in runs] == [2, 2, 2, None, None, None, 2]
    assert runs[-1].baseline is fast
    assert [run.number for run in runs] == [1, 2, 3, 4, 5, 6, 7]
    elsewhere = structs.replace(PROBLEM, width=100)
    fast, chosen = make_result("naive", 2.0), make_result("naive", 8.0)
    results = [
        fast, chosen, make_result("tiled", 1.0),
        make_result("naive", 6.0, problem=elsewhere), make_result("tiled", 2.0, problem=elsewhere),
    ]  # fmt: skip
    runs = compared(results, "naive", chosen)
    assert [run.speed_up for run in runs] == [4.0, 1.0, 8.0, 1.0, 3.0]
    assert [run.baseline_run for run in runs] == [2, 2, 2, 4, 4]
    assert speed_ups([fast, make_failure("naive")], "naive", results[-1]) == [1.0, None]


def test_that_layouts_are_compared_like_with_like():
    results = [
        make_result("cpu-serial", 12.0),
        make_result("naive", 4.0, layout="pitched"),
        make_result("naive", 6.0, layout="packed"),
        make_result("tiled", 3.0, layout="packed"),
    ]
    assert speed_ups(results, "naive") == [4.0 / 12.0, 1.0, 1.0, 2.0]
    assert speed_ups(results, "cpu-serial") == [1.0, 3.0, 2.0, 4.0]
    assert speed_ups(results, "tiled") == [0.25, None, 0.5, 1.0]


LARGE = structs.replace(PROBLEM, width=2048, height=2048)


def runs(variant="tiled", *, problem=PROBLEM, layout="pitched", **times):
    """Return runs of a variant by its blocks: b8x8=0.2."""
    return [
        make_result(variant, time_ms, problem=problem, layout=layout, block=Block.parse(block[1:]))
        for block, time_ms in times.items()
    ]


def test_that_the_fastest_block_is_found_for_each_kernel_problem_and_layout():
    results = [
        *runs(b8x8=0.4, b32x4=0.1, b16x16=0.2),
        *runs(b8x8=0.05, b32x8=0.3, layout="packed"),
        *runs("cached", b8x8=0.6, b16x16=0.7, problem=LARGE),
        # One block alone is not the best of anything.
        *runs("naive", b16x16=0.1),
        make_failure("naive"),
        make_simulated("naive"),
        make_result("cpu-serial", 20.0),
    ]
    found = [(result.variant, str(result.block), result.layout) for result in fastest_blocks(results)]
    pitched = [("tiled", "32 × 4", "pitched"), ("cached", "8 × 8", "pitched")]
    assert sorted(found) == sorted([*pitched, ("tiled", "8 × 8", "packed")])
    # The gain over the default, where that was run on the same problem.
    best, words = fastest_blocks(results)[0], "32 × 4 (0.100 ms)"
    gain = f"{words}, 2.00× as fast as its default 16 × 16"
    for default, said in (
        (Block(16, 16), gain), (Block(64, 1), words), (Block(32, 4), f"{words}, which is its default"),
    ):  # fmt: skip
        assert found_words(best, results, default) == said

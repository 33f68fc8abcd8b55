from dataclasses import replace

import pytest

from engine.geometry.border import Border
from engine.results.compare import Compared, comparable, compared
from engine.tasks.product.problem import MatrixProduct
from tests.made_runs import (
    PROBLEM,
    made_product,
    made_rows,
    make_failure,
    make_result,
    make_simulated,
    make_unverified,
)


def speed_ups(results, baseline, chosen=None):
    return [run.speed_up for run in compared(results, baseline, chosen)]


def test_that_a_speed_up_is_the_baselines_time_over_the_runs():
    results = [make_result("cpu-serial", 6.0), make_result("tiled", 1.5), make_result("cpu-parallel", 12.0)]
    assert speed_ups(results, "cpu-serial") == [1.0, 4.0, 0.5]
    assert speed_ups(results, "cached") == [None] * 3
    assert Compared(results[0]).speed_up is None


@pytest.mark.parametrize(
    "change",
    [
        {"height": 511}, {"width": 511}, {"channels": 1}, {"dtype": "float32"}, {"anchor": (0, 0)},
        {"mask_shape": (5, 3), "anchor": (2, 1)}, {"border": Border.WRAP}, {"result_dtype": "uint8"},
        {"border": Border.CONSTANT, "cval": 1.0},
    ],
    ids=str,
)  # fmt: skip
def test_that_problems_that_differ_are_not_compared(change):
    other = make_result("tiled", 1.0, problem=replace(PROBLEM, **change))
    # Other weights are another problem, whatever the name.
    weights = make_result("tiled", 1.0, weights_digest="of another Gaussian")
    found = speed_ups([make_result("cpu-serial", 6.0), other, weights], "cpu-serial")
    assert found == [1.0, None, None]


def test_that_results_without_a_digest_are_told_apart_by_the_name_of_the_mask():
    old = [make_result("naive", 8.0, mask_name=name, weights_digest=None) for name in ("box", "gauss")]
    new = make_result("tiled", 2.0, mask_name="box", weights_digest=None)
    assert speed_ups([*old, new], "naive") == [1.0, 1.0, 4.0]


def test_that_the_value_of_a_border_counts_only_where_it_is_used():
    unused = make_result("tiled", 1.0, problem=replace(PROBLEM, cval=7.0))
    assert comparable(unused) == comparable(make_result())


def test_that_the_fastest_verified_run_of_the_baseline_counts_and_is_named():
    slow, fast, newest = (make_result("naive", kernel_ms) for kernel_ms in (3.0, 2.0, 4.0))
    without = [make_failure("naive"), make_unverified("naive"), make_simulated("naive")]
    runs = compared([slow, fast, newest, *without, make_result("tiled", 1.0)], "naive")
    assert runs[-1].speed_up == 2.0
    assert [run.baseline_run for run in runs] == [2, 2, 2, None, None, None, 2]
    assert runs[-1].baseline is fast
    assert [run.number for run in runs] == [1, 2, 3, 4, 5, 6, 7]


def test_that_a_chosen_run_is_the_baseline_of_its_own_problem_and_of_no_other():
    elsewhere = replace(PROBLEM, width=100)
    fast, chosen = make_result("naive", 2.0), make_result("naive", 8.0)
    results = [
        fast, chosen, make_result("tiled", 1.0),
        make_result("naive", 6.0, problem=elsewhere), make_result("tiled", 2.0, problem=elsewhere),
    ]  # fmt: skip
    runs = compared(results, "naive", chosen)
    assert [run.speed_up for run in runs] == [4.0, 1.0, 8.0, 1.0, 3.0]
    assert [run.baseline_run for run in runs] == [2, 2, 2, 4, 4]
    assert speed_ups([fast, make_failure("naive")], "naive", results[-1]) == [1.0, None]


def test_that_layouts_are_compared_like_with_like_and_a_run_of_the_cpu_with_either():
    results = [
        make_result("cpu-serial", 12.0),
        make_result("naive", 4.0, layout="pitched"),
        make_result("naive", 6.0, layout="packed"),
        make_result("tiled", 3.0, layout="packed"),
    ]
    assert speed_ups(results, "naive") == [4.0 / 12.0, 1.0, 1.0, 2.0]
    assert speed_ups(results, "cpu-serial") == [1.0, 3.0, 2.0, 4.0]
    assert speed_ups(results, "tiled") == [0.25, None, 0.5, 1.0]


def test_that_products_are_compared_as_filters_are():
    small, large = (made_rows(MatrixProduct(side, side, side), (8,), cuda=True) for side in (8, 16))
    results = [made_product(small[1], 1.0), made_product(small[2], 4.0), made_product(large[1], 1.0)]
    assert speed_ups(results, "numpy") == [4.0, 1.0, None]


def test_that_a_clock_too_coarse_to_tell_gives_no_speed_up():
    assert speed_ups([make_result("naive", 0.0), make_result("tiled", 1.0)], "naive") == [None, None]

from dataclasses import replace

import pytest

from engine.geometry.border import Border
from engine.geometry.layout import Layout
from gui.explore.results.comparison import (
    kernel_speed_ms,
    layout_suffix,
    newest_baseline,
    no_speed_word,
    problem_key,
    workspace_problem_key,
)
from tests.gui.made_results import (
    PROBLEM,
    make_failure,
    make_result,
    make_simulated,
    make_unverified,
    make_workspace,
)


@pytest.mark.parametrize(
    "change",
    [
        {"height": 511},
        {"width": 511},
        {"channels": 1},
        {"dtype": "float32"},
        {"mask_shape": (5, 3), "anchor": (2, 1)},
        {"border": Border.WRAP},
        {"result_dtype": "uint8"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_that_problems_that_differ_are_not_compared(change: dict[str, object]) -> None:
    assert problem_key(replace(PROBLEM, **change)) != problem_key(PROBLEM)  # type: ignore[arg-type]


def test_that_the_anchor_does_not_part_problems() -> None:
    assert problem_key(replace(PROBLEM, anchor=(0, 0))) == problem_key(PROBLEM)


def test_that_the_workspace_describes_the_problem_that_its_runs_have() -> None:
    workspace = make_workspace()
    assert workspace_problem_key(workspace) == problem_key(PROBLEM)
    workspace.change(result_type="same")
    key = workspace_problem_key(workspace)
    assert key == problem_key(replace(PROBLEM, result_dtype="uint8"))
    assert key is not None
    assert key.picture_text == "512 x 512 RGB uint8, uint8 results"


@pytest.mark.parametrize(
    ("result", "word"),
    [
        (make_failure(), "failed"),
        (make_unverified(), "not verified"),
        (make_simulated(), "simulated"),
        (make_result(timing=None), "not timed"),
    ],
    ids=["failed", "not verified", "simulator", "not timed"],
)
def test_that_such_a_result_has_no_speed_and_says_why(result: object, word: str) -> None:
    assert kernel_speed_ms(result) is None  # type: ignore[arg-type]
    assert no_speed_word(result) == word  # type: ignore[arg-type]


def test_that_the_newest_run_of_the_baseline_with_a_speed_counts() -> None:
    old, new, failed = make_result("naive", 3.0), make_result("naive", 2.0), make_failure("naive")
    found = newest_baseline([old, new, failed], "naive")
    assert found == {(problem_key(PROBLEM), layout): new for layout in ("", "pitched")}


def test_that_a_baseline_stands_for_results_of_its_own_layout_and_one_of_the_cpu_for_all() -> None:
    key = problem_key(PROBLEM)
    pitched, packed = make_result("naive", 3.0), make_result("naive", 4.0, layout="packed")
    found = newest_baseline([pitched, packed], "naive")
    assert found == {(key, ""): packed, (key, "pitched"): pitched, (key, "packed"): packed}
    serial = make_result("cpu-serial", 9.0)
    assert newest_baseline([serial], "cpu-serial") == {(key, layout): serial for layout in ("", *Layout)}


def test_that_packed_rows_are_named_and_pitched_ones_go_without_saying() -> None:
    assert layout_suffix(make_result("naive", layout="packed")) == " (packed)"
    assert layout_suffix(make_result("naive")) == layout_suffix(make_result("cpu-serial")) == ""

"""The answers of docs/performance.md: sentences, short tables and figures, of made-up results."""

import pytest

from bench.answers import (
    library_answer,
    process_answer,
    process_figure,
    variant_answer,
    variant_figure,
    window_answer,
    window_figure,
)
from bench.whole.rows import OPENCV, OURS

WINDOW = {
    "edit_to_pixels_ms": {"median": 26.6, "max": 45.6, "all": [45.6, 26.6]},
    "timer_gap_ms": {"edits of the mask": {"max": 13.1}, "a run": {"max": 36.9}},
}
VARIANTS = ("naive", "tiled", "cached", "separable-l2", "register-blocked", "separable-fused", "fft")


def timed(ours_ms, **peers_ms):
    """Return a cell with our time and others', all verified."""
    contenders = {"haloscope auto": {"median_ms": ours_ms}} | {
        f"{key} filter": {"median_ms": ms, "over_auto": ms / ours_ms} for key, ms in peers_ms.items()
    }
    return {"cell": {"width": 64, "height": 32}, "contenders": contenders}


def make_run():
    """Return a run of three masks: one library is the fastest of the others, and once faster than ours."""
    cells = {
        "a": timed(1.0, opencv=2.0, scipy=9.0),
        "b": timed(1.0, opencv=3.0, scipy=9.0),
        "c": timed(4.0, opencv=2.0, scipy=9.0),
    }
    table = {"name": "main", "title": "", "cells": list(cells), "labels": ["3 × 3", "9 × 9", "15 × 15"]}
    machine = {"device": "a CPU"}
    return {"device_kind": "cpu", "date": "2026-01-02", "machine": machine, "tables": [table], "cells": cells}


def processes():
    """Return two rows: in the first one ours and OpenCV, in the second one ours alone."""

    def row(title, **seconds):
        found = {key: {"elapsed_s": [time], "peak_bytes": [10**6]} for key, time in seconds.items()}
        return {"key": title, "title": title, "contenders": found}

    rows = [row("filter", **{OURS: 1.0, OPENCV: 2.0}), row("list", **{OURS: 3.0})]
    return {"machine": {"device": "a CPU"}, "date": "2026-01-02", "rows": rows}


def figures():
    cells = {side: {"kernel_us": 10.0 * int(side)} for side in ("3", "15")}
    return {"device": "a GPU", "variants": {key: {"float32, 1 channel": cells} for key in VARIANTS}}


def test_that_the_answer_counts_problems_in_which_we_lead():
    assert "in 2 of 3 problems, by a factor of 0.5 to 3.0" in library_answer(make_run()).lines[0]


def test_that_a_kind_of_problem_has_one_row_with_the_fastest_other_library():
    assert library_answer(make_run()).lines[2:] == [
        "| picture and mask | 3 × 3 | 9 × 9 | 15 × 15 | fastest other library |",
        "|---|---:|---:|---:|---|",
        "| float32, any mask, 64 × 32 | 2.00 / 1.00 = **2.0** | 3.00 / 1.00 = **3.0** | "
        "2.00 / 4.00 = **0.5** | opencv filter |",
    ]


def test_that_only_rows_with_another_program_are_compared():
    assert process_answer(processes()).lines[2:] == [
        "| what a person does | Haloscope | OpenCV in ten lines |",
        "|---|---:|---:|",
        "| filter | 1.00 s, 1 MB | 2.00 s, 1 MB |",
    ]


def test_that_the_longest_time_without_a_response_is_named():
    assert window_answer(WINDOW).lines[-1] == "| the window does not respond: a run | | 37 ms |"


def test_that_variants_have_a_column_per_mask():
    assert variant_answer(figures()).lines[2:5] == [
        "| variant | 3 × 3 | 15 × 15 |",
        "|---|---:|---:|",
        "| `naive` | 30 | 150 |",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("figure", "shown"),
    [
        (process_figure(processes()), "OpenCV in ten lines"),
        (window_figure(WINDOW), "the aim"),
        (variant_figure(figures()), "separable-fused"),
    ],
    ids=["processes", "edits", "variants"],
)
def test_that_a_figure_names_what_it_shows(figure, shown):
    assert shown.encode() in figure.svg()


@pytest.mark.slow
def test_that_the_same_results_give_the_same_figure():
    assert window_figure(WINDOW).svg() == window_figure(WINDOW).svg()

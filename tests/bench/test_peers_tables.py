"""Runs of the benchmark beside peers with made-up figures: ratios, tables, and the check of a fall."""

import json

import pytest

from bench.check import checked, report
from bench.markers import put_between
from bench.peers.__main__ import as_text
from bench.peers.cells import Cell
from bench.peers.grid import Table
from bench.peers.plot import svg_of
from bench.peers.summary import (
    Fall,
    append,
    behind_best,
    compared,
    falls,
    last_of,
    limit_ms,
    limits_of,
    line_of,
    ratios,
    ratios_of,
)

CELLS = (Cell(64, 64, 3), Cell(64, 64, 5))
TABLE = Table("main", "Mask size", "mask_side", CELLS)


def timed(median_ms, *, spread=0.01):
    """Return a contender that was verified and timed."""
    return {
        "verified": "within the rounding bound, every pixel", "note": "", "reason": "",
        "median_ms": median_ms, "minimum_ms": median_ms * (1 - spread),
        "p20_ms": median_ms * (1 - spread / 2), "p80_ms": median_ms * (1 + spread / 2), "samples": 5,
        "runs_a_sample": 3, "clock": "host clock",
    }  # fmt: skip


def entry(cell, **medians_ms):
    """Return a cell's entry; `haloscope_auto=1.0` is "haloscope auto", a text says why there is no time."""
    auto = medians_ms.get("haloscope_auto")
    contenders = {}
    for name, value in medians_ms.items():
        untimed = {"verified": "", "note": "", "reason": value}
        made = untimed if isinstance(value, str) else timed(value)
        if isinstance(auto, float) and isinstance(value, float):
            made["over_auto"] = value / auto
        contenders[name.replace("_", " ", 1)] = made
    return {"cell": cell.as_json(), "contenders": contenders}


def make_run():
    """Return a run of two cells: one peer is slower, one is wrong with 3 x 3 and faster with 5 x 5."""
    first = entry(
        CELLS[0], limit_copy=0.5, haloscope_auto=1.0, opencv_filter2D=2.5, npp_filter="not verified: row 0"
    )
    second = entry(CELLS[1], limit_copy=0.5, haloscope_auto=2.0, opencv_filter2D=4.0, npp_filter=1.0)
    versions = {"limit": {"numpy": "2"}, "haloscope": {"numba": "1"}}
    return {
        "date": "2026-01-02", "commit": "abc123", "device_kind": "cpu", "grid": "quick", "took_s": 3,
        "machine": {"device": "a CPU, 2 cores", "threads": 2, "facts": ["a fact"]},
        "libraries": {
            key: {"title": key.capitalize(), "versions": found, "threads": 2, "notes": {}}
            for key, found in versions.items()
        },
        "absent": {"torch": "not installed (torch)"},
        "tables": [
            {"name": "main", "title": "Mask size", "axis_title": "mask", "labels": ["3 × 3", "5 × 5"],
             "cells": [cell.key for cell in CELLS]},
        ],
        "cells": {CELLS[0].key: first, CELLS[1].key: second},
    }  # fmt: skip


def test_that_ratios_need_both_times():
    run = make_run()
    assert ratios(run["cells"][CELLS[0].key]) == {"opencv filter2D": 2.5}
    assert ratios(run["cells"][CELLS[1].key]) == {"opencv filter2D": 2.0, "npp filter": 0.5}
    assert ratios(entry(CELLS[0], opencv_filter2D=1.0, haloscope_auto="not verified: x")) == {}
    assert behind_best(entry(CELLS[0], haloscope_auto=1.2, haloscope_tiled=1.0, npp_filter=0.1)) == 1.2
    assert behind_best(entry(CELLS[0], haloscope_tiled=1.0)) is None
    assert ratios_of({"c": entry(FIRST, haloscope_auto=1.0)}) == {}


SAMPLES = 64 * 64


def test_that_the_limit_is_the_copy_or_the_multiply_adds_whichever_takes_longer():
    for rates, limit in [
        ({}, 0.5),
        ({"multiply_adds_per_s": 25 * SAMPLES / 2e-3}, 2.0),
        # The bytes of a picture and its result at the bandwidth of a smaller picture's copy, where that is
        # faster.
        ({"copies": [(4 * SAMPLES, 8 * SAMPLES / 0.25e-3)]}, 0.25),
        ({"copies": [(4 * SAMPLES + 1, 8 * SAMPLES / 0.25e-3)]}, 0.5),
    ]:
        assert limit_ms(entry(CELLS[1], limit_copy=0.5), rates) == pytest.approx(limit)
        assert limit_ms(entry(CELLS[1], haloscope_auto=1.0), {}) is None


def test_that_copies_count_that_no_cache_had_a_part_in():
    run = make_run()
    picture_bytes = 4 * 64 * 64
    for notes in ({}, {"l2_bytes": picture_bytes}):
        run["libraries"]["limit"]["notes"] = notes
        assert limits_of(run)["copies"] == []
    run["libraries"]["limit"]["notes"] = {"l2_bytes": picture_bytes // 4}
    assert limits_of(run)["copies"] == [(picture_bytes, pytest.approx(2 * picture_bytes / 0.5e-3))] * 2


def test_that_a_kept_file_has_a_line_for_each_cell():
    run = make_run()
    text = as_text(run)
    assert json.loads(text) == run
    assert sum("haloscope auto" in line for line in text.splitlines()) == len(run["cells"])


def test_that_only_what_stands_between_the_markers_is_replaced(tmp_path):
    document = tmp_path / "document.md"
    text = "before\n<!-- peers:cpu -->{}<!-- /peers:cpu -->\nafter <!-- peers:gpu --><!-- /peers:gpu -->\n"
    document.write_text(text.format("\nold\n"))
    for _ in range(2):
        put_between(document, "peers:cpu", ["new"])
        assert document.read_text() == text.format("\n\nnew\n\n")


def test_that_a_document_without_its_markers_stays_as_it_is(tmp_path):
    for text in ["no marker", "<!-- a -->", "<!-- /a --> <!-- a -->", "<!-- a --><!-- a --><!-- /a -->"]:
        document = tmp_path / "document.md"
        document.write_text(text)
        with pytest.raises(LookupError, match="needs one"):
            put_between(document, "a", ["new"])
        assert document.read_text() == text


@pytest.mark.slow
def test_that_a_plot_has_a_line_for_each_contender():
    run = make_run()
    svg = svg_of(run, run["tables"][0])
    for name in (b"haloscope auto", b"opencv filter2D", b"npp filter", b"limit"):
        assert name in svg
    assert b"<text" in svg
    assert b"<dc:date>" not in svg
    assert svg == svg_of(run, run["tables"][0])


FIRST, SECOND = CELLS
RECORDED = {
    FIRST.key: {"opencv filter2D": 2.0, "npp filter": 3.0},
    SECOND.key: {"opencv filter2D": 4.0},
    "a cell of the full grid": {"opencv filter2D": 9.0},
}


class Measured:
    """Gives made-up times of `auto` against peers that take 1 ms, one answer after another."""

    def __init__(self, *answers):
        self._answers = list(answers)
        self.asked: list[tuple[list[Cell], set[str]]] = []

    def cells(self, cells, methods):
        self.asked.append((cells, methods))
        answer = self._answers.pop(0)
        return {cell.key: entry(cell, **answer[cell]) for cell in cells}


def at(ratio, **more):
    return {"haloscope_auto": 1.0, "opencv_filter2D": ratio} | more


def test_that_a_line_of_the_history_has_ratios_only():
    line = line_of(make_run())
    assert line["ratios"] == {
        FIRST.key: {"opencv filter2D": 2.5},
        SECOND.key: {"opencv filter2D": 2.0, "npp filter": 0.5},
    }
    assert line["device"] == "a CPU, 2 cores"
    assert line["versions"]["haloscope"] == {"numba": "1"}
    assert "_ms" not in str(line)


def test_that_a_fall_is_more_than_a_tenth_of_the_last_line_of_the_same_device(tmp_path):
    history = tmp_path / "history.jsonl"
    assert last_of("A", 2, history) is None
    for device, threads, commit in (("A", 2, "1"), ("A", 2, "2"), ("B", 2, "3"), ("A", 4, "4")):
        append({"device": device, "threads": threads, "commit": commit}, history)
    found = last_of("A", 2, history)
    assert found["commit"] == "2"
    assert last_of("B", 4, history) is None
    recorded = {"c": {"p": 10.0, "q": 10.0, "r": 10.0, "gone": 10.0}}
    measured = {"c": {"p": 9.01, "q": 8.99, "r": 12.0, "new": 1.0}}
    assert falls(recorded, measured) == [Fall("c", "q", 10.0, 8.99)]
    assert compared(recorded, measured) == 3


def test_that_nothing_falls_where_ratios_stay():
    measured = Measured({FIRST: at(1.9, npp_filter=3.3), SECOND: at(4.0)})
    outcome = checked(RECORDED, (FIRST, SECOND, Cell(8, 8, 3)), measured.cells)
    assert (outcome.falls, outcome.forgiven, outcome.broken) == ([], [], [])
    assert outcome.compared == 3
    # Only recorded cells, and only those who matter in them.
    ((cells, methods),) = measured.asked
    assert cells == [FIRST, SECOND]
    assert methods == {"haloscope auto", "limit copy", "opencv filter2D", "npp filter"}


def test_that_a_fall_is_told_if_it_stays_when_measured_once_more():
    first = {FIRST: at(1.0, npp_filter=3.0), SECOND: at(4.0)}
    fall = Fall(FIRST.key, "opencv filter2D", 2.0, 1.0)
    measured = Measured(first, {FIRST: at(1.1, npp_filter=2.9)})
    outcome = checked(RECORDED, CELLS, measured.cells)
    assert outcome.falls == [Fall(FIRST.key, "opencv filter2D", 2.0, 1.1)]
    assert [cells for cells, _ in measured.asked] == [[FIRST, SECOND], [FIRST]]
    lines = report(outcome, RECORDED)
    assert [line for line in lines if "fell by more than a tenth" in line and "opencv" in line]
    outcome = checked(RECORDED, CELLS, Measured(first, {FIRST: at(2.0, npp_filter=1.0)}).cells)
    assert (outcome.falls, outcome.forgiven) == ([], [fall])
    assert any("better when repeated" in line for line in report(outcome, RECORDED))


def test_that_a_result_that_is_no_longer_verified_is_no_silence():
    broken: dict[str, float | str] = {"haloscope_auto": "not verified: row 1", "opencv_filter2D": 2.0}
    outcome = checked(RECORDED, CELLS, Measured({FIRST: broken, SECOND: at(4.0)}).cells)
    assert outcome.broken == [f"{FIRST.key}: not verified: row 1"]
    assert outcome.compared == 1

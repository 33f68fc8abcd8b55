"""Runs of the benchmark beside peers with made-up figures."""

from typing import Any

from bench.peers.cells import Cell
from bench.peers.grid import Table

CELLS = (Cell(64, 64, 3), Cell(64, 64, 5))
TABLE = Table("main", "Mask size", "mask_side", CELLS)


def timed(median_ms: float, *, spread: float = 0.01) -> dict[str, Any]:
    """Return a contender that was verified and timed."""
    return {
        "verified": "within the rounding bound, every pixel", "note": "", "reason": "",
        "median_ms": median_ms, "minimum_ms": median_ms * (1 - spread),
        "p20_ms": median_ms * (1 - spread / 2), "p80_ms": median_ms * (1 + spread / 2), "samples": 5,
        "runs_a_sample": 3, "clock": "host clock",
    }  # fmt: skip


def entry(cell: Cell, **medians_ms: float | str) -> dict[str, Any]:
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


def make_run() -> dict[str, Any]:
    """Return a run of two cells: one peer is slower, one is wrong with 3 x 3 and faster with 5 x 5."""
    first = entry(
        CELLS[0], limit_copy=0.5, haloscope_auto=1.0, opencv_filter2D=2.5, npp_filter="not verified: row 0"
    )
    second = entry(CELLS[1], limit_copy=0.5, haloscope_auto=2.0, opencv_filter2D=4.0, npp_filter=1.0)
    return {
        "date": "2026-01-02",
        "commit": "abc123",
        "device_kind": "cpu",
        "grid": "quick",
        "machine": {"device": "a CPU, 2 cores", "threads": 2, "facts": ["a fact"]},
        "libraries": {
            "limit": {"title": "limit", "versions": {"numpy": "2"}, "threads": 2, "notes": {}},
            "haloscope": {"title": "Haloscope", "versions": {"numba": "1"}, "threads": 2, "notes": {}},
        },
        "absent": {"torch": "not installed (torch)"},
        "took_s": 3,
        "tables": [
            {
                "name": "main",
                "title": "Mask size",
                "axis_title": "mask",
                "cells": [cell.key for cell in CELLS],
                "labels": ["3 x 3", "5 x 5"],
            }
        ],
        "cells": {CELLS[0].key: first, CELLS[1].key: second},
    }

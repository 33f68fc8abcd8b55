"""Measures the table of a device that `auto` chooses by; run by `python -m bench.auto --write`."""

import json
import re
import time
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np

from bench.auto_grid import (
    BORDERS,
    CHANNELS,
    COST_KINDS,
    PICTURE_SIDES,
    TYPES,
    able,
    best_ms,
    border_counts,
    cost_rows,
    is_too_long,
    mask_of,
    picture_of,
    time_ms,
)
from engine.device.backend import Backend
from engine.device.core_count import cores
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.run.resolve import describe_problem
from engine.variants.auto.costs import CORE_MULTIPLY_ADDS_G_S, Rates, cost_table, kind_of, table_path
from engine.variants.digit_sums.digit_sums import VARIANT as DIGIT_SUMS

MASK_SIDES = (3, 5, 7, 9, 15, 23, 31, 63)


def write_table(machine: Backend, only: set[str], *, keep_shorter: bool = False) -> None:
    """Measure the grid and put it into the table; rows of variants that were not asked for stay.

    With `keep_shorter` a time that the table has stays where it is shorter: what else runs on a machine only
    ever adds.
    """
    kind = machine.info.kind
    path = table_path(kind)
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    times = measured_table(machine, only)
    environment = machine.environment()
    facts = machine.info.facts
    rates = Rates(copy_gb_s(machine), CORE_MULTIPLY_ADDS_G_S * cores())
    if kind == "cuda":
        clock_ghz = float(facts["clock"].split()[0]) / 1e3
        rates = rates._replace(multiply_adds_g_s=int(facts["multiprocessors"]) * 128 * clock_ghz)
    known = before.get("times_us", {})
    if keep_shorter:
        times = {key: _shorter(found, known.get(key)) for key, found in times.items()}
    old = known if only else {}
    table = {
        "from": f"python -m bench.auto --device {kind} --write, {environment.device}, commit "
        f"{environment.commit}",
        "rates": {
            "copy_gb_s": float(f"{rates.copy_gb_s:.4g}"),
            "multiply_adds_g_s": float(f"{rates.multiply_adds_g_s:.5g}"),
        },
        "picture_sides": PICTURE_SIDES,
        "mask_sides": MASK_SIDES,
        "times_us": old | times,
    }
    path.write_text(as_text(table), encoding="utf-8")
    cost_table.cache_clear()


def measured_table(machine: Backend, only: set[str]) -> dict[str, Any]:
    """Return the grid of the table of one device: times of each variant's masks."""
    times: dict[str, dict[str, list[list[float | None]]]] = {}
    for (dtype, result), channels, picture_side in product(TYPES, CHANNELS, PICTURE_SIDES):
        samples = picture_of(dtype, picture_side, channels)
        for border in BORDERS:
            kind = kind_of(dtype, channels, has_ghost_cells=border.has_ghost_cells, result_dtype=result)
            rows = _measured_rows(machine, samples, result, border, only)
            for key, row in rows.items():
                times.setdefault(key, {}).setdefault(kind, []).append(row)
            print(f"{kind}, {picture_side}: {', '.join(rows)}", flush=True)
    return times


def _measured_rows(
    machine: Backend, samples: np.ndarray, result: str, border: Border, only: set[str]
) -> dict[str, list[float | None]]:
    """Return rows of times, one time a mask side, microseconds."""
    rows: dict[str, list[float | None]] = {}
    for (place, mask_side), kind in product(enumerate(MASK_SIDES), COST_KINDS):
        if kind == "many digits" and (result != "uint8" or mask_side**2 > DIGIT_SUMS.most_cells):
            continue
        mask = mask_of(kind, mask_side)
        problem = describe_problem(samples, mask, border, 0.0, result)
        for known in able(problem, mask, machine):
            name = cost_rows(known).get(kind)
            is_asked = name is not None and (not only or known.key in only)
            if not is_asked or (border.has_ghost_cells and not border_counts(known)):
                continue
            row = rows.setdefault(name, [None] * len(MASK_SIDES))
            if not is_too_long(known, problem):
                found = best_ms(known, problem, mask, samples, machine)
                row[place] = found and float(f"{found * 1e3:.4g}")
    return rows


def _shorter(found: Any, known: Any) -> Any:
    """Return the shorter of two times, of nested lists and dicts of such; what one lacks is the other's."""
    if isinstance(found, dict):
        return {key: _shorter(value, (known or {}).get(key)) for key, value in found.items()}
    if isinstance(found, list):
        rows = known if known is not None and len(known) == len(found) else [None] * len(found)
        return [_shorter(*pair) for pair in zip(found, rows, strict=True)]
    return min((time for time in (found, known) if time is not None), default=None)


def copy_gb_s(machine: Backend) -> float:
    """Return the bandwidth of a copy: bytes read and written, GB/s; of one thread on the CPU."""
    side = 4096
    if machine.info.kind == "cpu":
        source, target = np.ones((side, side), np.float32), np.empty((side, side), np.float32)
        best = min(_seconds(lambda: np.copyto(target, source)) for _ in range(7))
        return 2 * source.nbytes / best / 1e9
    from engine.course.copy_variant import COPY

    samples = picture_of("float32", side, 1)
    mask = Mask([[1.0]])
    problem = describe_problem(samples, mask, Border.ZERO, 0.0)
    found = min(time_ms(COPY, problem, mask, samples, machine))
    return 2 * samples.nbytes / found / 1e6


def _seconds(work: Callable[[], None]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def as_text(tables: dict[str, Any]) -> str:
    """Return the tables as JSON, one row of times per line."""
    marked = json.dumps(_rows_as_text(tables), indent=1)
    return re.sub(r'"(\[[0-9e.,+\- nul]*\])"', r"\1", marked) + "\n"


def _rows_as_text(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rows_as_text(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        is_row = all(inner is None or isinstance(inner, int | float) for inner in value)
        return json.dumps(list(value)) if is_row else [_rows_as_text(inner) for inner in value]
    return value

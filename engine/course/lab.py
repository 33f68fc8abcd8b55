"""The lab's speed-ups of separable convolution, and its two figures."""

import itertools

import numpy as np

from engine.course.cells import Quantity, course_table
from engine.course.paper import CourseTable, Figure, Series
from engine.course.papers import TABLE_TEXTS, paper
from engine.course.runs import FilterRun, Results, Run
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.mask.resolve import resolve_mask

LAB = paper("lab")
MASK = LAB.kernels[0].here.mask
SIZES = (256, 512, 1024, 2048, 3072, 4096, 5120, 10240)
LEVELS = {"L0": "separable-l0", "L1": "separable-l1", "L2": "separable-l2"}
SERIAL = "cpu-serial"
BLOCK = Block(16, 16)


def _row_and_column(mask: Mask) -> tuple[Mask, Mask]:
    """Return the row and the column whose product is a separable mask with weights that sum to 1."""
    row, column = mask.weights.sum(axis=0), mask.weights.sum(axis=1)
    return (
        Mask(row[np.newaxis, :], (0, mask.anchor[1]), name=f"{mask.name}, its row"),
        Mask(column[:, np.newaxis], (mask.anchor[0], 0), name=f"{mask.name}, its column"),
    )


def _steps(size: int) -> tuple[tuple[Run, ...], ...]:
    """Return the runs whose times add up to that of the serial algorithm (one per pass), of L0, L1 and L2."""
    mask = resolve_mask(MASK)
    serial = (FilterRun(variant=SERIAL, mask=one, width=size, height=size) for one in _row_and_column(mask))
    levels = (
        FilterRun(variant=key, mask=mask, width=size, height=size, block=BLOCK) for key in LEVELS.values()
    )
    return tuple(serial), *((run,) for run in levels)


def runs(sizes: tuple[int, ...] | None) -> tuple[Run, ...]:
    """Return what table and figures need."""
    return tuple(run for size in sizes or SIZES for step in _steps(size) for run in step)


def tables(results: Results, sizes: tuple[int, ...] | None) -> tuple[CourseTable, ...]:
    """Return the first figure with its numbers as a table, and table 1 with the second figure."""
    times_ms = {}
    for size in sizes or SIZES:
        (first, second), *levels = _steps(size)
        serial_ms = results.value(first) + results.value(second)
        times_ms[size] = [serial_ms, *(results.value(run) for (run,) in levels)]
    return _times(times_ms), _speed_ups(times_ms)


def _curves(curves: dict[str, str], values: dict[int, list[Quantity]]) -> tuple[Series, ...]:
    """Return a curve over the sizes for each (name, variant) of the columns of values."""
    x = tuple(map(float, values))
    columns = zip(*values.values(), strict=True)
    return tuple(
        Series(name, x, tuple(value.number for value in column), key)
        for (name, key), column in zip(curves.items(), columns, strict=True)
    )


def _times(times_ms: dict[int, list[Quantity]]) -> CourseTable:
    return course_table(
        LAB,
        0,
        (((size,), values) for size, values in times_ms.items()),
        figure=Figure(
            "Execution Time vs. Image Size",
            "Image size (pixels per side)",
            "Execution time (ms)",
            _curves({"Serial": SERIAL} | LEVELS, times_ms),
            log_y=True,
        ),
    )


def _speed_ups(times_ms: dict[int, list[Quantity]]) -> CourseTable:
    here = {
        size: [before / after for before, after in itertools.pairwise(times)]
        for size, times in times_ms.items()
    }
    printed = TABLE_TEXTS[LAB][1].printed
    in_paper = {
        size: [Quantity(float(text)) for text in printed[str(size)]] for size in here if str(size) in printed
    }
    return course_table(
        LAB,
        1,
        (((size,), values) for size, values in here.items()),
        figure=Figure(
            "Speed-Up vs. Image Size per Level",
            "Image size (pixels per side)",
            "Speed-up over the level before",
            _curves(LEVELS, here),
            _curves(LEVELS, in_paper) if in_paper else (),
            log_y=True,
        ),
    )

"""The lab's speed-ups of separable convolution, and its two figures.

Printed values are those of Gary R. Roberts, Jr., "CUDA: Convolution", University of the Pacific, 2017, table
1.
"""

import itertools

import numpy as np

from engine.course.cells import Quantity, course_table, row
from engine.course.paper import CourseTable, Figure, Series
from engine.course.papers import paper
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

# size: L0 over serial, L1 over L0, L2 over L1.
PRINTED_SPEED_UPS = {
    256: ("24.32", "1.09", "1.04"),
    512: ("32.78", "1.21", "1.06"),
    1024: ("44.59", "1.14", "1.07"),
    2048: ("52.37", "0.97", "1.16"),
    3072: ("50.76", "1.29", "0.95"),
    4096: ("54.22", "1.15", "0.99"),
    5120: ("50.05", "1.23", "0.97"),
    10240: ("54.15", "1.18", "1.02"),
}


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
        "Size | Serial (ms) | L0 (ms) | L1 (ms) | L2 (ms)",
        (row((size,), values) for size, values in times_ms.items()),
        f"The lab does not state its mask. Here it is {MASK}: 17 x 17, two passes of 17 multiply-adds "
        "instead of one of 289.",
        "Serial is the sum of two runs of `cpu-serial`, with the mask's row and with its column, each "
        "verified on its own; the time does not depend on the picture's content.",
        f"The lab's blocks have 256 threads; here they are {BLOCK}. Times are medians of both passes "
        "together, without copies.",
        "The paper draws this figure and does not print its numbers.",
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
    in_paper = {
        size: [Quantity(float(text)) for text in PRINTED_SPEED_UPS[size]]
        for size in here
        if size in PRINTED_SPEED_UPS
    }
    return course_table(
        LAB,
        1,
        "Size | L0 | L1 | L2",
        (row((size,), values, PRINTED_SPEED_UPS.get(size, ())) for size, values in here.items()),
        "L0 is its speed-up over the serial algorithm, L1 over L0, L2 over L1.",
        'The lab says that L0 ranges "from 20% ... to 50%"; its table has factors of 24 to 54.',
        'The lab says that L1 "consistently provided a 9-30% boost"; at 2048 its table has 0.97, a loss.',
        "The lab says that L2 is worth it for small images and not for large ones; at 10240 its table has "
        "1.02.",
        figure=Figure(
            "Speed-Up vs. Image Size per Level",
            "Image size (pixels per side)",
            "Speed-up over the level before",
            _curves(LEVELS, here),
            _curves(LEVELS, in_paper) if in_paper else (),
            log_y=True,
        ),
    )

"""The lab's speed-ups of separable convolution, and its two figures.

Printed values are those of Gary R. Roberts, Jr., "CUDA: Convolution", University of the Pacific, 2017, table 1.
"""

import itertools

import numpy as np

from engine.course.cells import measured, named, ratio
from engine.course.paper import CourseTable, Figure, Series
from engine.course.papers import LAB, LAB_MASK
from engine.course.runs import FilterRun, Results, Run
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.mask.resolve import resolve_mask

SIZES = (256, 512, 1024, 2048, 3072, 4096, 5120, 10240)
LEVELS = ("L0", "L1", "L2")
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


def row_and_column(mask: Mask) -> tuple[Mask, Mask]:
    """Return the row and the column whose product is a mask that is a product and whose weights sum to 1."""
    row = Mask(mask.weights.sum(axis=0)[np.newaxis, :], (0, mask.anchor[1]), name=f"{mask.name}, its row")
    column = Mask(
        mask.weights.sum(axis=1)[:, np.newaxis], (mask.anchor[0], 0), name=f"{mask.name}, its column"
    )
    return row, column


def _serial(size: int) -> tuple[Run, ...]:
    """Return the serial two-pass algorithm: one run with the mask's row, one with its column."""
    return tuple(
        FilterRun(variant=SERIAL, mask=mask, width=size, height=size)
        for mask in row_and_column(resolve_mask(LAB_MASK))
    )


def _level(name: str, size: int) -> Run:
    return FilterRun(
        variant=f"separable-{name.lower()}",
        mask=resolve_mask(LAB_MASK),
        width=size,
        height=size,
        block=BLOCK,
    )


def _steps(size: int) -> tuple[tuple[Run, ...], ...]:
    """Return the runs whose times add up to that of the serial algorithm, of L0, L1 and L2."""
    return (_serial(size), *((_level(name, size),) for name in LEVELS))


def runs(sizes: tuple[int, ...] | None) -> tuple[Run, ...]:
    """Return what table and figures need."""
    return tuple(itertools.chain.from_iterable(itertools.chain(*(_steps(size) for size in sizes or SIZES))))


def tables(results: Results, sizes: tuple[int, ...] | None) -> tuple[CourseTable, ...]:
    """Return the first figure with its numbers as a table, and table 1 with the second figure."""
    wanted = sizes or SIZES
    times_ms = {size: [_total_ms(results, step) for step in _steps(size)] for size in wanted}
    return _times(results, times_ms), _speed_ups(results, times_ms)


def _total_ms(results: Results, step: tuple[Run, ...]) -> float | None:
    parts = [results.value(run, "kernel_ms") for run in step]
    return None if None in parts else sum(part for part in parts if part is not None)


def _curve(name: str, variant: str, x: tuple[int, ...], y: list[float | None]) -> Series:
    return Series(name, tuple(map(float, x)), tuple(y), variant)


def _times(results: Results, times_ms: dict[int, list[float | None]]) -> CourseTable:
    sizes = tuple(times_ms)
    names = ("Serial", *LEVELS)
    keys = (SERIAL, *(f"separable-{name.lower()}" for name in LEVELS))
    rows = tuple(
        (
            *named(str(size)),
            *(
                measured(time_ms, results.first_fault(*step))
                for time_ms, step in zip(times_ms[size], _steps(size), strict=True)
            ),
        )
        for size in sizes
    )
    curves = tuple(
        _curve(name, key, sizes, [times_ms[size][number] for size in sizes])
        for number, (name, key) in enumerate(zip(names, keys, strict=True))
    )
    return CourseTable(
        LAB.tables[0],
        ("Size", *(f"{name} (ms)" for name in names)),
        rows,
        (
            f"The lab does not state its mask. Here it is {LAB_MASK}: 17 x 17, two passes of 17 multiply-adds instead of "
            "one of 289.",
            "Serial is the sum of two runs of `cpu-serial`, with the mask's row and with its column, each verified by "
            "itself on the picture; its time does not depend on what the picture holds.",
            f"The lab's blocks have 256 threads; here they are {BLOCK}. Times are medians of both passes together, "
            "without copies.",
            "The paper draws this figure and does not print its numbers.",
        ),
        Figure(
            "Execution Time vs. Image Size",
            "Image size (pixels a side)",
            "Execution time (ms)",
            curves,
            log_y=True,
        ),
    )


def _speed_ups(results: Results, times_ms: dict[int, list[float | None]]) -> CourseTable:
    sizes = tuple(times_ms)
    rows, here = [], {}
    for size in sizes:
        steps, times = _steps(size), times_ms[size]
        here[size] = [ratio(before, after) for before, after in itertools.pairwise(times)]
        cells = [
            measured(faster, results.first_fault(*steps[number], *steps[number + 1]), printed)
            for number, (faster, printed) in enumerate(
                zip(here[size], PRINTED_SPEED_UPS.get(size, ("",) * 3), strict=True)
            )
        ]
        rows.append((*named(str(size)), *cells))
    curves = tuple(
        _curve(name, f"separable-{name.lower()}", sizes, [here[size][number] for size in sizes])
        for number, name in enumerate(LEVELS)
    )
    in_paper = tuple(size for size in sizes if size in PRINTED_SPEED_UPS)
    printed_curves = tuple(
        _curve(
            name,
            f"separable-{name.lower()}",
            in_paper,
            [float(PRINTED_SPEED_UPS[s][number]) for s in in_paper],
        )
        for number, name in enumerate(LEVELS)
    )
    return CourseTable(
        LAB.tables[1],
        ("Size", *LEVELS),
        tuple(rows),
        (
            "L0 is its speed-up over the serial algorithm, L1 over L0, L2 over L1.",
            'The lab says that L0 ranges "from 20% ... to 50%"; its table has factors of 24 to 54.',
            'The lab says that L1 "consistently provided a 9-30% boost"; at 2048 its table has 0.97, a loss.',
            "The lab says that L2 is worth it for small images and not for large ones; at 10240 its table has 1.02.",
        ),
        Figure(
            "Speed-Up vs. Image Size per Level",
            "Image size (pixels a side)",
            "Speed-up over the level before",
            curves,
            printed_curves if in_paper else (),
            log_y=True,
        ),
    )

"""The lab's speed-ups of separable convolution, its two figures, and what two passes save."""

import itertools
from collections.abc import Iterator

from engine.course.paper import CourseTable, Figure, Series
from engine.course.papers import TABLE_TEXTS, paper
from engine.course.runs import AttributesRun, Quantity, Results, Row, Run, Tables, course_table, filter_run
from engine.geometry.block import FLOAT_BYTES, Block
from engine.mask.presets import resolve_mask
from engine.work.filtering.variants import variant
from engine.work.problem import Problem

LAB = paper("lab")
MASK = LAB.kernels[0].mask
SIZES = (256, 512, 1024, 2048, 3072, 4096, 5120, 10240)
LEVELS = {"L0": "separable-l0", "L1": "separable-l1", "L2": "separable-l2"}
SERIAL, ONE_PASS = "cpu-separable-serial", "cpu-serial"
BLOCK = Block(16, 16)
ATTRIBUTES = AttributesRun()
# Sides of the masks and of the picture whose operations and loads are counted.
COUNTED_MASKS, COUNTED_SIZE = (3, 5, 9, 17), 1024


def _runs(size: int) -> tuple[Run, ...]:
    """Return the runs of the serial algorithm, of L0, L1 and L2."""
    mask = resolve_mask(MASK)
    serial = filter_run(variant=SERIAL, mask=mask, width=size, height=size)
    levels = (
        filter_run(variant=key, mask=mask, width=size, height=size, block=BLOCK) for key in LEVELS.values()
    )
    return serial, *levels


def runs(sizes: tuple[int, ...] | None) -> tuple[Run, ...]:
    """Return what table and figures need."""
    return (ATTRIBUTES, *(run for size in sizes or SIZES for run in _runs(size)))


def tables(results: Results, sizes: tuple[int, ...] | None) -> Tables:
    """Return the first figure with its numbers as a table, table 1 with the second figure, and the counts."""
    times_ms = {size: [results.value(run) for run in _runs(size)] for size in sizes or SIZES}
    l2_bytes = results.value(ATTRIBUTES, "l2_bytes")
    if l2_bytes.number == 0:
        l2_bytes = Quantity(reason="The driver does not state the size of its L2 cache.")
    return _times(times_ms), _speed_ups(times_ms, l2_bytes), _passes()


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


def _speed_ups(times_ms: dict[int, list[Quantity]], l2_bytes: Quantity) -> CourseTable:
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
        (((size,), (*values, 100.0 * FLOAT_BYTES * size * size / l2_bytes)) for size, values in here.items()),
        figure=Figure(
            "Speed-Up vs. Image Size per Level",
            "Image size (pixels per side)",
            "Speed-up over the level before",
            _curves(LEVELS, here),
            _curves(LEVELS, in_paper) if in_paper else (),
            log_y=True,
        ),
    )


def _passes() -> Iterator[Row]:
    """Yield multiply-adds and global loads per result, in one pass and in two, by the models of work."""
    for side in COUNTED_MASKS:
        problem = Problem(COUNTED_SIZE, COUNTED_SIZE, mask_shape=(side, side), anchor=(side // 2, side // 2))
        one, two, *levels = (
            variant(key).work(problem, BLOCK) for key in (ONE_PASS, SERIAL, *LEVELS.values())
        )
        operations = (work.flops // 2 // problem.samples for work in (one, two))
        loads = (work.global_loads / problem.samples for work in (one, *levels))
        yield ((f"{side} × {side}",), (*operations, *loads))

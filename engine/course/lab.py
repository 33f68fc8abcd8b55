"""The lab's speed-ups of separable convolution, its two figures, and what two passes save."""

import itertools

from engine.course.paper import Figure, Series
from engine.course.papers import TABLE_TEXTS, paper
from engine.course.runs import AttributesRun, Quantity, Results, Row, Sizes, Tables, Told, filter_run
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


def tables(results: Results, sizes: Sizes) -> Tables:
    """Yield the first figure with its numbers as a table, table 1 with the second figure, and the counts."""
    mask, x_label = resolve_mask(MASK), "Image size (pixels per side)"
    times_ms: dict[int, list[Quantity]] = {}
    for size in sizes or SIZES:
        serial = filter_run(mask, SERIAL, size, size)
        runs = [filter_run(mask, key, size, size, block=BLOCK) for key in LEVELS.values()]
        times_ms[size] = [results.value(run) for run in (serial, *runs)]
    curves = _curves({"Serial": SERIAL} | LEVELS, times_ms)
    figure = Figure("Execution Time vs. Image Size", x_label, "Execution time (ms)", curves, log_y=True)
    yield Told([((size,), values) for size, values in times_ms.items()], figure=figure)

    l2_bytes = results.value(ATTRIBUTES, "l2_bytes")
    if l2_bytes.number == 0:
        l2_bytes = Quantity(reason="The driver does not state the size of its L2 cache.")
    here = {
        size: [before / after for before, after in itertools.pairwise(times)]
        for size, times in times_ms.items()
    }
    printed = TABLE_TEXTS[LAB][1].printed
    in_paper = {
        size: [Quantity(float(text)) for text in printed[str(size)]] for size in here if str(size) in printed
    }
    rows: list[Row] = [
        ((size,), (*values, 100.0 * FLOAT_BYTES * size * size / l2_bytes)) for size, values in here.items()
    ]
    curves, of_paper = _curves(LEVELS, here), _curves(LEVELS, in_paper) if in_paper else ()
    title = "Speed-Up vs. Image Size per Level"
    figure = Figure(title, x_label, "Speed-up over the level before", curves, of_paper, log_y=True)
    yield Told(rows, figure=figure)

    # Multiply-adds and global loads per result, in one pass and in two, by the models of work.
    rows = []
    for side in COUNTED_MASKS:
        problem = Problem(COUNTED_SIZE, COUNTED_SIZE, mask_shape=(side, side), anchor=(side // 2, side // 2))
        one, two, *levels = (
            variant(key).work(problem, BLOCK) for key in (ONE_PASS, SERIAL, *LEVELS.values())
        )
        operations = (work.flops // 2 // problem.samples for work in (one, two))
        loads = (work.global_loads / problem.samples for work in (one, *levels))
        rows.append(((f"{side} × {side}",), (*operations, *loads)))
    yield Told(rows)


def _curves(curves: dict[str, str], values: dict[int, list[Quantity]]) -> tuple[Series, ...]:
    """Return a curve over the sizes for each (name, variant) of the columns of values."""
    x = tuple(map(float, values))
    columns = zip(*values.values(), strict=True)
    return tuple(
        Series(name, x, tuple(value.number for value in column), key)
        for (name, key), column in zip(curves.items(), columns, strict=True)
    )

"""The CNN report: the unrolled matrix that is never stored, its control divergence, its convolutions."""

import itertools
from collections.abc import Iterator

import numpy as np

from engine.course.paper import CourseTable
from engine.course.papers import paper
from engine.course.runs import (
    BankRun,
    NetworkRun,
    Quantity,
    Results,
    Row,
    Run,
    Tables,
    course_table,
    filter_run,
)
from engine.device_info import WARP
from engine.geometry.block import FLOAT_BYTES, Block
from engine.mask.generators import box
from engine.tasks.network.problem import LAYERS, ForwardPass
from engine.variants.ladder.implicit_gemm import bank_block, bank_work
from engine.variants.network.gemm import matrix_bytes
from engine.variants.network.one_change import CONSTANT_BYTES, FILTER_BYTES
from engine.work.filtering.variants import variant
from engine.work.problem import Problem

# The report's worked product: two filters of 2 x 2 on three maps of 3 x 3, as a product of matrices. W' has a
# row for each filter, its three parts one after another; a column of X has the 12 cells under one output; Y
# has a row for each filter's map. Of X only the first column is printed right: the second has other numbers,
# the third lacks a 0 and repeats a 3, the fourth has 9 of its 12 numbers. With the maps of the figure's own
# book (Kirk and Hwu, Programming Massively Parallel Processors, unrolling) X gives the printed Y.
# Source: ECE408 final report "CUCUDA", Optimizations, 4, figure "Convolution Filters W', Input Features
# X_unrolled, Output Features Y".
INPUT_MAPS = np.array(
    [[[1, 2, 0], [1, 1, 3], [0, 2, 2]], [[0, 2, 1], [0, 3, 2], [1, 1, 0]], [[1, 2, 1], [0, 1, 3], [3, 3, 2]]],
    np.float32,
)
"""The three input maps, 3 x 3 each."""

W = np.array([[1, 1, 2, 2, 1, 1, 1, 1, 0, 1, 1, 0], [1, 0, 0, 1, 2, 1, 2, 1, 1, 2, 2, 0]], np.float32)
"""The filters, a row for each map of the result: three parts of 2 x 2."""

Y = np.array([[14, 20, 15, 24], [12, 24, 17, 26]], np.float32)
"""The result as printed: a row for each map, its four outputs row by row."""

PRINTED_X = (
    (1, 2, 1, 1, 0, 2, 0, 3, 1, 2, 0, 1),
    (2, 0, 1, 1, 1, 1, 3, 2, 1, 3, 1, 3),
    (1, 1, 0, 2, 3, 1, 1, 0, 1, 3, 3, 3),
    (1, 3, 2, 2, 1, 0, 3, 3, 2),
)
"""The columns of X as the report prints them."""


def unrolled() -> np.ndarray:
    """Return X, (12, 4): a column for each output, the cells under the filters one after another.

    Examples
    --------
    >>> (W @ unrolled() == Y).all()
    np.True_
    """
    columns = [
        INPUT_MAPS[:, row : row + 2, column : column + 2].ravel() for row in (0, 1) for column in (0, 1)
    ]
    return np.stack(columns, axis=1)


CNN = paper("cnn")
SIZES = (512, 1024)
FILTERS = (1, 8, 32)
BLOCK = Block(16, 16)

# Output feature maps: (stage, height, width, maps of an input).
MAPS = (
    ("first convolution", 24, 24, 32),
    ("second convolution", 8, 8, 64),
    ("first average pool", 12, 12, 32),
    ("second average pool", 4, 4, 64),
)


def _one(size: int) -> Run:
    return filter_run(variant="naive", mask=box(5), width=size, height=size, block=BLOCK)


def _bank(size: int, filters: int) -> Run:
    return BankRun(5, filters, size)


# The report does not say how many digits took its 40 seconds; its course's data set has 10,000. The
# sequential program computes drawing after drawing, so that a part of them is enough for it.
DIGITS, SERIAL_DIGITS = 10_000, 500
# With sizes that are asked for, on slow machines.
FEW_DIGITS, FEW_SERIAL_DIGITS = 100, 10
# What each stage adds, in the report's words where it has some; by the stage's key.
STAGES = {
    "network-serial": "Sequential code",
    "network-convolution": "Parallelize the convolution",
    "network-pool": "Parallelize convolution, linearization, average_pool",
    "network-fused": "The pool fused into the convolution",
    "network-connected": "Parallelize the neural network",
    "network-linearised": "With linearization as a kernel of its own",
    "network-uncoalesced": "In the report's layout, not coalesced",
    "network-implicit-gemm": "Matrix multiplication, the matrix built on the fly",
    "network-unrolled": "Matrix multiplication, a concrete matrix",
    "network-constant": "Filters in the constant memory",
    "network-streams": "Streaming",
    "network-fast": "The fastest here on CUDA",
    "network-cpu": "The fastest here on the CPU",
}

# A thread per value, in this program's layout and in the report's.
COMPARED_LAYOUTS = frozenset(
    f"network-{name}" for name in ("convolution", "pool", "connected", "linearised", "uncoalesced")
)


def _stage(key: str, sizes: tuple[int, ...] | None) -> NetworkRun:
    if key == "network-serial":
        return NetworkRun(key, FEW_SERIAL_DIGITS if sizes else SERIAL_DIGITS)
    return NetworkRun(key, FEW_DIGITS if sizes else DIGITS)


def runs(sizes: tuple[int, ...] | None) -> tuple[Run, ...]:
    """Return what is measured: one filter by `naive`, banks by `implicit-gemm`, the network's stages."""
    wanted = sizes or SIZES
    filters = (run for size in wanted for run in (_one(size), *(_bank(size, number) for number in FILTERS)))
    return (*filters, *(_stage(key, sizes) for key in STAGES))


def tables(results: Results, sizes: tuple[int, ...] | None) -> Tables:
    """Return the report's tables."""
    return (
        _unrolled(sizes or SIZES),
        _divergence(),
        _stages(results, sizes),
        _memory(),
        _worked_product(),
        _worked_columns(),
        _banks(results, sizes or SIZES),
    )


def _unrolled(sizes: tuple[int, ...]) -> Iterator[Row]:
    for size, filters in itertools.product(sizes, FILTERS):
        problem = Problem(size, size, mask_shape=(5, 5), anchor=(2, 2))
        values = (
            problem.samples * FLOAT_BYTES,
            problem.multiply_adds * FLOAT_BYTES,
            filters * variant("naive").work(problem, BLOCK).picture_loads,
            bank_work(problem, bank_block(filters), filters).picture_loads,
        )
        yield ((f"{size} × {size}", filters), values)


def diverging_warps(height: int, width: int, block: Block) -> int:
    """Return the warps of a launch in which some threads are inside the result and some are not."""
    diverging = 0
    for top, left in itertools.product(range(0, height, block.y), range(0, width, block.x)):
        inside = [
            top + thread // block.x < height and left + thread % block.x < width
            for thread in range(block.threads)
        ]
        warps = [inside[first : first + WARP] for first in range(0, block.threads, WARP)]
        diverging += sum(any(warp) and not all(warp) for warp in warps)
    return diverging


def _divergence() -> Iterator[Row]:
    for name, height, width, maps in MAPS:
        of_a_map = diverging_warps(height, width, BLOCK)
        yield ((name, f"{height} × {width}"), (of_a_map, maps, of_a_map * maps))


def _stages(results: Results, sizes: tuple[int, ...] | None) -> CourseTable:
    """Return the time of each stage for the same number of digits, beside the printed one."""
    digits = FEW_DIGITS if sizes else DIGITS

    def running_s(key: str) -> Quantity:
        run = _stage(key, sizes)
        return results.value(run, "running_ms") * (digits / run.batch / 1e3)

    def transactions(key: str) -> Quantity:
        return results.transactions(_stage(key, sizes)) if key in COMPARED_LAYOUTS else Quantity()

    serial = running_s("network-serial")
    rows: list[Row] = [
        ((title, key), (running_s(key), serial / running_s(key), transactions(key)))
        for key, title in STAGES.items()
    ]
    return course_table(CNN, 2, rows, f"Here: {digits:,} digits.")


def _memory() -> Iterator[Row]:
    """Yield what filters and unrolled matrices take, against constant memory."""
    for layer, needed in zip((LAYERS[0], LAYERS[2]), FILTER_BYTES, strict=True):
        fits = "yes" if needed <= CONSTANT_BYTES else f"no: {needed:,} of {CONSTANT_BYTES:,} bytes"
        one, many = (matrix_bytes(ForwardPass(batch), layer) for batch in (1, DIGITS))
        yield ((layer.title,), (needed, fits, one, many))


def _worked_product() -> Iterator[Row]:
    """Yield Y = W' X_unrolled, computed from the maps and the filters."""
    for number, row in enumerate((W @ unrolled()).astype(int).tolist(), start=1):
        yield ((f"output feature {number}",), row)


def _worked_columns() -> Iterator[Row]:
    """Yield X_unrolled: what the report misprints."""
    for number, row in enumerate(unrolled().astype(int).tolist(), start=1):
        yield ((number,), row)


def _banks(results: Results, sizes: tuple[int, ...]) -> Iterator[Row]:
    for size, filters in itertools.product(sizes, FILTERS):
        each_ms, bank_ms = results.value(_one(size)) * filters, results.value(_bank(size, filters))
        yield ((f"{size} × {size}", filters), (each_ms, bank_ms, each_ms / bank_ms))

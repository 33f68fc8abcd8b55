"""The CNN report: the unrolled matrix that is never stored, its control divergence, its convolutions."""

import itertools

import numpy as np

from engine.course.runs import (
    Amount,
    BankRun,
    Content,
    Results,
    Row,
    Sizes,
    StageRun,
    Tables,
    filter_run,
)
from engine.geometry.block import FLOAT_BYTES, Block
from engine.mask.generators import box
from engine.results.occupancy import WARP
from engine.tasks.network.problem import LAYERS
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


# The report does not say how many digits took its 40 seconds; its course's data set has 10,000. The
# sequential program computes drawing after drawing, so that a part of them is enough for it.
DIGITS, SERIAL_DIGITS = 10_000, 500
# With requested sizes, on slow machines.
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


def tables(results: Results, sizes: Sizes) -> Tables:
    """Yield the report's tables: one filter by `naive`, banks by `implicit-gemm`, the network's stages."""
    digits, of_serial = (FEW_DIGITS, FEW_SERIAL_DIGITS) if sizes else (DIGITS, SERIAL_DIGITS)
    pictures = list(itertools.product(sizes or SIZES, FILTERS))

    # The unrolled matrix that is never stored.
    rows: list[Row] = []
    for size, filters in pictures:
        problem = Problem(size, size, mask_shape=(5, 5), anchor=(2, 2))
        loads = (
            filters * variant("naive").work(problem, BLOCK).picture_loads,
            bank_work(problem, bank_block(filters), filters).picture_loads,
        )
        stored = problem.samples * FLOAT_BYTES, problem.multiply_adds * FLOAT_BYTES
        rows.append(((f"{size} × {size}", filters), (*stored, *loads)))
    yield Content(rows)

    # Control divergence.
    rows = []
    for name, height, width, maps in MAPS:
        of_a_map = diverging_warps(height, width, BLOCK)
        rows.append(((name, f"{height} × {width}"), (of_a_map, maps, of_a_map * maps)))
    yield Content(rows)

    # The time of each stage for the same number of digits, beside the printed one.
    rows, serial = [], Amount()
    for key, title in STAGES.items():
        run = StageRun(key, of_serial if key == "network-serial" else digits)
        running_s = results.value(run, "running_ms") * (digits / run.batch / 1e3)
        # It is the first.
        serial = running_s if key == "network-serial" else serial
        transactions = results.transactions(run) if key in COMPARED_LAYOUTS else Amount()
        rows.append(((title, key), (running_s, serial / running_s, transactions)))
    yield Content(rows, (f"Here: {digits:,} digits.",))

    # What filters and unrolled matrices take, against constant memory.
    rows = []
    for layer, needed in zip((LAYERS[0], LAYERS[2]), FILTER_BYTES, strict=True):
        fits = "yes" if needed <= CONSTANT_BYTES else f"no: {needed:,} of {CONSTANT_BYTES:,} bytes"
        one, many = (matrix_bytes(batch, layer) for batch in (1, DIGITS))
        rows.append(((layer.title,), (needed, fits, one, many)))
    yield Content(rows)

    # Y = W' X_unrolled, computed from the maps and the filters; and X_unrolled, which the report misprints.
    product, columns = (one.astype(int).tolist() for one in (W @ unrolled(), unrolled()))
    yield Content([((f"output feature {number}",), row) for number, row in enumerate(product, start=1)])
    yield Content([((number,), row) for number, row in enumerate(columns, start=1)])

    # One thread per output element, and matrix multiplication on the fly.
    rows = []
    for size, filters in pictures:
        one_filter = filter_run(box(5), "naive", size, block=BLOCK)
        each_ms, bank_ms = results.value(one_filter) * filters, results.value(BankRun(5, filters, size))
        rows.append(((f"{size} × {size}", filters), (each_ms, bank_ms, each_ms / bank_ms)))
    yield Content(rows)

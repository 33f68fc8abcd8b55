"""The CNN report: the unrolled matrix that is never stored, its control divergence, its convolutions.

Printed values are those of Xiaohao Wang, Zhao Weng and Xiaosheng Wu, "ECE408 Final Report", sections
Optimizations and Performance Analysis.
"""

import itertools

from engine.course.cells import Quantity, course_table, row
from engine.course.paper import CourseTable
from engine.course.papers import paper
from engine.course.runs import BankRun, FilterRun, Results, Run
from engine.geometry.block import Block
from engine.mask.generators import box
from engine.tasks.filtering.problem import Problem
from engine.tasks.work import FLOAT_BYTES
from engine.variants.ladder.implicit_gemm import bank_block, bank_work
from engine.variants.registry import variant

CNN = paper("cnn")
SIZES = (512, 1024)
FILTERS = (1, 8, 32)
WARP = 32
BLOCK = Block(16, 16)

# Output maps with the warps that diverge in each: (name, height, width, printed).
PRINTED_DIVERGENCE = (
    ("first convolution", 24, 24, "8 + 4 = 12"),
    ("second convolution", 8, 8, "4"),
    ("first average pool", 12, 12, "6"),
    ("second average pool", 4, 4, "2"),
)

PRINTED_STAGES = (
    ("Parallelize convolution, linearization, average_pool", "around 40"),
    ("Parallelize the neural network", "around 9"),
    ("Matrix multiplication, the matrix built on the fly", "around 4"),
    ("Streaming", "should be reduced to around 2"),
)


def _one(size: int) -> Run:
    return FilterRun(variant="naive", mask=box(5), width=size, height=size, block=BLOCK)


def _bank(size: int, filters: int) -> Run:
    return BankRun(5, filters, size)


def runs(sizes: tuple[int, ...] | None) -> tuple[Run, ...]:
    """Return what is measured: one filter by `naive`, banks of filters by `implicit-gemm`."""
    wanted = sizes or SIZES
    return tuple(run for size in wanted for run in (_one(size), *(_bank(size, number) for number in FILTERS)))


def tables(results: Results, sizes: tuple[int, ...] | None) -> tuple[CourseTable, ...]:
    """Return the report's tables."""
    return (_unrolled(sizes or SIZES), _divergence(), _stages(), _banks(results, sizes or SIZES))


def _unrolled(sizes: tuple[int, ...]) -> CourseTable:
    rows = []
    for size, filters in itertools.product(sizes, FILTERS):
        problem = Problem(size, size, mask_shape=(5, 5), anchor=(2, 2))
        values = (
            problem.samples * FLOAT_BYTES,
            problem.multiply_adds * FLOAT_BYTES,
            filters * variant("naive").work(problem, BLOCK).picture_loads,
            bank_work(problem, bank_block(filters), filters).picture_loads,
        )
        rows.append(row((f"{size} x {size}", filters), values))
    return course_table(
        CNN,
        0,
        "Picture | Filters | Bytes of the picture | Bytes of X_unrolled, never stored | "
        "Loads of the picture, one thread per output element | Loads of the picture, on the fly",
        rows,
        "Counted, not measured: 5 x 5 filters, float32, one channel, zero border.",
        "X_unrolled has one row per cell of the filter and one column per pixel: 25 times the picture.",
        "On the fly, the filters of a block share the tile of X_unrolled that it builds: up to 8 filters in "
        "the default block of a bank, which is counted here.",
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


def _divergence() -> CourseTable:
    return course_table(
        CNN,
        1,
        "Stage | Output feature map | Control divergences in each map",
        (
            row((name, f"{height} x {width}"), (diverging_warps(height, width, BLOCK),), (printed,))
            for name, height, width, printed in PRINTED_DIVERGENCE
        ),
        f"Counted, not measured: warps of {WARP} threads in blocks of {BLOCK} that lie partly outside the "
        "map.",
    )


def _stages() -> CourseTable:
    later = Quantity(
        reason="The network and pooling come later; the convolutions are measured in the next table."
    )
    return course_table(
        CNN,
        2,
        "Stage | Running time (s)",
        (row((name,), (later,), (printed,)) for name, printed in PRINTED_STAGES),
        "Each stage includes those above it. The report's streaming code ended in a segmentation fault: that "
        "time is what its authors expected.",
    )


def _banks(results: Results, sizes: tuple[int, ...]) -> CourseTable:
    rows = []
    for size, filters in itertools.product(sizes, FILTERS):
        each_ms, bank_ms = results.value(_one(size)) * filters, results.value(_bank(size, filters))
        rows.append(row((f"{size} x {size}", filters), (each_ms, bank_ms, each_ms / bank_ms)))
    return course_table(
        CNN,
        3,
        "Picture | Filters | naive, one launch per filter (ms) | implicit-gemm, one launch for all (ms) | "
        "Speed-up",
        rows,
        "5 x 5 filters, float32, one channel, zero border; medians of the kernels alone. The first column is "
        "the time of one launch times the filters. The report prints no such times.",
        "The report's first layer has 32 filters of 5 x 5.",
    )

"""The CNN report: the unrolled matrix that is never stored, its control divergence, its convolutions.

Printed values are those of Xiaohao Wang, Zhao Weng and Xiaosheng Wu, "ECE408 Final Report", sections Optimizations and
Performance Analysis.
"""

from engine.course.cells import counted, measured, missing, named, ratio
from engine.course.paper import CourseTable
from engine.course.papers import CNN
from engine.course.runs import BankRun, FilterRun, Results, Run
from engine.geometry.block import Block
from engine.mask.generators import box
from engine.tasks.filtering.problem import Problem
from engine.tasks.work import FLOAT_BYTES
from engine.variants.ladder.implicit_gemm import bank_block, bank_work
from engine.variants.registry import variant

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
    for size in sizes:
        problem = Problem(size, size, mask_shape=(5, 5), anchor=(2, 2))
        naive_loads = variant("naive").work(problem, BLOCK).picture_loads
        for filters in FILTERS:
            loads = bank_work(problem, bank_block(filters), filters).picture_loads
            rows.append(
                (
                    *named(f"{size} x {size}", str(filters)),
                    counted(problem.samples * FLOAT_BYTES),
                    counted(problem.multiply_adds * FLOAT_BYTES),
                    counted(filters * naive_loads),
                    counted(loads),
                )
            )
    return CourseTable(
        CNN.tables[0],
        (
            "Picture",
            "Filters",
            "Bytes of the picture",
            "Bytes of X_unrolled, never stored",
            "Loads of the picture, a thread an output element",
            "Loads of the picture, on the fly",
        ),
        tuple(rows),
        (
            "Counted, not measured: 5 x 5 filters, float32, one channel, zero border.",
            "X_unrolled has a row for each cell of the filter and a column for each pixel: 25 times the picture.",
            "On the fly, the filters of a block share the tile of X_unrolled that it builds: up to 8 in the default block of a "
            "bank of filters, which is counted here.",
        ),
    )


def diverging_warps(height: int, width: int, block: Block) -> int:
    """Return the warps of a launch in which some threads are inside the result and some are not."""
    diverging = 0
    for top in range(0, height, block.y):
        for left in range(0, width, block.x):
            inside = [
                top + thread // block.x < height and left + thread % block.x < width
                for thread in range(block.threads)
            ]
            warps = [inside[first : first + WARP] for first in range(0, block.threads, WARP)]
            diverging += sum(any(warp) and not all(warp) for warp in warps)
    return diverging


def _divergence() -> CourseTable:
    rows = tuple(
        (*named(name, f"{height} x {width}"), counted(diverging_warps(height, width, BLOCK), printed))
        for name, height, width, printed in PRINTED_DIVERGENCE
    )
    return CourseTable(
        CNN.tables[1],
        ("Stage", "Output feature map", "Control divergences in each map"),
        rows,
        (
            f"Counted, not measured: warps of {WARP} threads in blocks of {BLOCK} that lie partly outside the map.",
        ),
    )


def _stages() -> CourseTable:
    later = "The network and pooling come later; the convolutions are measured in the next table."
    rows = tuple((*named(name), missing(later, printed)) for name, printed in PRINTED_STAGES)
    return CourseTable(
        CNN.tables[2],
        ("Stage", "Running time (s)"),
        rows,
        (
            "The report's stages one on top of the other. Its streaming code ended in a segmentation fault: that time is "
            "what its authors expected.",
        ),
    )


def _banks(results: Results, sizes: tuple[int, ...]) -> CourseTable:
    rows = []
    for size in sizes:
        one = _one(size)
        one_ms = results.value(one, "kernel_ms")
        for filters in FILTERS:
            bank = _bank(size, filters)
            each_ms = None if one_ms is None else filters * one_ms
            bank_ms = results.value(bank, "kernel_ms")
            rows.append(
                (
                    *named(f"{size} x {size}", str(filters)),
                    measured(each_ms, results.of(one)),
                    measured(bank_ms, results.of(bank)),
                    measured(ratio(each_ms, bank_ms), results.first_fault(one, bank)),
                )
            )
    return CourseTable(
        CNN.tables[3],
        (
            "Picture",
            "Filters",
            "naive, a launch a filter (ms)",
            "implicit-gemm, a launch for all (ms)",
            "Speed-up",
        ),
        tuple(rows),
        (
            "5 x 5 filters, float32, one channel, zero border; medians of the kernels alone. The first column is the time "
            "of one launch times the filters. The report prints no such times.",
            "The report's first layer has 32 filters of 5 x 5.",
        ),
    )

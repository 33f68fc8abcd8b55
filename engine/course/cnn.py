"""The CNN report: the unrolled matrix that is never stored, its control divergence, its convolutions."""

import itertools

from engine.course.cells import Quantity, Row, course_table
from engine.course.paper import CourseTable
from engine.course.papers import TABLE_TEXTS, paper
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

# Output feature maps: (stage, height, width).
MAPS = (
    ("first convolution", 24, 24),
    ("second convolution", 8, 8),
    ("first average pool", 12, 12),
    ("second average pool", 4, 4),
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
    rows: list[Row] = []
    for size, filters in itertools.product(sizes, FILTERS):
        problem = Problem(size, size, mask_shape=(5, 5), anchor=(2, 2))
        values = (
            problem.samples * FLOAT_BYTES,
            problem.multiply_adds * FLOAT_BYTES,
            filters * variant("naive").work(problem, BLOCK).picture_loads,
            bank_work(problem, bank_block(filters), filters).picture_loads,
        )
        rows.append(((f"{size} x {size}", filters), values))
    return course_table(CNN, 0, rows)


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
    rows = [
        ((name, f"{height} x {width}"), (diverging_warps(height, width, BLOCK),))
        for name, height, width in MAPS
    ]
    return course_table(CNN, 1, rows)


def _stages() -> CourseTable:
    elsewhere = Quantity(reason="The command network measures the stages; the next table, its convolutions.")
    return course_table(CNN, 2, [((stage,), (elsewhere,)) for stage in TABLE_TEXTS[CNN][2].printed])


def _banks(results: Results, sizes: tuple[int, ...]) -> CourseTable:
    rows: list[Row] = []
    for size, filters in itertools.product(sizes, FILTERS):
        each_ms, bank_ms = results.value(_one(size)) * filters, results.value(_bank(size, filters))
        rows.append(((f"{size} x {size}", filters), (each_ms, bank_ms, each_ms / bank_ms)))
    return course_table(CNN, 3, rows)

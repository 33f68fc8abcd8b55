"""The lecture on convolution: what tiles save, counted by the kernels' own models of work; and padded rows.

Printed values are those of CENG443 Heterogeneous Parallel Programming, "Convolution", slides "An 8-Element Convolution
Tile" and "Tiling Benefit".
"""

import itertools
from fractions import Fraction

from engine.course.cells import counted, measured, missing, named, ratio, told
from engine.course.paper import Cell, CourseTable
from engine.course.papers import CONVOLUTION
from engine.course.runs import FilterRun, Results, Run
from engine.geometry.block import Block, Limits
from engine.geometry.border import Border
from engine.geometry.layout import ROW_BYTES, Layout
from engine.mask.generators import box, gaussian
from engine.tasks.filtering.problem import Problem
from engine.tasks.work import FLOAT_BYTES, Work
from engine.variants.registry import variant

TILE_SIZES = (8, 16, 32, 128, 256)
MASK_WIDTHS = (3, 5, 9)
O_TILES = (8, 16, 32)
MASKS_2D = (3, 5, 9)
WIDTHS = (1000, 1001, 1024)
COUNTED_WIDTHS = (1000, 1001, 1024, 1920)
BLOCK = Block(16, 16)
SIDE = 1024

# (TILE_SIZE, Mask_Width): accesses without a tile, elements loaded, bandwidth reduction.
PRINTED_TILE = {(8, 5): ("40", "12", "3.3")}


def runs(sizes: tuple[int, ...] | None) -> tuple[Run, ...]:
    """Return what is measured: packed and pitched rows."""
    return tuple(_layout_run(width, layout) for width in sizes or WIDTHS for layout in Layout)


def tables(results: Results, sizes: tuple[int, ...] | None) -> tuple[CourseTable, ...]:
    """Return the lecture's counts, and the pitch."""
    return (_row_tiles(), _square_tiles(), _accesses(), _padded_rows(), _layouts(results, sizes or WIDTHS))


def _layout_run(width: int, layout: Layout) -> Run:
    return FilterRun(
        variant="naive",
        mask=gaussian(5, sigma=1.0),
        width=width,
        height=width,
        block=Block(32, 8),
        layout=layout,
    )


def inner_tile(rows: int, columns: int, mask_rows: int, mask_columns: int) -> Problem:
    """Return the problem of one output tile amid a picture: all of the cells around it exist, here by wrapping."""
    return Problem(
        rows,
        columns,
        mask_shape=(mask_rows, mask_columns),
        anchor=(mask_rows // 2, mask_columns // 2),
        border=Border.WRAP,
    )


def work_or_reason(key: str, problem: Problem, block: Block) -> Work | str:
    """Return the work of a variant, or why it cannot do that."""
    chosen = variant(key)
    refusal = chosen.unsupported(problem, box(*problem.mask_shape), block, Limits())
    return chosen.work(problem, block) if refusal is None else f"{refusal.reason} {refusal.remedy}".strip()


def _loads(work: Work | str, printed: str = "") -> Cell:
    return missing(work, printed) if isinstance(work, str) else counted(work.picture_loads, printed)


def _reduction(without: Work | str, with_tile: Work | str, printed: str = "") -> Cell:
    if isinstance(without, str) or isinstance(with_tile, str):
        return missing(without if isinstance(without, str) else str(with_tile), printed)
    return counted(without.picture_loads / with_tile.picture_loads, printed)


def _row_tiles() -> CourseTable:
    rows = []
    for tile, width in itertools.product(TILE_SIZES, MASK_WIDTHS):
        problem, block = inner_tile(1, tile, 1, width), Block(tile, 1)
        basic, tiled, cached = (
            work_or_reason(key, problem, block) for key in ("row-naive", "row-tiled", "row-cached")
        )
        printed = PRINTED_TILE.get((tile, width), ("",) * 3)
        rows.append(
            (
                *named(str(tile), str(width)),
                _loads(basic, printed[0]),
                _loads(tiled, printed[1]),
                _reduction(basic, tiled, printed[2]),
                _loads(cached),
            )
        )
    return CourseTable(
        CONVOLUTION.tables[0],
        (
            "TILE_SIZE",
            "Mask_Width",
            "global memory accesses, basic",
            "elements loaded, tiled",
            "bandwidth reduction",
            "accesses, tiled with caching",
        ),
        tuple(rows),
        (
            "Counted, not measured: one tile amid a row, by the same functions that count the work of a run.",
            "Tiled: TILE_SIZE + Mask_Width - 1 elements instead of TILE_SIZE x Mask_Width accesses.",
            "Tiled with caching: the tile's own elements, and each access to the halo again and again; the caches "
            "are not counted.",
        ),
    )


def _square_tiles() -> CourseTable:
    rows = []
    for tile, width in itertools.product(O_TILES, MASKS_2D):
        problem = inner_tile(tile, tile, width, width)
        block_width = tile + width - 1
        basic = work_or_reason("naive", problem, Block(tile, tile))
        second = work_or_reason("tiled", problem, Block(tile, tile))
        first = work_or_reason("tiled-input", problem, Block(block_width, block_width))
        share = f"{100 * tile * tile / block_width**2:.0f} %"
        rows.append(
            (
                *named(str(tile), str(width), str(block_width)),
                _loads(basic),
                _loads(second),
                _reduction(basic, second),
                _loads(first),
                missing(first) if isinstance(first, str) else told(share),
            )
        )
    return CourseTable(
        CONVOLUTION.tables[1],
        (
            "O_TILE_WIDTH",
            "MASK_WIDTH",
            "BLOCK_WIDTH",
            "global memory accesses, basic",
            "elements loaded, tiled",
            "bandwidth reduction",
            "elements loaded, tiled-input",
            "threads that compute, tiled-input",
        ),
        tuple(rows),
        (
            "Counted, not measured: one output tile amid a picture.",
            "The lecture's design is `tiled-input`: the block is the input tile, BLOCK_WIDTH = O_TILE_WIDTH + MASK_WIDTH "
            "- 1, and a thread loads one element. `tiled` loads the same elements with a block of O_TILE_WIDTH.",
            "A block has at most 1,024 threads, which ends the first design before the second.",
        ),
    )


# The lecture's name, the variant, the mask's sides, the block.
_KERNELS = (
    ("convolution_1D_basic_kernel", "row-naive", (1, 5), Block(256, 1)),
    ("convolution_1D_tiled_kernel", "row-tiled", (1, 5), Block(256, 1)),
    ("convolution_1D_tiled_caching_kernel", "row-cached", (1, 5), Block(256, 1)),
    ("convolution_2D_basic_kernel", "naive", (5, 5), BLOCK),
    ("with M in constant memory", "constant", (5, 5), BLOCK),
    ("tiled 2-D, block = input tile", "tiled-input", (5, 5), Block(20, 20)),
    ("tiled 2-D, block = output tile", "tiled", (5, 5), BLOCK),
)


def _accesses() -> CourseTable:
    rows = []
    for name, key, (mask_rows, mask_columns), block in _KERNELS:
        problem = Problem(
            SIDE, SIDE, mask_shape=(mask_rows, mask_columns), anchor=(mask_rows // 2, mask_columns // 2)
        )
        work = work_or_reason(key, problem, block)
        cells = (
            (missing(work),) * 5
            if isinstance(work, str)
            else (
                counted(work.picture_loads),
                counted(work.global_loads - work.picture_loads),
                counted(work.shared_loads),
                counted(work.constant_loads),
                counted(work.cgma),
            )
        )
        rows.append((*named(name, key, f"{mask_rows} x {mask_columns}", str(block)), *cells))
    return CourseTable(
        CONVOLUTION.tables[2],
        (
            "Kernel",
            "Here",
            "Mask",
            "Block",
            "loads of N from global memory",
            "loads of M from global memory",
            "loads from shared memory",
            "loads from constant memory",
            "CGMA",
        ),
        tuple(rows),
        (
            f"Counted, not measured: {SIDE} x {SIDE}, float32, zero border; ghost cells cost no load.",
            "CGMA: floating-point operations (a multiply-add is two) for each load from global memory.",
        ),
    )


def _padded_rows() -> CourseTable:
    rows = []
    for width in COUNTED_WIDTHS:
        packed, pitched = (
            layout.row_pixels(width, 1, FLOAT_BYTES) * FLOAT_BYTES
            for layout in (Layout.PACKED, Layout.PITCHED)
        )
        rows.append(
            (
                *named(str(width)),
                counted(packed),
                counted(pitched),
                told(_aligned_share(packed)),
                told(_aligned_share(pitched)),
            )
        )
    return CourseTable(
        CONVOLUTION.tables[3],
        (
            "Width (pixels)",
            "Bytes a row, packed",
            "Bytes a row with pitch",
            "Rows at a burst boundary, packed",
            "Rows at a burst boundary, pitched",
        ),
        tuple(rows),
        (f"Counted, not measured: float32, one channel, bursts of {ROW_BYTES} bytes.",),
    )


def _aligned_share(row_bytes: int) -> str:
    """Return how many of the rows begin on a burst's boundary; the pattern repeats after 128 rows at the latest."""
    aligned = sum(row * row_bytes % ROW_BYTES == 0 for row in range(ROW_BYTES))
    share = Fraction(aligned, ROW_BYTES)
    return "all" if share == 1 else f"{share.numerator} of {share.denominator}"


def _layouts(results: Results, widths: tuple[int, ...]) -> CourseTable:
    rows = []
    for width in widths:
        packed, pitched = _layout_run(width, Layout.PACKED), _layout_run(width, Layout.PITCHED)
        times_ms = [results.value(run, "kernel_ms") for run in (packed, pitched)]
        rows.append(
            (
                *named(f"{width} x {width}"),
                measured(times_ms[0], results.of(packed)),
                measured(times_ms[1], results.of(pitched)),
                measured(ratio(*times_ms), results.first_fault(packed, pitched)),
            )
        )
    return CourseTable(
        CONVOLUTION.tables[4],
        ("Picture", "packed (ms)", "pitched (ms)", "packed / pitched"),
        tuple(rows),
        ("`naive`, 5 x 5, blocks of 32 x 8; medians of the kernel alone. The lecture prints no times.",),
    )

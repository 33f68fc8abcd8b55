"""The lecture on convolution: what tiles save, counted by the kernels' own models of work; and padded rows.

Printed values are those of CENG443 Heterogeneous Parallel Programming, "Convolution", slides "An 8-Element
Convolution Tile" and "Tiling Benefit".
"""

import itertools
from fractions import Fraction

from engine.course.cells import Quantity, Value, course_table, row
from engine.course.paper import CourseTable
from engine.course.papers import paper
from engine.course.runs import FilterRun, Results, Run
from engine.geometry.block import Block, Limits
from engine.geometry.border import Border
from engine.geometry.layout import ROW_BYTES, Layout
from engine.mask.generators import box, gaussian
from engine.tasks.filtering.problem import Problem
from engine.tasks.work import FLOAT_BYTES
from engine.variants.registry import variant

CONVOLUTION = paper("convolution")
TILE_SIZES = (8, 16, 32, 128, 256)
MASK_WIDTHS = (3, 5, 9)
O_TILES = (8, 16, 32)
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
    mask = gaussian(5, sigma=1.0)
    return FilterRun(variant="naive", mask=mask, width=width, height=width, block=Block(32, 8), layout=layout)


def _problem(rows: int, columns: int, mask_shape: tuple[int, int], border: Border) -> Problem:
    anchor = mask_shape[0] // 2, mask_shape[1] // 2
    return Problem(rows, columns, mask_shape=mask_shape, anchor=anchor, border=border)


def _refusal(key: str, problem: Problem, block: Block) -> Quantity | None:
    """Return why a variant cannot compute a problem."""
    refusal = variant(key).unsupported(problem, box(*problem.mask_shape), block, Limits())
    return Quantity(reason=f"{refusal.reason} {refusal.remedy}".strip()) if refusal else None


def _tile_loads(key: str, rows: int, columns: int, mask_shape: tuple[int, int], block: Block) -> Quantity:
    """Return the loads of one output tile amid a picture: all cells around it exist, here by wrapping."""
    problem = _problem(rows, columns, mask_shape, Border.WRAP)
    return _refusal(key, problem, block) or Quantity(variant(key).work(problem, block).picture_loads)


def _row_tiles() -> CourseTable:
    rows = []
    for tile, width in itertools.product(TILE_SIZES, MASK_WIDTHS):
        basic, tiled, cached = (
            _tile_loads(key, 1, tile, (1, width), Block(tile, 1))
            for key in ("row-naive", "row-tiled", "row-cached")
        )
        values = basic, tiled, basic / tiled, cached
        rows.append(row((tile, width), values, PRINTED_TILE.get((tile, width), ())))
    return course_table(
        CONVOLUTION,
        0,
        "TILE_SIZE | Mask_Width | global memory accesses, basic | elements loaded, tiled | bandwidth "
        "reduction | accesses, tiled with caching",
        rows,
        "Counted, not measured: one tile amid a row, by the same functions that count the work of a run.",
        "Tiled: TILE_SIZE + Mask_Width - 1 elements instead of TILE_SIZE x Mask_Width accesses.",
        "Tiled with caching: the tile's own elements, and every access to the halo; the caches are not "
        "counted.",
    )


def _square_tiles() -> CourseTable:
    rows = []
    for tile, width in itertools.product(O_TILES, MASK_WIDTHS):
        side = tile + width - 1
        blocks = {"naive": tile, "tiled": tile, "tiled-input": side}
        basic, second, first = (
            _tile_loads(key, tile, tile, (width, width), Block(of_block, of_block))
            for key, of_block in blocks.items()
        )
        share: Value = first if first.reason else f"{100 * tile * tile / side**2:.0f} %"
        rows.append(row((tile, width, side), (basic, second, basic / second, first, share)))
    return course_table(
        CONVOLUTION,
        1,
        "O_TILE_WIDTH | MASK_WIDTH | BLOCK_WIDTH | global memory accesses, basic | elements loaded, tiled | "
        "bandwidth reduction | elements loaded, tiled-input | threads that compute, tiled-input",
        rows,
        "Counted, not measured: one output tile amid a picture.",
        "The lecture's design is `tiled-input`: the block is the input tile, BLOCK_WIDTH = O_TILE_WIDTH + "
        "MASK_WIDTH - 1, and a thread loads one element. `tiled` loads the same elements with a block of "
        "O_TILE_WIDTH.",
        "A block has at most 1,024 threads; the first design reaches this limit before the second.",
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
    for name, key, mask_shape, block in _KERNELS:
        problem = _problem(SIDE, SIDE, mask_shape, Border.ZERO)
        work = variant(key).work(problem, block)
        of_mask = work.global_loads - work.picture_loads
        values = work.picture_loads, of_mask, work.shared_loads, work.constant_loads, work.cgma
        rows.append(row((name, key, f"{mask_shape[0]} x {mask_shape[1]}", block), values))
    return course_table(
        CONVOLUTION,
        2,
        "Kernel | Here | Mask | Block | loads of N from global memory | loads of M from global memory | "
        "loads from shared memory | loads from constant memory | CGMA",
        rows,
        f"Counted, not measured: {SIDE} x {SIDE}, float32, zero border; ghost cells cost no load.",
        "CGMA: floating-point operations (a multiply-add is two) per load from global memory.",
    )


def _padded_rows() -> CourseTable:
    rows = []
    for width in COUNTED_WIDTHS:
        packed, pitched = (
            layout.row_pixels(width, 1, FLOAT_BYTES) * FLOAT_BYTES
            for layout in (Layout.PACKED, Layout.PITCHED)
        )
        rows.append(row((width,), (packed, pitched, _aligned_share(packed), _aligned_share(pitched))))
    return course_table(
        CONVOLUTION,
        3,
        "Width (pixels) | Bytes per row, packed | Bytes per row with pitch | Rows at a burst boundary, "
        "packed | Rows at a burst boundary, pitched",
        rows,
        f"Counted, not measured: float32, one channel, bursts of {ROW_BYTES} bytes.",
    )


def _aligned_share(row_bytes: int) -> str:
    """Return how many of the rows begin on a burst's boundary; the pattern repeats within 128 rows."""
    aligned = sum(row * row_bytes % ROW_BYTES == 0 for row in range(ROW_BYTES))
    share = Fraction(aligned, ROW_BYTES)
    return "all" if share == 1 else f"{share.numerator} of {share.denominator}"


def _layouts(results: Results, widths: tuple[int, ...]) -> CourseTable:
    rows = []
    for width in widths:
        packed, pitched = (
            results.value(_layout_run(width, layout)) for layout in (Layout.PACKED, Layout.PITCHED)
        )
        rows.append(row((f"{width} x {width}",), (packed, pitched, packed / pitched)))
    return course_table(
        CONVOLUTION,
        4,
        "Picture | packed (ms) | pitched (ms) | packed / pitched",
        rows,
        "`naive`, 5 x 5, blocks of 32 x 8; medians of the kernel alone. The lecture prints no times.",
    )

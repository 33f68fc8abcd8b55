"""The lecture on convolution: what tiles save, by the kernels' own models of work; and padded rows."""

import itertools
from collections.abc import Sequence
from fractions import Fraction

from engine.course.runs import Amount, Content, Results, Row, Sizes, Tables, Value, filter_run
from engine.geometry.block import FLOAT_BYTES, ROW_BYTES, Block, Layout, Limits
from engine.geometry.border import Border
from engine.mask.generators import box, gaussian
from engine.work.filtering.variants import variant
from engine.work.problem import Problem

# 4 and 8 are those of the slides' examples.
TILE_SIZES = (4, 8, 16, 32, 128, 256)
MASK_WIDTHS = (3, 5, 9)
O_TILES = (8, 16, 32)
WIDTHS = (1000, 1001, 1024)
COUNTED_WIDTHS = (1000, 1001, 1024, 1920)
BLOCK = Block(16, 16)
# Threads of a block, and cells of a mask of 5 on either side of its middle.
EIGHT, EIGHTS_HALO = 8, 2
# The slide's basic example of a burst: 16 bytes in sections of 4; and what is read there.
SPACE_BYTES, BURST_BYTES = 16, 4
_READS = (
    ("one location", (5,)),
    ("four neighbours, from a boundary on", (4, 5, 6, 7)),
    ("four neighbours, shifted by one", (5, 6, 7, 8)),
    ("every second location", (0, 2, 4, 6)),
    ("every fourth location", (0, 4, 8, 12)),
    ("all", tuple(range(SPACE_BYTES))),
)
SIDE = 1024
_LAYOUTS = Layout.PACKED, Layout.PITCHED


# The lecture's name, the variant, the mask's sides, the block.
_KERNELS = (
    ("convolution_1D_basic_kernel", "row-naive", (1, 5), Block(256, 1)),
    ("with M in constant memory", "row-constant", (1, 5), Block(256, 1)),
    ("convolution_1D_tiled_kernel", "row-tiled-constant", (1, 5), Block(256, 1)),
    ("with M in global memory", "row-tiled", (1, 5), Block(256, 1)),
    ("convolution_1D_tiled_caching_kernel", "row-cached-constant", (1, 5), Block(256, 1)),
    ("with M in global memory", "row-cached", (1, 5), Block(256, 1)),
    ("convolution_2D_basic_kernel", "naive", (5, 5), BLOCK),
    ("with M in constant memory", "constant", (5, 5), BLOCK),
    ("tiled 2-D, block = input tile", "tiled-input", (5, 5), Block(20, 20)),
    ("tiled 2-D, block = output tile", "tiled", (5, 5), BLOCK),
)


def tables(results: Results, sizes: Sizes) -> Tables:
    """Yield the lecture's counts, and the pitch."""
    # A 1-D tile: elements loaded, bandwidth reduction.
    rows: list[Row] = []
    for tile, width in itertools.product(TILE_SIZES, MASK_WIDTHS):
        basic, tiled, cached = (
            _tile_loads(key, 1, tile, (1, width), Block(tile, 1))
            for key in ("row-naive", "row-tiled", "row-cached")
        )
        rows.append(((tile, width), (basic, tiled, basic / tiled, cached)))
    yield Content(rows)

    # What each thread of the second block of 8 loads, and what its result uses of 5 cells. It counts as the
    # slide does; the panel Tile shows the same of `row-tiled-constant`, as it runs.
    rows = []
    for thread in range(EIGHT):
        result = EIGHT + thread
        uses = range(result - EIGHTS_HALO, result + EIGHTS_HALO + 1)
        left = [result - EIGHT] if thread >= EIGHT - EIGHTS_HALO else []
        right = [result + EIGHT] if thread < EIGHTS_HALO else []
        cells = (", ".join(f"N[{column}]" for column in of) for of in (uses, left, [result], right))
        rows.append(((f"P[{result}]", thread), list(cells)))
    yield Content(rows)

    # A 2-D tile.
    rows = []
    for tile, width in itertools.product(O_TILES, MASK_WIDTHS):
        side = tile + width - 1
        basic, second, first = (
            _tile_loads(key, tile, tile, (width, width), Block(of_block, of_block))
            for key, of_block in (("naive", tile), ("tiled", tile), ("tiled-input", side))
        )
        share: Value = first if first.reason else f"{100 * tile * tile / side**2:.0f} %"
        rows.append(((tile, width, side), (basic, second, basic / second, first, share)))
    yield Content(rows)

    # The kernels' accesses to each memory.
    rows = []
    for name, key, mask_shape, block in _KERNELS:
        work = variant(key).work(_problem(SIDE, SIDE, mask_shape, Border.ZERO), block)
        mask = gaussian(*mask_shape, sigma=1.0)
        run = filter_run(mask, key, SIDE, block=block)
        of_mask = work.global_loads - work.picture_loads
        counts = work.picture_loads, of_mask, work.shared_loads, work.constant_loads, work.cgma
        names = name, key, f"{mask_shape[0]} × {mask_shape[1]}", block
        rows.append((names, (*counts, results.transactions(run))))
    yield Content(rows)

    # Padded rows, counted and measured.
    rows = []
    for width in COUNTED_WIDTHS:
        lengths = [layout.row_pixels(width, 1, FLOAT_BYTES) * FLOAT_BYTES for layout in _LAYOUTS]
        rows.append(((width,), (*lengths, *map(_aligned_share, lengths))))
    yield Content(rows)
    rows, mask = [], gaussian(5, sigma=1.0)
    for width in sizes or WIDTHS:
        runs = [filter_run(mask, "naive", width, block=Block(32, 8), layout=one) for one in _LAYOUTS]
        packed, pitched = map(results.value, runs)
        values = packed, pitched, packed / pitched, *map(results.transactions, runs)
        rows.append(((f"{width} × {width}",), values))
    yield Content(rows)

    # What some reads of a space of 16 bytes deliver, in sections of 4, as on the slide.
    rows = []
    for what, locations in _READS:
        sections = sorted({location // BURST_BYTES for location in locations})
        delivered = [first * BURST_BYTES + byte for first in sections for byte in range(BURST_BYTES)]
        words = _in_words(sections), _in_words(delivered), len(delivered)
        rows.append(((what, _in_words(locations)), (*words, 100.0 * len(locations) / len(delivered))))
    yield Content(rows)


def _problem(rows: int, columns: int, mask_shape: tuple[int, int], border: Border) -> Problem:
    anchor = mask_shape[0] // 2, mask_shape[1] // 2
    return Problem(rows, columns, mask_shape=mask_shape, anchor=anchor, border=border)


def _tile_loads(key: str, rows: int, columns: int, mask_shape: tuple[int, int], block: Block) -> Amount:
    """Return the loads of one output tile amid a picture, here by wrapping, or why the variant has none."""
    problem = _problem(rows, columns, mask_shape, Border.WRAP)
    refusal = variant(key).unsupported(problem, box(*mask_shape), block, Limits())
    if refusal is not None:
        return Amount(reason=str(refusal))
    return Amount(variant(key).work(problem, block).picture_loads)


def _aligned_share(row_bytes: int) -> str:
    """Return how many of the rows begin on a burst's boundary; the pattern repeats within 128 rows."""
    aligned = sum(row * row_bytes % ROW_BYTES == 0 for row in range(ROW_BYTES))
    share = Fraction(aligned, ROW_BYTES)
    return "all" if share == 1 else f"{share.numerator} of {share.denominator}"


def _in_words(numbers: Sequence[int]) -> str:
    """Return numbers as "5", "0, 4, 8" or "4 to 7"."""
    first, last = numbers[0], numbers[-1]
    if len(numbers) > 1 and list(numbers) == list(range(first, last + 1)):
        return f"{first} to {last}"
    return ", ".join(map(str, numbers))

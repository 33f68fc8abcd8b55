"""Tiles of float32 and of bytes: their loaders against the border's rule, multiply-adds, and stores."""

from dataclasses import replace

import numpy as np
import pytest

from engine.geometry.border import Border
from engine.variants.ir.plain import PLAIN
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.register_blocked.register_blocked import tile_shape
from engine.variants.tiles.accumulator import accumulator, byte_accumulator, row_store
from engine.variants.tiles.byte_loader import byte_tile_loader
from engine.variants.tiles.byte_tile_shape import PIECE, WORD, byte_shape
from engine.variants.tiles.result_storer import result_storer
from engine.variants.tiles.tile_loader import tile_loader
from tests.engine.variants.emitted import (
    GHOST,
    RANDOM,
    cells_by_rule,
    check_loaded,
    on_both,
    on_the_processor,
    unoptimised,
    whole,
)

# (mask rows, mask columns, channels, samples before, shift, vectors, rows, warps, steps, unrolled rows,
# lanes), rows that are loaded, and the picture's type.
TILES = [
    (TileShape(1, 9, 1, 4, 0, 4, 1, 2, 1, 1, 8), 9, "float32"),
    (TileShape(1, 5, 3, 8, 2, 2, 1, 4, 1, 1, 16), 8, "uint8"),
    (TileShape(3, 4, 1, 4, 2, 1, 2, 2, 1, 3), 6, "float32"),
    (TileShape(3, 3, 4, 4, 0, 3, 1, 2, 1, 3), 5, "uint16"),
]
by_tile = pytest.mark.parametrize(
    ("shape", "rows", "dtype"), TILES, ids=[f"{tile[0].vectors} vectors" for tile in TILES]
)
# (mask shape, channels, samples left of the anchor, words across, rows, warps)
BYTE_SHAPES = [
    byte_shape((5, 5), 1, 2, 2, 3, 2), byte_shape((3, 3), 1, 1, 1, 4, 4), byte_shape((5, 5), 3, 6, 4, 2, 4),
    byte_shape((2, 4), 3, 0, 3, 2, 2), byte_shape((4, 7), 4, 24, 1, 1, 2),
]  # fmt: skip
by_byte_shape = pytest.mark.parametrize("shape", BYTE_SHAPES, ids=lambda s: f"{s.mask_columns}x{s.channels}")


def all_threads(load, threads):
    """Return a loader for all threads of a block, compiled for this machine: without lane and warp."""
    load = on_the_processor(load)

    @unoptimised
    def load_all(target, image, samples, top, left, ghost_value):
        for thread in range(threads):
            load(*target, image, samples, top, thread % 32, thread // 32, left, ghost_value)

    return load_all


@pytest.mark.slow
@by_tile
@pytest.mark.parametrize("border", [Border.CONSTANT, Border.MIRROR])
def test_that_a_tile_holds_what_the_border_says_wherever_it_lies(shape, rows, dtype, border):
    load = all_threads(tile_loader(shape, rows, np.dtype(dtype).itemsize, border.rule), shape.threads)
    cells = np.arange(shape.tile_samples)
    places = [shape.vector_index(cell // VECTOR) * VECTOR + cell % VECTOR for cell in cells]
    check_loaded(load, border, shape, rows, shape.channels, dtype, places)


@by_tile
def test_that_the_values_of_a_lane_are_kept_where_the_tile_has_its_columns(shape, rows, dtype):
    keep = row_store(shape)
    run = on_the_processor(keep)
    values = RANDOM.random((shape.lanes, shape.across)).astype(np.float32)
    emitted, plain, wanted = (np.full((3, shape.tile_samples), 999, np.float32) for _ in range(3))
    for lane in range(shape.lanes):
        own = tuple(values[lane])
        run(emitted.ravel(), shape.tile_samples, lane, own)
        keep.py_func(plain.ravel(), shape.tile_samples, lane, own)
    for column, value in enumerate(values.ravel()):
        wanted[1, shape.vector_index(column // VECTOR) * VECTOR + column % VECTOR] = value
    assert np.array_equal(emitted, wanted)
    assert np.array_equal(plain, wanted)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "border"),
    [
        *((shape, Border.CONSTANT) for shape in BYTE_SHAPES),
        *zip(BYTE_SHAPES[:4], (Border.REFLECT, Border.WRAP) * 2, strict=True),
    ],
    ids=str,
)
def test_that_a_tile_of_bytes_holds_what_the_border_says_wherever_it_lies(shape, border):
    load, channels = all_threads(byte_tile_loader(shape, border.rule), shape.threads), shape.channels
    # The second one has rows of whole pieces, the third of whole words; in the fourth some tiles lie inside;
    # the last is smaller than the mask.
    for height, width, row_pixels in ((9, 35, 35), (9, 45, 48), (9, 36, 36), (40, 432, 432), (2, 1, 1)):
        samples = width * channels
        image = RANDOM.integers(0, 256, (height, row_pixels, channels)).astype(np.uint8)
        for top in range(-1, height - 1, shape.out_rows):
            for left in range(-shape.before, samples - shape.before, shape.out_samples):
                tile = np.zeros(shape.shared_bytes + 4 * PIECE, np.uint8)
                load((tile,), image, samples, top, left, np.float32(GHOST))
                wanted = cells_by_rule(
                    image[:, :width], border, top, shape.tile_rows, left, shape.tile_samples
                )
                # Cells that results read.
                read = slice(shape.before - shape.left, max(0, samples + shape.right - left))
                found = tile[: shape.shared_bytes].reshape(shape.tile_rows, -1)
                assert np.array_equal(found[:, read], wanted[:, read]), (height, width, top, left)
                assert not tile[shape.shared_bytes :].any()


@by_byte_shape
def test_that_aligned_loads_cover_what_a_window_needs(shape):
    assert shape.tile_samples % PIECE == 0
    assert shape.before % PIECE == 0
    covered = [word + k for word, size in shape.loads for k in range(size)]
    assert covered == list(range(shape.window // WORD))
    for lane in range(32):
        for word, size in shape.loads:
            assert (shape.first_word + lane * shape.vectors + word) % size == 0
    first = shape.first_word * WORD + shape.shift
    assert first == shape.before - shape.left
    last_needed = first + 31 * shape.across + shape.across - 1 + (shape.mask_columns - 1) * shape.channels
    assert last_needed < WORD * (shape.first_word + 31 * shape.vectors) + shape.window <= shape.tile_samples


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize(("rows", "across"), [(3, 4), (2, 8), (1, 12), (2, 16), (8, 1)])
def test_that_results_are_stored_where_they_belong(rows, across, dtype):
    store = result_storer(rows, across, np.dtype(dtype).itemsize)
    run = on_the_processor(store)
    values = RANDOM.integers(0, 256, rows * across)
    results = tuple(np.float32(value) for value in values)
    # Rows of whole vectors; rows that begin anywhere; a picture of fewer rows and columns than a thread has;
    # one that ends before a thread's last sample, and one that ends before its last row.
    pictures = ((9, 64, 64, 2), (9, 63, 63, 2), (2, 3, 16, 0))
    pictures += ((9, 3 * across - 1, 64, 2), (rows, 64, 64, 2), (rows + 1, 64, 64, 2))
    for height, width, row_pixels, first in pictures:
        # Three rows more than the picture has.
        wanted = np.full((height + 3, row_pixels, 1), 99, dtype)
        emitted, plain, sample = wanted.copy(), wanted.copy(), first * across
        inside = wanted[1 : min(1 + rows, height), sample : min(sample + across, width), 0]
        inside[:] = values.reshape(rows, across)[: inside.shape[0], : inside.shape[1]]
        run(emitted[:height], 1, sample, width, results)
        store.py_func(plain[:height], 1, sample, width, results)
        assert np.array_equal(emitted, wanted)
        assert np.array_equal(plain, wanted)


@pytest.mark.parametrize(
    ("value", "byte"), [(0.5, 0), (1.5, 2), (254.5, 254), (255.5, 255), (-3.0, 0), (1e30, 255), (np.nan, 0)]
)
def test_that_a_result_becomes_the_nearest_even_byte(value, byte):
    assert PLAIN.quantised(np.float32(value), 1) == byte


SHAPES = [tile_shape((side, side), side // 2, 1, 4) for side in (1, 2, 5, 9, 31)]
SHAPES += [tile_shape((5, 7), 0, channels, 1) for channels in (2, 3, 4)]
SHAPES += [replace(tile_shape((7, 7), 3, 1, 4), vectors=vectors, unrolled_rows=2) for vectors in (2, 4)]
by_shape = pytest.mark.parametrize(
    "shape", SHAPES, ids=lambda s: f"{s.mask_rows}x{s.mask_columns}x{s.channels}, {s.vectors} vectors"
)
# One of those whose vectors change places.
LANE = 21
# Added to each sum, as an offset is.
START = np.float32(3.0)


def as_laid_out(shape, tile):
    """Return a tile's rows as shared memory has them."""
    vectors = tile.reshape(len(tile), -1, VECTOR)
    laid_out = np.full_like(vectors, np.nan)
    for number in range(vectors.shape[1]):
        laid_out[:, shape.vector_index(number)] = vectors[:, number]
    return laid_out.ravel()


def correlation(shape, tile, mask, first):
    """Return a thread's results, the first of which has sample `first` of the tile under its first column."""
    weights, found = mask[:, : shape.mask_columns], []
    for i, k in np.ndindex(shape.rows, shape.across):
        last = first + k + shape.mask_columns * shape.channels
        cells = tile[i : i + shape.mask_rows, first + k : last : shape.channels]
        found.append(float(START + (cells.astype(np.float64) * weights).sum()))
    return found


@by_shape
def test_that_threads_that_read_at_once_meet_in_no_bank(shape):
    for number in range(shape.window // VECTOR):
        # A quarter of a warp reads its 16 bytes per thread from the 32 banks at once (8 vectors).
        banks = {shape.vector_index(lane * shape.vectors + number) % 8 for lane in range(8)}
        assert len(banks) == 8


@pytest.mark.slow
@by_shape
def test_that_both_backends_give_each_result_its_correlation(shape):
    tile = whole((shape.rows + shape.mask_rows - 1, shape.tile_samples), 60)
    mask = whole((shape.mask_rows, shape.weight_pitch), 90)
    found = on_both(accumulator(shape))(as_laid_out(shape, tile), 0, LANE, mask, START)
    assert found == correlation(shape, tile, mask, LANE * shape.across + shape.shift)


@pytest.mark.slow
@by_byte_shape
def test_that_both_backends_give_the_correlation_of_bytes(shape):
    tile = np.abs(whole((shape.tile_rows, shape.tile_samples), 255)).astype(np.uint8)
    mask = whole((shape.mask_rows, shape.weight_pitch), 90)
    found = on_both(byte_accumulator(shape))(tile.ravel(), 0, LANE, mask, START)
    assert found == correlation(shape, tile, mask, shape.before - shape.left + LANE * shape.across)


def test_that_nan_reaches_exactly_the_results_that_it_lies_under():
    shape = tile_shape((3, 3), 1, 1, 4)
    tile = np.ones((shape.rows + 2, shape.tile_samples), np.float32)
    tile[2, LANE * shape.across + shape.shift + 2] = np.nan
    mask = np.zeros((3, shape.weight_pitch), np.float32)
    found = on_the_processor(accumulator(shape))(as_laid_out(shape, tile), 0, LANE, mask, START)
    # 0 x NaN is NaN: rows 0 to 2 and samples 0 to 2 have that cell under their mask.
    wanted = np.zeros((shape.rows, shape.across), bool)
    wanted[:3, :3] = True
    assert np.array_equal(np.isnan(found).reshape(wanted.shape), wanted)

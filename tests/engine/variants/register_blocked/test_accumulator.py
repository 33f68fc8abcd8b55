"""The multiply-adds of tiles of float32 and of bytes, compiled for this machine and on plain numbers."""

from dataclasses import replace

import numpy as np
import pytest

from engine.variants.ir.register_tile import VECTOR
from engine.variants.register_blocked.accumulator import accumulator, byte_accumulator
from engine.variants.register_blocked.register_blocked import tile_shape
from tests.engine.variants.ir.emitted import on_both, whole
from tests.engine.variants.on_processor import on_the_processor
from tests.engine.variants.register_blocked.test_loaders import by_byte_shape

SHAPES = [tile_shape((side, side), side // 2, 1, 4) for side in (1, 2, 3, 5, 9, 13, 31)]
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

"""The emitted multiply-adds, compiled for this machine's processor, and on plain numbers."""

import math
from dataclasses import replace

import numpy as np
import pytest

from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.register_blocked.accumulator import accumulator
from engine.variants.register_blocked.register_blocked import tile_shape
from tests.engine.variants.on_processor import on_the_processor

RANDOM = np.random.default_rng(11)
SHAPES = [tile_shape((side, side), side // 2, 1, 4) for side in (1, 2, 3, 5, 9, 13, 31)]
SHAPES += [tile_shape((5, 7), 0, channels, 1) for channels in (2, 3, 4)]
SHAPES += [replace(tile_shape((7, 7), 3, 1, 4), vectors=vectors, unrolled_rows=2) for vectors in (2, 4)]
# One of those whose vectors change places.
LANE = 21
# Added to each sum, as an offset is.
START = np.float32(3.0)


def accumulated(shape: TileShape, tile: np.ndarray, mask: np.ndarray) -> tuple[float, ...]:
    return on_the_processor(accumulator(shape))(tile, 0, LANE, mask.ravel(), START)


def as_laid_out(shape: TileShape, tile: np.ndarray) -> np.ndarray:
    """Return a tile's rows as shared memory has them."""
    vectors = tile.reshape(len(tile), -1, VECTOR)
    laid_out = np.full_like(vectors, np.nan)
    for number in range(vectors.shape[1]):
        laid_out[:, shape.vector_index(number)] = vectors[:, number]
    return laid_out.ravel()


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.vectors} vectors")
def test_that_threads_that_read_at_once_meet_in_no_bank(shape: TileShape) -> None:
    for number in range(shape.window // VECTOR):
        # A quarter of a warp reads its 16 bytes a thread from the 32 banks at once (8 vectors).
        banks = {shape.vector_index(lane * shape.vectors + number) % 8 for lane in range(8)}
        assert len(banks) == 8


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: f"{s.mask_rows}x{s.mask_columns}x{s.channels}")
def test_that_the_emitted_code_gives_each_result_its_correlation(shape: TileShape) -> None:
    tile = RANDOM.standard_normal((shape.rows + shape.mask_rows - 1, shape.tile_samples)).astype(np.float32)
    mask = RANDOM.standard_normal((shape.mask_rows, shape.weight_pitch)).astype(np.float32)
    sums = accumulated(shape, as_laid_out(shape, tile), mask)
    for place, got in enumerate(sums):
        i, k = divmod(place, shape.across)
        first = LANE * shape.across + shape.shift + k
        last = first + shape.mask_columns * shape.channels
        cells = tile[i : i + shape.mask_rows, first : last : shape.channels].astype(np.float64)
        terms = cells * mask[:, : shape.mask_columns].astype(np.float64)
        n = terms.size + 1
        unit = 2.0**-24
        bound = (n + 2) * unit / (1 - (n + 2) * unit) * (float(START) + np.abs(terms).sum())
        assert abs(got - math.fsum([float(START), *terms.ravel()])) <= bound


def test_that_both_backends_agree_on_whole_numbers() -> None:
    shape = replace(tile_shape((13, 13), 6, 1, 4), vectors=2, rows=2, unrolled_rows=2)
    tile = RANDOM.integers(-50, 50, (shape.rows + 12) * shape.tile_samples).astype(np.float32)
    mask = RANDOM.integers(-9, 9, (13, shape.weight_pitch)).astype(np.float32)
    emitted = accumulated(shape, tile, mask)
    plain = accumulator(shape).py_func(tile, 0, LANE, mask, START)
    assert [float(value) for value in emitted] == [float(value) for value in plain]


def test_that_nan_and_infinity_reach_exactly_the_results_that_they_lie_under() -> None:
    shape = tile_shape((3, 3), 1, 1, 4)
    tile = np.ones((shape.rows + 2, shape.tile_samples), np.float32)
    tile[2, LANE * shape.across + shape.shift + 2] = np.nan
    mask = np.zeros(shape.weights, np.float32)
    sums = np.array(accumulated(shape, as_laid_out(shape, tile), mask)).reshape(shape.rows, shape.across)
    # 0 x NaN is NaN: rows 0 to 2 and samples 0 to 2 have that cell under their mask.
    wanted = np.zeros((shape.rows, shape.across), bool)
    wanted[:3, :3] = True
    assert np.array_equal(np.isnan(sums), wanted)

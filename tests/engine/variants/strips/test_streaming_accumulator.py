"""The multiply-adds of a thread that streams down a strip, compiled for this machine's processor, and on plain numbers."""

import math

import numpy as np
import pytest

from engine.variants.ir.device_function import zero_accumulators
from engine.variants.separable_fused.fused_strips import strip_shape
from engine.variants.strips.streaming_accumulator import streaming_accumulator
from engine.variants.strips.strip_shape import LANES, FactorStripShape
from tests.engine.variants.on_processor import on_the_processor

RANDOM = np.random.default_rng(12)
LANE = 7
SHAPES = [strip_shape((side, side), side // 2, 1, 1) for side in (1, 2, 3, 5, 15, 31)]
SHAPES += [strip_shape((5, 7), 0, channels, 1) for channels in (2, 3, 4)]
SHAPES += [strip_shape((1, 63), 62, 1, 1), strip_shape((33, 1), 0, 1, 1)]
SHAPES += [strip_shape((9, 9), 4, 1, 2), strip_shape((31, 8), 3, 3, 3)]


def name_of(shape: FactorStripShape) -> str:
    along = shape.along
    return f"{shape.mask_rows}x{along.mask_columns}x{along.channels}, {shape.rank} terms"


def streamed(shape: FactorStripShape, tile: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Return the results that each input row of a tile completes for one lane, group after group."""
    weights = np.zeros(shape.weights, np.float32)
    for term, row in enumerate(rows):
        weights[term * shape.along.weight_pitch :][: row.size] = row
    weights[shape.down_at :][: columns.size] = columns.ravel()
    run = on_the_processor(streaming_accumulator(shape))
    accumulators, results = (np.float32(0),) * shape.kept, []
    for group in range(len(tile) // shape.group_rows):
        at = group * shape.group_cells
        made, after = run(tile.ravel(), at, LANE, accumulators, weights, weights)
        results += made
        accumulators = tuple(map(np.float32, after))
    return np.array(results, np.float32).reshape(-1, 4)


@pytest.mark.parametrize("shape", SHAPES, ids=name_of)
def test_that_streaming_gives_each_result_its_correlation(shape: FactorStripShape) -> None:
    along = shape.along
    groups = shape.groups(5)
    tile = RANDOM.standard_normal((groups * shape.group_rows, along.tile_samples)).astype(np.float32)
    rows = RANDOM.standard_normal((shape.rank, along.mask_columns)).astype(np.float32)
    columns = RANDOM.standard_normal((shape.mask_rows, shape.rank)).astype(np.float32)
    results = streamed(shape, tile, rows, columns)
    mask = columns.astype(np.float64) @ rows.astype(np.float64)
    most = np.abs(columns).astype(np.float64) @ np.abs(rows).astype(np.float64)
    roundings = along.mask_columns + shape.rank * shape.mask_rows + 1
    for top in range(len(tile) - shape.mask_rows + 1):
        for k in range(4):
            first = 4 * LANE + along.shift + k
            last = first + (along.mask_columns - 1) * along.channels + 1
            cells = tile[top : top + shape.mask_rows, first : last : along.channels].astype(np.float64)
            bound = roundings * 2.0**-24 * 1.0001 * (most * np.abs(cells)).sum()
            wanted = math.fsum((mask * cells).ravel())
            # A row of results is complete with the last input row under its mask.
            assert abs(results[top + shape.mask_rows - 1, k] - wanted) <= bound


@pytest.mark.parametrize("shape", [SHAPES[3], SHAPES[-2], SHAPES[0]], ids=name_of)
def test_that_both_backends_agree_on_whole_numbers(shape: FactorStripShape) -> None:
    tile = RANDOM.integers(-50, 50, (4 * shape.group_rows, shape.along.tile_samples)).astype(np.float32)
    rows = RANDOM.integers(-9, 9, (shape.rank, shape.along.mask_columns)).astype(np.float32)
    columns = RANDOM.integers(-9, 9, (shape.mask_rows, shape.rank)).astype(np.float32)
    accumulators, results = zero_accumulators(shape.kept).py_func(), []
    accumulate = streaming_accumulator(shape).py_func
    for group in range(4):
        at = group * shape.group_cells
        made, accumulators = accumulate(tile.ravel(), at, LANE, accumulators, rows, columns)
        results += made
    emitted = streamed(shape, tile, rows, columns)
    assert [float(value) for value in results] == emitted.ravel().tolist()


def test_that_nan_reaches_exactly_the_results_that_it_lies_under_and_stays_in_no_accumulator() -> None:
    shape = strip_shape((3, 3), 1, 1, 1)
    tile = np.ones((8, shape.along.tile_samples), np.float32)
    tile[3, 4 * LANE + shape.along.shift + 2] = np.nan
    results = streamed(shape, tile, np.zeros((1, 3), np.float32), np.zeros((3, 1), np.float32))
    # 0 x NaN is NaN: input rows 3 to 5 complete the results that have row 3 under their mask.
    wanted = np.zeros((8, 4), bool)
    wanted[3:6, :3] = True
    assert np.array_equal(np.isnan(results), wanted)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("itemsize", [1, 2, 4])
def test_that_every_mask_a_thread_can_keep_fits_shared_memory_whatever_its_anchor(
    itemsize: int, channels: int
) -> None:
    for rows in (1, 3, 15, 33):
        for columns in range(1, 64):
            for anchor in {0, columns // 2, columns - 1}:
                for rank in (1, 2, 3):
                    shape = strip_shape((rows, columns), anchor, channels, rank)
                    along = shape.along
                    assert shape.shared_bytes <= 48 * 1024, (rows, columns, anchor)
                    # A thread's window begins on a vector, ends within the row, and holds every sample it needs.
                    assert along.before % 4 == along.window % 4 == along.tile_samples % 4 == 0
                    assert along.shift + 4 + (columns - 1) * channels <= along.window
                    assert 4 * (LANES - 1) + along.window <= along.tile_samples
                    assert min(shape.ahead, shape.group_rows) >= 1

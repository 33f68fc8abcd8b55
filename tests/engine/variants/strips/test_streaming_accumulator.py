"""The multiply-adds of a thread that streams down a strip, compiled for this machine and on plain numbers."""

import numpy as np
import pytest

from engine.tasks.filtering.problem import Problem
from engine.variants.ir.device_function import zero_accumulators
from engine.variants.low_rank.product_strips import shape_of
from engine.variants.strips.streaming_accumulator import streaming_accumulator
from tests.engine.variants.ir.emitted import whole
from tests.engine.variants.on_processor import on_the_processor

LANE = 7
# (mask shape, anchor's column, channels, terms)
MASKS = [((side, side), side // 2, 1, 1) for side in (1, 2, 3, 5, 15, 31)]
MASKS += [((5, 7), 0, channels, 1) for channels in (2, 3, 4)]
MASKS += [((1, 63), 62, 1, 1), ((33, 1), 0, 1, 1), ((9, 9), 4, 1, 2), ((31, 8), 3, 3, 3)]


def shape_for(mask_shape, left, channels, terms):
    return shape_of(Problem(99, 99, channels, "float32", mask_shape, (0, left)), terms)


def streamed(shape, tile, rows, columns):
    """Return the results that each input row of a tile completes for one lane, in both backends."""
    function = streaming_accumulator(shape)
    # As constant memory has them; on plain numbers the factors are what they are.
    weights = np.zeros(shape.weights, np.float32)
    for term, row in enumerate(rows):
        weights[term * shape.along.weight_pitch :][: row.size] = row
    weights[shape.down_at :][: columns.size] = columns.ravel()
    both = []
    for run, along, down in (
        (on_the_processor(function), weights, weights),
        (function.py_func, rows, columns),
    ):
        accumulators, results = zero_accumulators(shape.kept).py_func(), []
        for at in range(0, tile.size, shape.group_cells):
            made, after = run(tile.ravel(), at, LANE, accumulators, along, down)
            results += made
            accumulators = tuple(map(np.float32, after))
        both.append(np.array(results, np.float32).reshape(-1, 4))
    return both[0], both[1]


@pytest.mark.slow
@pytest.mark.parametrize(("mask_shape", "left", "channels", "terms"), MASKS)
def test_that_streaming_gives_each_result_its_correlation_in_both_backends(mask_shape, left, channels, terms):
    shape = shape_for(mask_shape, left, channels, terms)
    along, (mask_rows, mask_columns) = shape.along, mask_shape
    tile = whole((shape.groups(5) * shape.group_rows, along.tile_samples), 30)
    rows, columns = whole((terms, mask_columns), 9), whole((mask_rows, terms), 9)
    emitted, plain = streamed(shape, tile, rows, columns)
    mask = columns @ rows
    for top in range(len(tile) - mask_rows + 1):
        for k in range(4):
            first = 4 * LANE + along.shift + k
            cells = tile[top : top + mask_rows, first : first + (mask_columns - 1) * channels + 1 : channels]
            # A row of results is complete with the last input row under its mask.
            found = emitted[top + mask_rows - 1, k], plain[top + mask_rows - 1, k]
            assert found == ((mask * cells).sum(dtype=np.float64),) * 2


def test_that_nan_reaches_exactly_the_results_that_it_lies_under_and_stays_in_no_accumulator():
    shape = shape_for((3, 3), 1, 1, 1)
    tile = np.ones((8, shape.along.tile_samples), np.float32)
    tile[3, 4 * LANE + shape.along.shift + 2] = np.nan
    # 0 x NaN is NaN: input rows 3 to 5 complete the results that have row 3 under their mask.
    wanted = np.zeros((8, 4), bool)
    wanted[3:6, :3] = True
    for results in streamed(shape, tile, np.zeros((1, 3), np.float32), np.zeros((3, 1), np.float32)):
        assert np.array_equal(np.isnan(results), wanted)

"""Strips that a warp streams down: how they cover a picture, their loader, their multiply-adds."""

import math

import numpy as np
import pytest

from engine.geometry.block_rules import MAX_GRID_Y, blocks_along
from engine.geometry.border import Border
from engine.variants.ir.device_function import zero_accumulators
from engine.variants.low_rank import product_strips
from engine.variants.low_rank.product_strips import shape_of
from engine.variants.low_rank.product_sums import streaming_accumulator
from engine.variants.tiles import waves
from engine.variants.tiles.strip_loader import strip_columns, strip_loader
from engine.variants.tiles.strip_shape import LANES, shares_out
from engine.variants.tiles.waves import rows_of_strips
from engine.work.filtering.problem import Problem
from engine.work.picture_problem import MAX_SIDE
from tests.engine.variants.emitted import check_loaded, on_the_processor, unoptimised, whole


@pytest.mark.parametrize("side", [4, 5, 9, 15, 31])
def test_that_strips_cover_the_picture(side):
    for size in (1, 7, 33, 256, 1024, 4096, 16384):
        problem = Problem(size, size, 1, "float32", (side, side), (side // 2, side // 2))
        grid = product_strips.grid_of(problem, shape_of(problem, 2))
        launch, rows, strips = grid.launch(), grid.rows, grid.bands * grid.across
        assert grid.bands * rows >= size > (grid.bands - 1) * rows
        idle = launch.blocks * launch.block[1] - strips
        assert 0 <= idle < launch.block[1] * grid.bands
        assert (rows + side - 1) % grid.shape.group_rows == 0
        if size >= 4096:
            assert (side - 1) / rows <= 0.5
            assert strips >= 900


BOUNDS = (1500, 6000), (20, 300), (1, 31), (2, 11), (1, 33), (1, 40)


@pytest.mark.parametrize(("channels", "dtype"), [(1, "float32"), (3, "uint8")])
def test_that_the_blocks_of_strips_fill_their_waves(channels, dtype):
    filled = []
    for number in range(300):
        random = np.random.default_rng(number)
        height, across, mask_rows, resident, step, least = (int(random.integers(*some)) for some in BOUNDS)
        problem = Problem(height, 1000, channels, dtype, (mask_rows, 1), (0, 0))
        beyond = mask_rows - 1 if number % 2 else 0
        rows = rows_of_strips(problem, across, resident, step=step, beyond=beyond, least=least)
        assert rows >= least
        assert (rows + beyond) % step == 0
        count = across * -(-height // rows) / (waves.MULTIPROCESSORS * resident)
        filled.append(count / math.ceil(count))
    assert np.mean(filled) > 0.92
    assert np.percentile(filled, 5) > 0.8


def test_that_a_low_picture_is_one_strip_and_a_very_wide_one_too():
    low, wide = (Problem(height, 9, 1, "float32", (31, 31), (0, 0)) for height in (5, 40))
    assert rows_of_strips(low, 3, 4, step=8) == 8
    assert rows_of_strips(wide, 10**6, 4, step=8) == 40


@pytest.mark.parametrize("resident", [1, 5, 16, 62])
def test_that_the_blocks_down_the_highest_picture_fit_the_grid(resident):
    problem = Problem(MAX_SIDE, 1, 1, "float32", (1, 1), (0, 0))
    assert blocks_along(problem.height, rows_of_strips(problem, 1, resident, step=1)) <= MAX_GRID_Y


@pytest.mark.slow
@pytest.mark.parametrize(
    ("dtype", "channels", "side", "border"),
    [
        ("float32", 1, 9, Border.CONSTANT),
        ("float32", 1, 13, Border.WRAP),
        ("uint8", 3, 7, Border.CONSTANT),
        ("uint8", 3, 7, Border.MIRROR),
        ("uint16", 2, 6, Border.WRAP),
    ],
)
def test_that_a_strip_holds_what_the_border_says_wherever_it_lies(dtype, channels, side, border):
    problem = Problem(64, 64, channels, dtype, (side, side), (side // 2, side // 2), border)
    shape = shape_of(problem, 2)
    along, rows = shape.along, shape.group_rows
    itemsize = np.dtype(dtype).itemsize
    columns_of = on_the_processor(strip_columns(along, border.rule, itemsize))
    load_of_lane = on_the_processor(strip_loader(along, rows, itemsize, border.rule))

    @unoptimised
    def load(target, image, samples, top, left, ghost_value):
        for lane in range(LANES):
            columns = columns_of(samples, lane, left)
            load_of_lane(*target, image, samples, top, lane, left, columns, ghost_value)

    check_loaded(load, border, along, rows, channels, dtype, last_needs_less=shares_out(along, itemsize))


LANE = 7
# (mask shape, anchor's column, channels, terms)
MASKS = [((side, side), side // 2, 1, 1) for side in (1, 2, 5, 15)]
MASKS += [((5, 7), 0, channels, 1) for channels in (3, 4)]
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


def test_that_nan_reaches_exactly_the_results_that_it_lies_under():
    shape = shape_for((3, 3), 1, 1, 1)
    tile = np.ones((8, shape.along.tile_samples), np.float32)
    tile[3, 4 * LANE + shape.along.shift + 2] = np.nan
    # 0 x NaN is NaN: input rows 3 to 5 complete the results that have row 3 under their mask.
    wanted = np.zeros((8, 4), bool)
    wanted[3:6, :3] = True
    for results in streamed(shape, tile, np.zeros((1, 3), np.float32), np.zeros((3, 1), np.float32)):
        assert np.array_equal(np.isnan(results), wanted)

"""How high the strips are that blocks move down."""

import math

import numpy as np
import pytest

from engine.geometry.block import MAX_GRID_Y, blocks_along
from engine.variants.tiles import waves
from engine.variants.tiles.waves import rows_of_strips
from engine.work.filtering.problem import Problem
from engine.work.picture_problem import MAX_SIDE

BOUNDS = (1500, 6000), (20, 300), (1, 31), (2, 11), (1, 33), (1, 40)


@pytest.mark.parametrize(("channels", "dtype"), [(1, "float32"), (3, "uint8")])
def test_that_the_blocks_of_strips_fill_their_waves(channels, dtype):
    filled = []
    for number in range(300):
        random = np.random.default_rng(number)
        height, across, mask_rows, resident, step, least = (int(random.integers(*some)) for some in BOUNDS)
        problem = Problem(height, 1000, channels, dtype, (mask_rows, 1), (0, 0))
        rows = rows_of_strips(problem, across, resident, step=step, least=least)
        assert rows >= least
        assert rows % step == 0
        count = across * -(-height // rows) / (waves.MULTIPROCESSORS * resident)
        filled.append(count / math.ceil(count))
    assert np.mean(filled) > 0.92
    assert np.percentile(filled, 5) > 0.8


def test_that_a_low_picture_is_one_strip_and_a_very_wide_one_too():
    low, wide = (Problem(height, 9, 1, "float32", (31, 31), (0, 0)) for height in (5, 40))
    assert rows_of_strips(low, 3, 4, step=8) == 8
    assert rows_of_strips(wide, 10**6, 4, step=8) == 40


def test_that_the_blocks_down_the_highest_picture_fit_the_grid():
    for resident in [1, 5, 16, 62]:
        problem = Problem(MAX_SIDE, 1, 1, "float32", (1, 1), (0, 0))
        assert blocks_along(problem.height, rows_of_strips(problem, 1, resident, step=1)) <= MAX_GRID_Y

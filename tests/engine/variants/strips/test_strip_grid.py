"""How strips that a warp streams down cover a picture."""

import pytest

from engine.tasks.filtering.problem import Problem
from engine.variants.low_rank import product_strips
from engine.variants.split_float16 import split_float16

MOST_WARPS = split_float16.WARPS * split_float16.BLOCKS * 132


def grids_of(size, side):
    problem = Problem(size, size, 1, "float32", (side, side), (side // 2, side // 2))
    halves = [split_float16.grid_of(problem)] if 7 <= side <= 17 else []
    return [product_strips.grid_of(problem, product_strips.shape_of(problem, 2)), *halves]


@pytest.mark.parametrize("side", [4, 5, 9, 15, 31])
@pytest.mark.parametrize("size", [1, 7, 33, 256, 1024, 4096, 16384])
def test_that_strips_cover_the_picture_and_filter_few_rows_twice_in_large_ones(size, side):
    for grid in grids_of(size, side):
        launch, rows = grid.launch(), grid.rows
        assert launch.grid[1] * rows >= size > (launch.grid[1] - 1) * rows
        assert launch.grid[0] * launch.block[1] * 128 >= size
        assert (rows + side - 1) % grid.shape.group_rows == 0
        if size >= 4096:
            assert (side - 1) / rows <= 0.25
            assert launch.blocks * launch.block[1] >= 900
        elif grid.most_warps == split_float16.MOST_WARPS:
            assert launch.blocks * launch.block[1] <= MOST_WARPS

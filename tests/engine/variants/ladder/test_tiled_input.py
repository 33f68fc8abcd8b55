"""`tiled-input`: its geometry, what it refuses, and its kinship with `tiled`."""

import numpy as np
import pytest

from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import MAX_GRID_Y
from engine.mask.mask import Mask
from engine.variants.ladder import tiled_input
from engine.variants.registry import variant
from tests.engine.variants.cases import problem_of

LIMITS = Limits()
TILED_INPUT, TILED = variant("tiled-input"), variant("tiled")


def ones(rows, columns):
    return Mask(np.ones((rows, columns)))


@pytest.mark.parametrize("block", [Block(5, 3), Block(8, 8), Block(32, 32), Block(40, 4)], ids=str)
@pytest.mark.parametrize(("height", "width"), [(1, 1), (97, 31), (28, 56), (29, 57)])
def test_that_the_output_tiles_cover_the_picture_without_an_idle_block(height, width, block):
    (launch,) = tiled_input.VARIANT.plan(problem_of(height, width, ones(3, 5)), block)
    across, down, _ = launch.grid
    o_tile_x, o_tile_y = block.x - 4, block.y - 2
    assert (across - 1) * o_tile_x < width <= across * o_tile_x
    assert (down - 1) * o_tile_y < height <= down * o_tile_y
    assert launch.block == (block.x, block.y, 1)
    assert launch.shared_bytes == block.x * block.y * 4


def refusal_of(mask, block, height=100):
    return tiled_input.VARIANT.unsupported(problem_of(height, 8, mask), mask, block, LIMITS)


@pytest.mark.parametrize(("side", "percent"), [(3, 12), (5, 23), (15, 68)])
def test_that_as_many_threads_idle_as_the_docstring_says(side, percent):
    results = tiled_input.output_tile((side, side), Block(32, 32)).threads
    assert round(100 * (1 - results / 1024)) == percent
    assert f"{percent} %" in str(tiled_input.__doc__)


@pytest.mark.parametrize(
    ("mask", "block", "nearest"),
    [
        (ones(5, 5), Block(4, 32), Block(5, 32)),
        (ones(5, 5), Block(32, 4), Block(32, 5)),
        (ones(1, 127), Block(32, 32), Block(127, 8)),
        (ones(32, 32), Block(16, 16), TILED_INPUT.default_block),
    ],
    ids=["narrow", "low", "one row", "largest"],
)
def test_that_a_block_smaller_than_the_mask_is_refused_with_the_nearest_that_holds_it(mask, block, nearest):
    refusal = refusal_of(mask, block)
    assert f"for its {mask.rows} x {mask.columns} cells the block" in refusal.reason
    assert f"at least {mask.columns} wide and {mask.rows} high" in refusal.reason
    assert refusal.nearest_block == nearest
    assert tiled_input.VARIANT.unsupported(problem_of(100, 100, mask), mask, nearest, LIMITS) is None


@pytest.mark.parametrize("mask", [ones(63, 63), ones(32, 33)], ids=["63x63", "32x33"])
def test_that_a_mask_of_more_cells_than_threads_is_refused_and_tiled_named_which_takes_it(mask):
    refusal = refusal_of(mask, TILED_INPUT.default_block)
    assert refusal.nearest_block is None
    assert f"{mask.taps:,} threads; the limit is 1,024 per block. Use tiled" in refusal.reason
    assert TILED.unsupported(problem_of(100, 100, mask), mask, TILED.default_block, LIMITS) is None


def test_that_the_highest_grid_is_allowed_and_one_row_more_needs_a_higher_block():
    mask, block = ones(3, 3), Block(8, 6)
    highest = MAX_GRID_Y * 4
    assert tiled_input.VARIANT.unsupported(problem_of(highest, 3, mask), mask, block, LIMITS) is None
    refusal = refusal_of(mask, block, highest + 1)
    assert "need 65,536 blocks of 8 x 6 down; CUDA allows 65,535" in refusal.reason
    assert refusal.nearest_block == Block(8, 7)
    # Too high for every block.
    assert refusal_of(ones(5, 5), Block(32, 32), 1 << 24).nearest_block is None

"""Plans and refusals: pure functions of plain integers."""

import math

import numpy as np
import pytest

from engine.device.launches import DeviceKind
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import MAX_GRID_Y, nearest_legal
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.variants.registry import VARIANTS, variant
from tests.engine.variants.suited import mask_for, typed

CUDA = [known for known in VARIANTS if known.has_kernels]
CPU = [known for known in VARIANTS if known.device is DeviceKind.CPU]
LIMITS = Limits()
every_cuda_variant = pytest.mark.parametrize("known", CUDA, ids=lambda known: known.key)
# One thread a result, along columns and rows; the others have plans and tests of their own.
PLAIN = [variant(key) for key in ("naive", "tiled", "cached")]
every_plain_variant = pytest.mark.parametrize("known", PLAIN, ids=lambda known: known.key)


def problem_of(height, width, mask, channels=1):
    return Problem(height, width, channels, mask_shape=mask.shape, anchor=mask.anchor)


def shared_bytes_of(key, mask, block):
    tile = (block.x + mask.columns - 1) * (block.y + mask.rows - 1)
    return {"naive": 0, "tiled": tile * 4, "cached": block.x * block.y * 4}[key]


@every_plain_variant
@pytest.mark.parametrize("block", [Block(1, 1), Block(8, 4), Block(33, 3), Block(1024, 1)], ids=str)
@pytest.mark.parametrize(("height", "width"), [(1, 1), (4, 8), (5, 9), (97, 31)])
def test_that_the_grid_covers_the_picture_without_an_idle_block(known, height, width, block):
    mask = Mask(np.ones((3, 5)))
    (launch,) = known.plan(problem_of(height, width, mask, 3), block)
    across, down, deep = launch.grid
    assert (across - 1) * block.x < width <= across * block.x
    assert (down - 1) * block.y < height <= down * block.y
    assert deep == 3
    assert launch.block == (block.x, block.y, 1)
    assert launch.shared_bytes == shared_bytes_of(known.key, mask, block)


@pytest.mark.parametrize("known", CPU, ids=lambda known: known.key)
def test_that_a_cpu_variant_launches_nothing_and_refuses_no_block(known):
    mask = Mask(np.ones((63, 63)))
    assert known.plan(problem_of(5, 5, mask), Block(16, 16)) == ()
    assert known.unsupported(problem_of(5, 5, mask), mask, Block(0, 0), LIMITS) is None
    assert not known.uses_block


@pytest.mark.parametrize("known", [v for v in CUDA if v.uses_block], ids=lambda known: known.key)
@pytest.mark.parametrize(
    ("block", "words"),
    [
        *((block, "no threads") for block in (Block(0, 16), Block(16, 0), Block(-3, 4))),
        (Block(2048, 1), "too wide"),
        (Block(1, 2048), "too high"),
        (Block(64, 32), "2,048 threads; the limit is 1,024"),
    ],
    ids=str,
)
def test_that_an_illegal_block_is_refused_with_a_legal_one(known, block, words):
    mask = mask_for(known, 3, 3)
    problem = problem_of(50, 50, mask)
    refusal = known.unsupported(problem, mask, block, LIMITS)
    assert words in refusal.reason
    assert refusal.nearest_block is not None
    assert known.unsupported(problem, mask, refusal.nearest_block, LIMITS) is None
    assert refusal.remedy == f"The nearest legal block is {refusal.nearest_block}."


@every_cuda_variant
def test_that_the_default_block_is_legal(known):
    side = min(15, math.isqrt(known.most_cells))
    mask = mask_for(known, side, side)
    problem = typed(known, problem_of(100, 100, mask))
    assert known.unsupported(problem, mask, known.default_block, LIMITS) is None


@every_plain_variant
def test_that_a_legal_block_is_not_refused(known):
    mask = Mask(np.ones((63, 63)))
    for block in (Block(1, 1), Block(32, 8)):
        assert known.unsupported(problem_of(100, 100, mask), mask, block, LIMITS) is None


def brute_force(block, limits, shared_bytes, least):
    """Return the distance of the nearest legal block, all of them tried."""

    def ratio(a, b):
        return max(a, b) / min(a, b)

    return min(
        ratio(x, max(block.x, 1)) * ratio(y, max(block.y, 1))
        for y in range(least.y, limits.max_block_y + 1)
        for x in range(least.x, limits.max_block_x + 1)
        if x * y <= limits.max_threads and shared_bytes(Block(x, y)) <= limits.shared_bytes
    )


@pytest.mark.parametrize("least", [Block(1, 1), Block(1, 5), Block(5, 1)], ids=str)
@pytest.mark.parametrize("shared_limit", [200, 900, 4096])
@pytest.mark.parametrize(
    "block", [Block(0, 9), Block(13, 7), Block(70, 70), Block(3, 64), Block(64, 1)], ids=str
)
def test_that_the_nearest_legal_block_is_the_nearest_of_all(block, shared_limit, least):
    limits = Limits(max_threads=96, max_block_x=64, max_block_y=48, shared_bytes=shared_limit)

    def shared_bytes(candidate):
        return (candidate.x + 2) * (candidate.y + 4) * 4

    nearest = nearest_legal(block, limits, shared_bytes, least)
    assert nearest.threads <= 96
    assert nearest.x >= least.x
    assert nearest.y >= least.y
    assert shared_bytes(nearest) <= shared_limit
    distance = max(nearest.x, block.x or 1) / min(nearest.x, block.x or 1)
    distance *= max(nearest.y, block.y) / min(nearest.y, block.y)
    assert distance == brute_force(block, limits, shared_bytes, least)


def test_that_a_tile_that_does_not_fit_is_refused_with_a_smaller_block_where_there_is_one():
    tiled, mask = variant("tiled"), Mask(np.ones((63, 63)))
    problem = problem_of(2000, 2000, mask)
    refusal = tiled.unsupported(problem, mask, Block(256, 4), LIMITS)
    assert "needs 83,952 bytes of shared memory for its tile; a block has 49,152" in refusal.reason
    assert tiled.unsupported(problem, mask, refusal.nearest_block, LIMITS) is None
    refusal = tiled.unsupported(problem, mask, Block(8, 8), Limits(shared_bytes=1000))
    assert (refusal.nearest_block, refusal.remedy) == (None, "")


@every_plain_variant
@pytest.mark.parametrize("side", [3, 63])
@pytest.mark.parametrize("block", [Block(1024, 1), Block(2048, 1), Block(32, 8), Block(0, 0)], ids=str)
def test_that_a_grid_too_high_for_cuda_is_refused_with_a_block_that_makes_it_lower(known, block, side):
    mask = Mask(np.ones((side, side)))
    problem = problem_of(1 << 24, 8, mask)
    refusal = known.unsupported(problem, mask, block, LIMITS)
    if block == Block(32, 8):
        assert "16,777,216 rows need 2,097,152 blocks of 32 x 8 down; CUDA allows 65,535" in refusal.reason
    if refusal.nearest_block is None:
        # 257 rows of threads and 62 of halo are too much for any width of this tile.
        assert (known.key, side) == ("tiled", 63)
        return
    assert known.unsupported(problem, mask, refusal.nearest_block, LIMITS) is None
    (launch,) = known.plan(problem, refusal.nearest_block)
    assert launch.grid[1] <= MAX_GRID_Y
    # The highest grid is allowed, and one row more is not.
    assert known.unsupported(problem_of(MAX_GRID_Y * 4, 3, mask), mask, Block(8, 4), LIMITS) is None
    refusal = known.unsupported(problem_of(MAX_GRID_Y * 4 + 1, 3, mask), mask, Block(8, 4), LIMITS)
    assert refusal.nearest_block == Block(8, 5)

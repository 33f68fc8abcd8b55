"""Halo and idle threads of the launches of a filter, from what its variant says of its tiles."""

from collections.abc import Callable
from functools import lru_cache
from itertools import product

import numpy as np

from engine.device.launches import Launch
from engine.geometry.block import Block
from engine.geometry.tile_plan import UNUSED, TilePlan
from engine.results.work import BlockShares
from engine.work.filtering.problem import Problem

Tiles = Callable[[Problem, Block, tuple[int, int]], tuple[TilePlan, ...]]


# Up to 10 ms where each warp has a tile of its own; a window asks again for each key that is pressed.
@lru_cache(maxsize=64)
def shares_of(
    tiles: Tiles, problem: Problem, block: Block, launches: tuple[Launch, ...]
) -> tuple[BlockShares, ...]:
    """Return the shares of each launch; they are not known of a variant that does not say its tiles.

    All blocks of a grid but those of its last column and its last row are alike, so four of them tell.
    """
    first = tiles(problem, block, (0, 0))
    if not first:
        return tuple(BlockShares() for _ in launches)
    if len(launches) == 1:
        # Each warp may have a tile of its own: which of them lie at an edge, its block does not tell.
        idle = _idle(tiles, problem, block, launches[0], 0) if len(first) == 1 else None
        return (BlockShares(_halo_redundancy(first), idle),)
    return tuple(
        BlockShares(_halo_redundancy((plan,)), _idle(tiles, problem, block, launch, number))
        for number, (launch, plan) in enumerate(zip(launches, first, strict=True))
    )


def _halo_redundancy(plans: tuple[TilePlan, ...]) -> float:
    """Return the cells of input tiles over the results of output tiles."""
    cells = results = 0
    for plan in plans:
        rows, columns = plan.shape
        cells += (rows + plan.cut_rows) * columns - int((plan.loaders == UNUSED).sum())
        # What is not drawn has results too, but where a row of the tile is a cell of the mask.
        cut_results = plan.cut_rows if plan.window_stride[0] else 0
        results += plan.result_rows.size + cut_results * plan.result_rows.shape[1]
    return cells / results


def _idle(tiles: Tiles, problem: Problem, block: Block, launch: Launch, number: int) -> float:
    """Return the part of all threads of a launch that computes no result."""
    across, down, _ = launch.grid
    busy = 0
    for x, y in product({0, across - 1}, {0, down - 1}):
        alike = (across - 1 if across > 1 and x == 0 else 1) * (down - 1 if down > 1 and y == 0 else 1)
        busy += alike * len(np.unique(tiles(problem, block, (x, y))[number].computers))
    # Blocks along z are channels, all alike.
    return 1 - busy * launch.grid[2] / launch.threads

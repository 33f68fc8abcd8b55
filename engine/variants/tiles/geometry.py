"""Grids of blocks: plans, refusals and the loads of tiles. Pure integers."""

from collections.abc import Callable, Sequence

from engine.device.launches import Launch
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import (
    MAX_GRID_Y as MAX_GRID_Y,  # for variants too: grids are this module's subject
)
from engine.geometry.block_rules import SharedBytes, grid_too_high, refuse_block
from engine.geometry.block_rules import blocks_along as blocks_along
from engine.geometry.refusal import Refusal
from engine.mask.mask import Mask
from engine.work.filtering.problem import Problem
from engine.work.filtering.work import cells_inside


def one_launch(
    problem: Problem, block: Block, shared_bytes: int = 0, tile: Block | None = None
) -> tuple[Launch, ...]:
    """Return a launch whose blocks each compute a tile of results, by default one result per thread.

    x runs along columns, y along rows, z along channels.
    """
    tile = tile or block
    grid = (blocks_along(problem.width, tile.x), blocks_along(problem.height, tile.y), problem.channels)
    return (Launch(grid, (block.x, block.y, 1), shared_bytes),)


def launch_of_samples(
    problem: Problem, samples: int, rows: int, warps: int, shared_bytes: int, constant_bytes: int = 0
) -> Launch:
    """Return the launch of blocks of `warps` warps that have `rows` rows of `samples` results each."""
    grid = (blocks_along(problem.width * problem.channels, samples), blocks_along(problem.height, rows), 1)
    return Launch(grid, (32, warps, 1), shared_bytes, constant_bytes)


def loads_of_tiles(
    problem: Problem, lefts: Sequence[int], samples: int, bands: Sequence[tuple[int, int]]
) -> int:
    """Return the elements of the picture that tiles load: all their cells, but no ghost cells.

    Parameters
    ----------
    problem : Problem
    lefts : sequence of int
        First sample of each tile across, before or in the picture.
    samples : int
        Samples per row of a tile.
    bands : sequence of (int, int)
        First row and number of rows of each tile down.
    """
    if not problem.border.has_ghost_cells:
        return len(lefts) * samples * sum(rows for _, rows in bands)
    columns = sum(cells_inside(left, left + samples, problem.width * problem.channels) for left in lefts)
    return columns * sum(cells_inside(first, first + rows, problem.height) for first, rows in bands)


def refuse_launch(
    problem: Problem,
    mask: Mask,
    block: Block,
    limits: Limits,
    shared_bytes: SharedBytes = lambda block: 0,
    *,
    least_x: int = 1,
    idle_rows: int = 0,
    too_small: Callable[[], Refusal | None] = lambda: None,
) -> Refusal | None:
    """Return why a block, its shared memory or its grid is illegal, with the nearest legal block; else None.

    Parameters
    ----------
    problem, mask, block, limits
        As a variant's `unsupported` gets them; the mask may be any.
    shared_bytes : callable of Block -> int
        Static shared memory that the variant uses with a block, bytes.
    least_x : int
        Least width of a block, in threads, with which the variant can load its tile.
    idle_rows : int
        Rows of a block's threads that compute no result.
    too_small : callable of () -> Refusal
        The refusal of a block that is narrower, or has no row that computes.
    """
    least = Block(max(1, least_x), idle_rows + blocks_along(problem.height, MAX_GRID_Y))

    def refuse_small() -> Refusal | None:
        rows = block.y - idle_rows
        if block.x < least_x or rows < 1:
            return too_small()
        return grid_too_high(problem.height, "rows", blocks_along(problem.height, rows), block)

    return refuse_block(block, limits, shared_bytes, least=least, too_small=refuse_small)


def refuse_rows(problem: Problem, launch: Launch, rows_of_block: int) -> Refusal | None:
    """Return why a picture is too high for a variant that has blocks of its own, or None."""
    if launch.grid[1] <= MAX_GRID_Y:
        return None
    return Refusal(
        "grid-too-high",
        f"Takes pictures of up to {MAX_GRID_Y * rows_of_block:,} rows",
        f"{problem.height:,} rows need more blocks down than CUDA allows; it takes up to "
        f"{MAX_GRID_Y * rows_of_block:,}.",
    )

"""Grids of blocks: plans, refusals and the loads of tiles. Pure integers."""

from collections.abc import Sequence
from typing import Any

from engine.device.launches import Launch
from engine.geometry.block import (
    MAX_GRID_Y as MAX_GRID_Y,  # for variants too: grids are this module's subject
)
from engine.geometry.block import Block, Limits, Refusal, SharedBytes, refuse_grid
from engine.geometry.block import blocks_along as blocks_along
from engine.mask.mask import Mask
from engine.work.filtering.problem import Problem
from engine.work.filtering.work import cells_inside


def one_launch(
    problem: Problem, block: Block, shared_bytes: int = 0, tile: Block | None = None
) -> tuple[Launch, ...]:
    """Return a launch whose blocks each compute a tile of results, by default one result per thread."""
    size = problem.height, problem.width, problem.channels
    return (Launch.of_threads(*size, block, shared_bytes, tile),)


def launch_of_samples(
    problem: Problem, samples: int, rows: int, warps: int, shared_bytes: int, constant_bytes: int = 0
) -> Launch:
    """Return the launch of blocks of `warps` warps that have `rows` rows of `samples` results each."""
    grid = (blocks_along(problem.width * problem.channels, samples), blocks_along(problem.height, rows), 1)
    tile = Block(samples, rows)
    return Launch(grid, (32, warps, 1), shared_bytes, constant_bytes, tile, problem.samples)


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
    **more: Any,
) -> Refusal | None:
    """Return why a block, its shared memory or its grid is illegal, whatever the mask: `refuse_grid`."""
    return refuse_grid(problem.height, block, limits, shared_bytes, **more)


def refuse_shared_memory(
    problem: Problem, launch: Launch, most: int, kept: str, instead: str
) -> Refusal | None:
    """Return why a variant that has blocks of its own has no room for what it keeps there, or None."""
    needed, (rows, columns) = launch.shared_bytes, problem.mask_shape
    if needed <= most:
        return None
    return Refusal(
        "shared-memory",
        f"Needs {needed:,} bytes of shared memory",
        f"A mask of {rows} × {columns} on {problem.channels} channels needs {needed:,} bytes of shared "
        f"memory for its {kept}; a block has {most:,}.",
        f"Use {instead}, or fewer channels.",
    )


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

"""Tiles of the teaching kernels, a result per thread: what `Variant.tiles` of these is made of."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.geometry.block import Block
from engine.geometry.tile_plan import DIRECT, Cells, TilePlan, grid_of_cells
from engine.work.filtering.problem import Problem

Index = tuple[int, int]
# From cells' rows and columns in the tile to the threads' x and y, and the step in which they load.
Loads = Callable[[Cells, Cells], tuple[Cells, Cells, Cells]]


def tile_plan(
    problem: Problem,
    block: Block,
    at: Index,
    loads: Loads | None = None,
    *,
    own_cells: bool = False,
    results: Block | None = None,
    mask_shape: tuple[int, int] | None = None,
    anchor: tuple[int, int] | None = None,
    whole_rows: bool = False,
    whole_columns: bool = False,
    **words: Any,
) -> TilePlan:
    """Return the tile of a block that computes a rectangle of results, thread (x, y) result (y, x) of it.

    Parameters
    ----------
    problem, block, at
        As `Variant.tiles` gets them.
    loads : callable, optional
        Which thread copies a cell to shared memory; without it no thread does.
    own_cells : bool
        Whether it does so for the cells of the block's results only, and not for the halo.
    results : Block, optional
        Results of a block, where these are not one per thread.
    mask_shape, anchor : (int, int), optional
        Of a pass, where these are not the mask's.
    whole_rows, whole_columns : bool
        Whether cells are loaded, too, that only results past the picture would need.
    **words
        `step_names`, `reads`, `writes`, `title`, `note` of the `TilePlan`.
    """
    results, (rows, columns) = results or block, mask_shape or problem.mask_shape
    anchor_row, anchor_column = anchor or problem.anchor
    top, left = at[1] * results.y, at[0] * results.x
    down, across = min(results.y, problem.height - top), min(results.x, problem.width - left)
    tile_rows = (results.y if whole_rows else down) + rows - 1
    tile_columns = (results.x if whole_columns else across) + columns - 1
    source_rows, source_columns = grid_of_cells(
        top - anchor_row, left - anchor_column, tile_rows, tile_columns
    )
    tile_row, tile_column = grid_of_cells(0, 0, tile_rows, tile_columns)
    loaders, steps = np.full_like(tile_row, DIRECT), np.zeros_like(tile_row)
    if loads is not None:
        x, y, step = loads(tile_row, tile_column)
        kept = np.ones(tile_row.shape, bool)
        if own_cells:
            kept = np.zeros(tile_row.shape, bool)
            kept[anchor_row : anchor_row + down, anchor_column : anchor_column + across] = True
        loaders, steps = np.where(kept, x + block.x * y, DIRECT), np.where(kept, step, 0)
    result_rows, result_columns = grid_of_cells(top, left, down, across)
    y, x = grid_of_cells(0, 0, down, across)
    return TilePlan(
        height=problem.height,
        width=problem.width,
        border=problem.border,
        block=block,
        at=at,
        source_rows=source_rows,
        source_columns=source_columns,
        loaders=loaders.astype(np.int32),
        steps=steps.astype(np.int32),
        result_rows=result_rows,
        result_columns=result_columns,
        computers=x + np.int32(block.x) * y,
        window_shape=(rows, columns),
        **words,
    )


def direct_tiles(problem: Problem, block: Block, at: Index) -> tuple[TilePlan, ...]:
    """Return the cells that a block's results read, where none is kept in shared memory."""
    return (tile_plan(problem, block, at),)


def own_cell_tiles(problem: Problem, block: Block, at: Index) -> tuple[TilePlan, ...]:
    """Return the tile where each thread keeps the cell at its own index, and the halo is read directly."""
    anchor_row, anchor_column = problem.anchor
    loads = own_loads(anchor_row, anchor_column)
    return (tile_plan(problem, block, at, loads, own_cells=True),)


def halo_step_tiles(problem: Problem, block: Block, at: Index) -> tuple[TilePlan, ...]:
    """Return the tile of a 1-D kernel: left halo by the last threads, centre, right halo by the first."""
    left_halo = problem.anchor[1]

    def loads(row: Cells, column: Cells) -> tuple[Cells, Cells, Cells]:
        # The thread whose own cell it would be, were it not a whole block further on or back.
        x = column - left_halo
        return x % block.x, row, np.select([x < 0, x < block.x], [1, 2], 3)

    names = ("left halo", "centre", "right halo")
    return (tile_plan(problem, block, at, loads, whole_columns=True, step_names=names),)


def own_loads(anchor_row: int, anchor_column: int) -> Loads:
    """Return the loads where each thread takes the cell at its own index."""
    return lambda row, column: (column - anchor_column, row - anchor_row, np.ones_like(row))


HORIZONTAL: dict[str, Any] = {"title": "along the rows", "reads": "N", "writes": "S"}
VERTICAL: dict[str, Any] = {"title": "along the columns", "reads": "S", "writes": "P"}


def two_pass_tiles(
    problem: Problem,
    block: Block,
    at: Index,
    along: Loads | None = None,
    down: Loads | None = None,
    *,
    own_cells: bool = False,
) -> tuple[TilePlan, ...]:
    """Return the tiles of a pass along the rows, and of one along the columns of what it has left."""
    (rows, columns), (anchor_row, anchor_column) = problem.mask_shape, problem.anchor
    row, column = ((1, columns), (0, anchor_column)), ((rows, 1), (anchor_row, 0))
    return tuple(
        tile_plan(problem, block, at, loads, own_cells=own_cells, mask_shape=shape, anchor=anchor, **words)
        for loads, (shape, anchor), words in ((along, row, HORIZONTAL), (down, column, VERTICAL))
    )

"""Who loads what with `tile_loader`, vector by vector, for `Variant.tiles` of its kernels."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.geometry.block import Block
from engine.geometry.tile_plan import Cells, TilePlan, grid_of_cells
from engine.variants.ir.register_tile import VECTOR
from engine.work.filtering.problem import Problem

LANES = 32
# What a block that moves down the picture loads goes on like this.
_MOST_ROWS = 96


def vector_tile(
    problem: Problem,
    at: tuple[int, int],
    shape: Any,
    lots: Sequence[int],
    results: tuple[int, int],
    thread_of: Callable[[Cells, Cells], Cells],
    *,
    early_rows: int = 0,
) -> TilePlan:
    """Return the tile of a block whose threads load whole rows, 4 samples at once.

    Parameters
    ----------
    problem, at
        As `Variant.tiles` gets them.
    shape : TileShape, or another shape with the properties that are asked for here
    lots : sequence of int
        Rows that each call of the loader fills, one below the other.
    results : (int, int)
        Rows and samples of results of a block.
    thread_of : callable
        The thread of a result by its row and sample in the block.
    early_rows : int
        Rows loaded above the first one under the mask.
    """
    drawn = drawn_lots(lots)
    loaded = [lot_loads(shape, rows) for rows in drawn]
    # A later call's loads come after all of those before.
    starts = np.cumsum([0, *(int(steps.max(initial=0)) for _, steps in loaded[:-1])])
    return sample_tile(
        problem,
        at,
        shape.before,
        np.concatenate([loaders for loaders, _ in loaded]),
        np.concatenate([steps + start for (_, steps), start in zip(loaded, starts, strict=True)]),
        results,
        thread_of,
        warps=shape.warps,
        early_rows=early_rows,
        cut_rows=sum(lots) - sum(drawn),
        note="A thread loads 4 samples at once.",
    )


def sample_tile(
    problem: Problem,
    at: tuple[int, int],
    before: int,
    loaders: Cells,
    steps: Cells,
    results: tuple[int, int],
    thread_of: Callable[[Cells, Cells], Cells],
    *,
    warps: int,
    early_rows: int = 0,
    cut_rows: int = 0,
    note: str = "",
) -> TilePlan:
    """Return the tile of a block whose columns are samples, of which `before` lie before its results.

    `loaders` and `steps` have its cells, `cut_rows` are rows that follow below; the rest is as in
    `vector_tile`.
    """
    top, left = at[1] * results[0], at[0] * results[1]
    width = problem.width * problem.channels
    tile_rows, tile_samples = loaders.shape
    source_rows, source_columns = grid_of_cells(
        top - problem.anchor[0] - early_rows, left - before, tile_rows, tile_samples
    )
    down = min(results[0], problem.height - top, tile_rows - early_rows - problem.mask_shape[0] + 1)
    row, sample = grid_of_cells(0, 0, down, min(results[1], width - left))
    return TilePlan(
        height=problem.height,
        width=width,
        border=problem.border,
        block=Block(LANES, warps),
        at=at,
        source_rows=source_rows,
        source_columns=source_columns,
        loaders=loaders.astype(np.int32),
        steps=steps.astype(np.int32),
        result_rows=row + np.int32(top),
        result_columns=sample + np.int32(left),
        computers=thread_of(row, sample),
        window_shape=problem.mask_shape,
        window_at=(early_rows, before - problem.anchor[1] * problem.channels),
        apart=problem.channels,
        note=note,
        cut_rows=cut_rows,
    )


def drawn_lots(lots: Sequence[int]) -> list[int]:
    """Return the first lots, up to so many rows, and one at least."""
    below = np.cumsum(lots)
    return list(lots[: max(1, int((below <= _MOST_ROWS).sum()))])


def lot_loads(shape: Any, rows: int) -> tuple[Cells, Cells]:
    """Return thread and step of each cell of the rows that one call of the loader fills.

    A warp loads each `warps`-th row, 32 vectors at once; the block's threads share what a row has past its
    results.
    """
    main = shape.out_samples // VECTOR
    extra = shape.tile_samples // VECTOR - main
    row, column = grid_of_cells(0, 0, rows, shape.tile_samples)
    vector = column // VECTOR
    own = row % shape.warps * LANES + vector % LANES
    own_step = row // shape.warps * (main // LANES) + vector // LANES + 1
    number = row * extra + vector - main
    threads = shape.warps * LANES
    beyond_step = -(-rows // shape.warps) * (main // LANES) + number // threads + 1
    is_own = vector < main
    loaders = np.where(is_own, own, number % threads)
    return loaders.astype(np.int32), np.where(is_own, own_step, beyond_step).astype(np.int32)

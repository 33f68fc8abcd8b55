"""Who loads what with `byte_tile_loader`, 16 bytes at once, for `Variant.tiles` of its kernels."""

from typing import Any

import numpy as np

from engine.geometry.tile_plan import UNUSED, Cells, grid_of_cells
from engine.variants.tiles.byte_tile_shape import PIECE
from engine.work.filtering.problem import Problem


def piece_loads(problem: Problem, shape: Any, top: int, left: int) -> tuple[Cells, Cells]:
    """Return thread and step of each cell of a tile from row `top` and sample `left` of the picture on.

    The picture's rows begin on 16 bytes, as pitched ones do. A tile in the picture is copied by whole pieces.
    Of one that touches an edge all pieces in the picture are, and then the columns that none covers, cell by
    cell; cells that no result reads stay as they are. `shape` is a ByteTileShape, or another one with the
    properties that are asked for here.
    """
    pieces = shape.tile_samples // PIECE
    rows_of_round = shape.threads // pieces
    row, column = grid_of_cells(0, 0, shape.tile_rows, shape.tile_samples)
    loaders, steps = row % rows_of_round * pieces + column // PIECE, row // rows_of_round + 1
    samples = problem.width * problem.channels
    is_inside = top >= 0 and top + shape.tile_rows <= problem.height
    if is_inside and left >= 0 and left + shape.tile_samples <= samples:
        return loaders, steps
    first = left + column // PIECE * PIECE
    is_piece = (first >= 0) & (first + PIECE <= samples)
    begin = shape.before - shape.left
    stop = shape.before if left < 0 else begin
    end = max(min(samples // PIECE * PIECE - left, shape.tile_samples), stop)
    limit = max(min(samples + shape.right - left, shape.tile_samples), end)
    count = stop - begin + limit - end
    is_before, is_after = (column >= begin) & (column < stop), (column >= end) & (column < limit)
    number = row * count + np.where(is_before, column - begin, column - end + stop - begin)
    after = -(-shape.tile_rows // rows_of_round)
    is_cell = is_before | is_after
    loaders = np.select([is_cell, is_piece], [number % shape.threads, loaders], UNUSED)
    steps = np.select([is_cell, is_piece], [number // shape.threads + after + 1, steps], 0)
    return loaders.astype(np.int32), steps.astype(np.int32)

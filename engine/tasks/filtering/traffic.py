"""What the variants' models of work count with: cells along one axis that are read inside a picture. Pure integers."""

from engine.tasks.filtering.problem import Problem


def cells_inside(first: int, last: int, length: int) -> int:
    """Return how many of the indices first .. last - 1 lie in 0 .. length - 1."""
    return max(0, min(last, length) - max(first, 0))


def taps_inside(length: int, mask_side: int, anchor: int) -> int:
    """Return how many (result, tap) pairs along one axis read a cell of the picture rather than a ghost cell."""
    return sum(cells_inside(tap - anchor, tap - anchor + length, length) for tap in range(mask_side))


def loads_by_taps(problem: Problem) -> int:
    """Return the input cells that are read when each tap of each result reads its own."""
    if not problem.border.has_ghost_cells:
        return problem.multiply_adds
    rows, columns = problem.mask_shape
    return (
        taps_inside(problem.height, rows, problem.anchor[0])
        * taps_inside(problem.width, columns, problem.anchor[1])
        * problem.channels
    )


def tile_cells_inside(length: int, side: int, mask_side: int, anchor: int, ghost_cells: bool) -> int:
    """Return the cells along one axis that all blocks load for their input tiles of side + mask_side - 1 cells.

    Ghost cells are not loaded; borders without ghost cells load every cell of the tile from somewhere.
    """
    tile = side + mask_side - 1
    starts = range(0, length, side)
    if not ghost_cells:
        return len(starts) * tile
    return sum(cells_inside(start - anchor, start - anchor + tile, length) for start in starts)


def taps_in_own_tile(length: int, side: int, mask_side: int, anchor: int) -> int:
    """Return how many (result, tap) pairs along one axis find their cell in the block's own tile."""
    whole_tiles, rest = divmod(length, side)
    return whole_tiles * taps_inside(side, mask_side, anchor) + taps_inside(rest, mask_side, anchor)

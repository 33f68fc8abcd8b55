"""The model of work of filterings, counted by construction."""

from engine.geometry.layout import FLOAT_BYTES
from engine.results.problem import Work
from engine.work.filtering.problem import Problem


def filter_work(
    problem: Problem,
    *,
    picture_loads: int,
    weight_loads: int = 0,
    scratch_loads: int = 0,
    scratch_stores: int = 0,
    shared_loads: int = 0,
    shared_stores: int = 0,
    constant_loads: int = 0,
    multiply_adds: int | None = None,
    masks: int = 1,
) -> Work:
    """Return the work of filtering a picture once, with one mask or with several.

    Parameters
    ----------
    picture_loads : int
        Cells of the picture that are read; ghost cells cost no load.
    weight_loads : int
        Weights that are read from global memory.
    scratch_loads, scratch_stores : int
        float32 values between two passes, in global memory.
    multiply_adds : int, optional
        None: one for each mask cell of each result.
    masks : int
        Masks that are applied at once: each makes a result of the picture's shape.
    """
    results = problem.samples * masks
    return Work(
        flops=2 * (problem.multiply_adds * masks if multiply_adds is None else multiply_adds),
        global_loads=picture_loads + weight_loads + scratch_loads,
        global_stores=results + scratch_stores,
        global_load_bytes=picture_loads * problem.itemsize + (weight_loads + scratch_loads) * FLOAT_BYTES,
        global_store_bytes=results * problem.result_itemsize + scratch_stores * FLOAT_BYTES,
        minimum_bytes=problem.samples * problem.itemsize + results * problem.result_itemsize,
        picture_loads=picture_loads,
        shared_loads=shared_loads,
        shared_stores=shared_stores,
        constant_loads=constant_loads,
    )


def cells_inside(first: int, last: int, length: int) -> int:
    """Return how many of the indices first .. last - 1 lie in 0 .. length - 1."""
    return max(0, min(last, length) - max(first, 0))


def taps_inside(length: int, mask_side: int, anchor: int) -> int:
    """Return how many (result, tap) pairs along one axis read a cell of the picture, not a ghost cell."""
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
    """Return the cells along one axis that all blocks load for input tiles of side + mask_side - 1 cells.

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

"""What the CUDA variants' plans and models of work count with: grids, and cells that lie inside a picture. Pure integers."""

from engine.block import Block, Limits
from engine.problem import Problem
from engine.variants.contract import Launch, Refusal

MAX_GRID_Y = 65_535


def blocks_along(length: int, block_side: int) -> int:
    """Return the blocks that cover `length` results, rounded up."""
    return -(-length // block_side)


def one_launch(problem: Problem, block: Block, shared_bytes: int = 0) -> tuple[Launch, ...]:
    """Return the launch of one thread a result: x along columns, y along rows, z along channels."""
    grid = (blocks_along(problem.width, block.x), blocks_along(problem.height, block.y), problem.channels)
    return (Launch(grid, (block.x, block.y, 1), shared_bytes),)


def refuse_grid(problem: Problem, block: Block, limits: Limits) -> Refusal | None:
    """Return why the grid is higher than CUDA allows, with the nearest block that makes it low enough."""
    if blocks_along(problem.height, block.y) <= MAX_GRID_Y:
        return None
    higher = blocks_along(problem.height, MAX_GRID_Y)
    narrower = min(block.x, limits.max_threads // higher)
    return Refusal(
        f"{problem.height:,} rows need {blocks_along(problem.height, block.y):,} blocks of {block} down; "
        f"CUDA allows {MAX_GRID_Y:,}.",
        Block(narrower, higher) if narrower else None,
    )


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

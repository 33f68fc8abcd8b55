"""The rules on blocks that all CUDA variants share: what a device allows, and the nearest legal block.

Pure arithmetic: the window applies the same rules before it asks the engine's process.
"""

from collections.abc import Callable

from engine.geometry.block import Block, Limits
from engine.geometry.refusal import Refusal

SharedBytes = Callable[[Block], int]
ONE_THREAD = Block(1, 1)
MAX_GRID_Y = 65_535
"""Blocks down that CUDA allows, on every device; across it is 2^31 - 1."""


def blocks_along(length: int, block_side: int) -> int:
    """Return how many blocks, or tiles of that side, cover `length` results."""
    return -(-length // block_side)


def refuse_block(
    block: Block,
    limits: Limits,
    shared_bytes: SharedBytes = lambda block: 0,
    *,
    least: Block = ONE_THREAD,
    too_small: Callable[[], Refusal | None] = lambda: None,
) -> Refusal | None:
    """Return why a block is illegal on a device, with the nearest legal one; None if it is legal.

    Parameters
    ----------
    block : Block
    limits : Limits
    shared_bytes : callable of Block -> int
        Static shared memory that the variant uses with a block, bytes.
    least : Block
        Threads that a block must at least have along each side: for its tile, or so that the grid is no
        higher than CUDA allows.
    too_small : callable of () -> Refusal
        The refusal of a block with fewer.
    """
    is_small = block.x < least.x or block.y < least.y
    refusal = why_illegal(block, limits, shared_bytes) or (too_small() if is_small else None)
    return refusal and refusal.nearest(nearest_legal(block, limits, shared_bytes, least))


def refuse_grid(
    rows: int,
    block: Block,
    limits: Limits,
    shared_bytes: SharedBytes = lambda block: 0,
    *,
    least_x: int = 1,
    idle_rows: int = 0,
    too_small: Callable[[], Refusal | None] = lambda: None,
) -> Refusal | None:
    """Return why a block is illegal for so many rows of results, with the nearest legal one; else None.

    Parameters
    ----------
    rows, block, limits
    shared_bytes : callable of Block -> int
        Static shared memory that the variant uses with a block, bytes.
    least_x : int
        Least width of a block, in threads, with which the variant can load its tile.
    idle_rows : int
        Rows of a block's threads that compute no result.
    too_small : callable of () -> Refusal
        The refusal of a block that is narrower, or has no row that computes.
    """
    least = Block(max(1, least_x), idle_rows + max(1, blocks_along(rows, MAX_GRID_Y)))

    def refuse_small() -> Refusal | None:
        busy = block.y - idle_rows
        if block.x < least_x or busy < 1:
            return too_small()
        return grid_too_high(rows, "rows", blocks_along(rows, busy), block)

    return refuse_block(block, limits, shared_bytes, least=least, too_small=refuse_small)


def grid_too_high(
    elements: int, named: str, blocks: int, block: Block, along: str = "down", most: int = MAX_GRID_Y
) -> Refusal:
    """Return the refusal of a block with which so many elements ("rows") need too many blocks for CUDA."""
    short = f"{elements:,} {named} need {blocks:,} blocks of {block} {along}"
    return Refusal("grid-too-high", short, f"{short}; CUDA allows {most:,}.")


def nearest_legal(
    block: Block, limits: Limits, shared_bytes: SharedBytes, least: Block = ONE_THREAD
) -> Block | None:
    """Return the legal block whose sides differ least in ratio from those wanted; None if none is legal."""
    wanted_x, wanted_y = max(block.x, 1), max(block.y, 1)
    best: tuple[float, Block] | None = None
    for y in range(least.y, min(limits.max_block_y, limits.max_threads) + 1):
        longest = min(limits.max_block_x, limits.max_threads // y)
        # From the wanted width downwards: the first that fits is the nearest.
        for x in range(min(max(wanted_x, least.x), longest), least.x - 1, -1):
            candidate = Block(x, y)
            distance = _ratio(x, wanted_x) * _ratio(y, wanted_y)
            if best is not None and distance >= best[0]:
                break
            if shared_bytes(candidate) <= limits.shared_bytes:
                best = (distance, candidate)
    return best[1] if best else None


def _ratio(a: int, b: int) -> float:
    return max(a, b) / min(a, b)


def why_illegal(block: Block, limits: Limits, shared_bytes: SharedBytes = lambda block: 0) -> Refusal | None:
    """Return why a device does not allow a block, or None; to find the nearest legal one takes 3 ms more."""
    if block.x < 1 or block.y < 1:
        detail = f"A block of {block} has no threads; each side must be at least 1."
        return Refusal("block-empty", f"A block of {block} has no threads", detail)
    if block.x > limits.max_block_x:
        detail = f"A block of {block} is too wide; the limit is {limits.max_block_x} threads across."
        return Refusal("block-too-wide", f"A block of {block} is too wide", detail)
    if block.y > limits.max_block_y:
        detail = f"A block of {block} is too high; the limit is {limits.max_block_y} threads down."
        return Refusal("block-too-high", f"A block of {block} is too high", detail)
    if block.threads > limits.max_threads:
        short = f"A block of {block} has {block.threads:,} threads"
        detail = f"{short}; the limit is {limits.max_threads:,} threads per block."
        return Refusal("block-threads", short, detail)
    if (needed := shared_bytes(block)) > limits.shared_bytes:
        short = f"A block of {block} needs {needed:,} bytes of shared memory for its tile"
        return Refusal("shared-memory", short, f"{short}; a block has {limits.shared_bytes:,}.")
    return None

"""The rules on blocks that all CUDA variants share: what a device allows, and the nearest legal block.

Pure arithmetic: the window applies the same rules before it asks the engine's process.
"""

from collections.abc import Callable
from typing import NamedTuple

from engine.geometry.block import Block, Limits

SharedBytes = Callable[[Block], int]
ONE_THREAD = Block(1, 1)
MAX_GRID_Y = 65_535
"""Blocks down that CUDA allows, on every device; across it is 2^31 - 1."""


class Refusal(NamedTuple):
    """Why something cannot be done, for people, and the nearest legal block if the block is the reason."""

    reason: str
    nearest_block: Block | None = None

    @property
    def remedy(self) -> str:
        """What to do, in words; empty if nothing is near."""
        return f"The nearest legal block is {self.nearest_block}." if self.nearest_block else ""


def blocks_along(length: int, block_side: int) -> int:
    """Return how many blocks, or tiles of that side, cover `length` results."""
    return -(-length // block_side)


def refuse_block(
    block: Block,
    limits: Limits,
    shared_bytes: SharedBytes = lambda block: 0,
    *,
    least: Block = ONE_THREAD,
    too_small: Callable[[], str] = lambda: "",
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
    too_small : callable of () -> str
        The reason to give for a block with fewer.
    """
    is_small = block.x < least.x or block.y < least.y
    reason = why_illegal(block, limits, shared_bytes) or (too_small() if is_small else "")
    return Refusal(reason, nearest_legal(block, limits, shared_bytes, least)) if reason else None


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


def why_illegal(block: Block, limits: Limits, shared_bytes: SharedBytes = lambda block: 0) -> str:
    """Return why a device does not allow a block, empty if it does; the nearest legal one takes 3 ms more."""
    if block.x < 1 or block.y < 1:
        return f"A block of {block} has no threads; each side must be at least 1."
    if block.x > limits.max_block_x:
        return f"A block of {block} is too wide; the limit is {limits.max_block_x} threads across."
    if block.y > limits.max_block_y:
        return f"A block of {block} is too high; the limit is {limits.max_block_y} threads down."
    if block.threads > limits.max_threads:
        limit = f"the limit is {limits.max_threads:,} threads per block"
        return f"A block of {block} has {block.threads:,} threads; {limit}."
    if (needed := shared_bytes(block)) > limits.shared_bytes:
        return (
            f"A block of {block} needs {needed:,} bytes of shared memory for its tile; "
            f"a block has {limits.shared_bytes:,}."
        )
    return ""

"""Tiles of matrices, T x T: legal values, limits of device and grid, the nearest legal one. Pure integers.

The window and the command line apply the same rules before they ask for anything.
"""

import math
import re

from engine.errors import BadValue
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import MAX_GRID_Y, SharedBytes, blocks_along, grid_too_high, why_illegal
from engine.geometry.refusal import Refusal
from engine.tasks.product.problem import MatrixProduct

SMALLEST_TILE, LARGEST_TILE = 2, 32
# The lecture's example: 16 x 16 = 256 threads.
DEFAULT_TILE = 16

# Characters of what was given for a tile, in a refusal.
_LONGEST_SHOWN = 40
_RANGE = f"a whole number from {SMALLEST_TILE} to {LARGEST_TILE}"


def as_tile(value: object) -> int:
    """Return a tile's side, given as a whole number or as text.

    Raises BadValue where it is not a whole number from 2 to 32; the remedy names the nearest legal one.
    """
    if isinstance(value, str):
        text = value.strip()
        number = float(text) if re.fullmatch(r"[+-]?\d{1,18}(\.\d*)?", text) else math.nan
    else:
        number = math.nan if isinstance(value, bool) else _number(value)
    shown = str(value)
    if len(shown) > _LONGEST_SHOWN:
        shown = shown[:_LONGEST_SHOWN] + "…"
    is_whole = math.isfinite(number) and number == math.floor(number)
    if not is_whole or not SMALLEST_TILE <= number <= LARGEST_TILE:
        nearest = DEFAULT_TILE if math.isnan(number) else round(min(max(number, SMALLEST_TILE), LARGEST_TILE))
        reason = f"a tile's side is {_RANGE}" if is_whole else f"its side is not {_RANGE}"
        raise BadValue(f"tile {shown}", reason, f"The nearest legal tile is {nearest}.")
    return int(number)


def refuse_tile(
    product: MatrixProduct, block: Block, limits: Limits, shared_bytes: SharedBytes = lambda block: 0
) -> Refusal | None:
    """Return why a tile is illegal for a product on a device, with the nearest legal one, or None.

    `shared_bytes` gives the static shared memory that the variant uses with a block, bytes.
    """
    refusal = _refusal(product, block.x, limits, shared_bytes)
    if refusal is None:
        return None
    legal = [
        side
        for side in range(SMALLEST_TILE, LARGEST_TILE + 1)
        if not _refusal(product, side, limits, shared_bytes)
    ]
    nearest = min(legal, key=lambda side: abs(side - block.x), default=None)
    return refusal.nearest(None if nearest is None else Block(nearest, nearest))


def _refusal(product: MatrixProduct, tile: int, limits: Limits, shared_bytes: SharedBytes) -> Refusal | None:
    if not SMALLEST_TILE <= tile <= LARGEST_TILE:
        return Refusal("tile-out-of-range", f"A tile of {tile} is not {_RANGE}")
    block = Block(tile, tile)
    if (refusal := why_illegal(block, limits, shared_bytes)) is not None:
        return refusal
    down = blocks_along(product.rows, tile)
    return grid_too_high(product.rows, "rows", down, block) if down > MAX_GRID_Y else None


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return math.nan

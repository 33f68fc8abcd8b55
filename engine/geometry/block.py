"""Blocks of threads: limits of a device, rules, lists as people type them; layouts of rows.

The rules are those that all CUDA variants share, what a device allows and the nearest legal block. They are
pure arithmetic: the window applies the same rules before it asks the process of the engine. Lists are written
as "8x8, 16x16, 32 x 8", or "all". No Numba in here, and no NumPy: the command `devices` starts without it.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache

from engine.errors import BadValue, EngineError, Reason, UnknownName

# Characters; no device allows such numbers, and Python refuses to read thousands of digits.
_LONGEST_SIDE = 9
EVERY = "all"
"""The word for every block with sides of 1, 2, 4, 8 ... that CUDA allows."""
MOST_BLOCKS = 256
_LONGEST_WORD = 24
ROW_BYTES = 128
"""Bytes of one burst of device memory, and of one transaction of a warp: where pitched rows begin."""

FLOAT_BYTES = 4
"""Bytes of a float32."""


@dataclass(frozen=True, slots=True)
class Block:
    """Threads of a CUDA block: x across (columns), y down (rows)."""

    x: int
    y: int

    @property
    def threads(self) -> int:
        """Threads in the block."""
        return self.x * self.y

    def __str__(self) -> str:
        return f"{self.x} × {self.y}"

    @classmethod
    def parse(cls, text: str) -> "Block":
        """Read a block such as "16x16" or "32 x 8", whatever a device allows; BadValue for another text."""
        match = re.fullmatch(r"\s*(-?\d+)\s*[xX×*,]\s*(-?\d+)\s*", text)
        if match and max(map(len, match.groups())) <= _LONGEST_SIDE:
            return cls(int(match[1]), int(match[2]))
        why = "it is not two whole numbers with an x between them"
        if match:
            why = f"it is too large; CUDA allows at most {Limits().max_threads:,} threads per block"
        raise BadValue(f"block '{text}'", why, "Write it as 16x16.")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a device on a block: threads in all and along each side, bytes of static shared memory."""

    max_threads: int = 1024
    max_block_x: int = 1024
    max_block_y: int = 1024
    shared_bytes: int = 48 * 1024
    compute_capability: tuple[int, int] | None = None  # (8, 0) for 8.0; None: the CPU and the simulator


@dataclass(frozen=True, slots=True)
class Refusal(Reason):
    """Why something cannot be done, and the nearest legal block if the block is the reason."""

    nearest_block: Block | None = None

    @classmethod
    def of(cls, reason: Reason) -> "Refusal":
        """Return a reason as a refusal."""
        if isinstance(reason, Refusal):
            return reason
        return cls(reason.code, reason.short, reason.detail, reason.remedy)

    def nearest(self, block: Block | None) -> "Refusal":
        """Return the same refusal with the nearest legal block, None where there is none."""
        remedy = self.remedy if block is None else f"The nearest legal block is {block}."
        return replace(self, remedy=remedy, nearest_block=block)


class UnsupportedVariant(EngineError):
    """A variant cannot compute this; where the block is the reason, `nearest_block` is a legal one."""

    is_refusal = True
    is_about_run = True

    def __init__(self, what: str, refusal: Refusal) -> None:
        super().__init__(what, refusal.sentence, refusal.remedy)
        self.args = (what, refusal)
        self.refusal = refusal

    @property
    def nearest_block(self) -> Block | None:
        """A legal block; None where the block is not the reason."""
        return self.refusal.nearest_block

    @property
    def reason(self) -> Refusal:
        """Why the variant cannot do it."""
        return self.refusal


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

    `shared_bytes` gives the static shared memory that the variant uses with a block, bytes. A block must have
    the `least` threads along each side, for its tile, or so that the grid is no higher than CUDA allows;
    `too_small` gives the refusal of one with fewer.
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

    As `refuse_block`. The variant can load its tile with blocks of `least_x` threads across, of which
    `idle_rows` rows compute no result; `too_small` is for a narrower one, or one without a row that computes.
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
            distance = max(x / wanted_x, wanted_x / x) * max(y / wanted_y, wanted_y / y)
            if best is not None and distance >= best[0]:
                break
            if shared_bytes(candidate) <= limits.shared_bytes:
                best = (distance, candidate)
    return best[1] if best else None


def why_illegal(block: Block, limits: Limits, shared_bytes: SharedBytes = lambda block: 0) -> Refusal | None:
    """Return why a device does not allow a block, or None; to find the nearest legal one takes 3 ms more."""

    def because(code: str, what: str, limit: str) -> Refusal:
        short = f"A block of {block} {what}"
        return Refusal(code, short, f"{short}; {limit}.")

    if block.x < 1 or block.y < 1:
        return because("block-empty", "has no threads", "each side must be at least 1")
    across, down = (block.x, limits.max_block_x), (block.y, limits.max_block_y)
    for (side, most), long, along in ((across, "wide", "across"), (down, "high", "down")):
        if side > most:
            return because(f"block-too-{long}", f"is too {long}", f"the limit is {most} threads {along}")
    if block.threads > limits.max_threads:
        limit = f"the limit is {limits.max_threads:,} threads per block"
        return because("block-threads", f"has {block.threads:,} threads", limit)
    if (needed := shared_bytes(block)) > limits.shared_bytes:
        what = f"needs {needed:,} bytes of shared memory for its tile"
        return because("shared-memory", what, f"a block has {limits.shared_bytes:,}")
    return None


@cache
def every_block() -> tuple[Block, ...]:
    """Return every legal block whose sides are powers of two, small ones and narrow ones first.

    These are 66 of the 7,262 blocks of at most 1,024 threads: enough to see the shape of a map, and each
    measured within a minute or two.
    """
    limits = Limits()
    sides = [1 << power for power in range(limits.max_threads.bit_length())]
    blocks = (Block(x, y) for x in sides for y in sides)
    legal = (one for one in blocks if why_illegal(one, limits) is None)
    return tuple(sorted(legal, key=lambda one: (one.threads, one.x)))


def read_blocks(text: str) -> tuple[tuple[Block, ...], str]:
    """Return the blocks of a list in the order written, and a note on those that are there twice.

    They are parted by commas, semicolons or blanks; "all" is `every_block()`, an empty text no block. The
    limits are those of every NVIDIA GPU: what a kernel or another device refuses is not known here. Raises
    BadValue for a part that is no block, or none that CUDA allows, with the nearest one, and for too many.
    """
    if text.strip().lower() == EVERY:
        return every_block(), ""
    blocks: dict[Block, int] = {}
    for word in re.split(r"[,;\s]+", re.sub(r"\s*[xX×*]\s*", "x", text).strip(" \t\n,;")):
        if word:
            block = Block.parse(word if len(word) <= _LONGEST_WORD else f"{word[:_LONGEST_WORD]}…")
            if refusal := refuse_block(block, Limits()):
                raise BadValue(refusal.sentence, "", refusal.remedy)
            blocks[block] = blocks.get(block, 0) + 1
    if len(blocks) > MOST_BLOCKS:
        why = f"at most {MOST_BLOCKS} are compared in one run"
        raise BadValue(f"{len(blocks)} blocks", why, f'Leave some out, or write "{EVERY}".')
    twice = ", ".join(str(block) for block, count in blocks.items() if count > 1)
    note = f"{twice}: in the list twice, and run once. Write each block once." if twice else ""
    return tuple(blocks), note


def blocks_text(blocks: Sequence[Block]) -> str:
    """Return a list of blocks as `read_blocks` reads it."""
    if blocks and tuple(blocks) == every_block():
        return EVERY
    return ", ".join(f"{block.x}x{block.y}" for block in blocks)


class Layout(StrEnum):
    """Whether each row begins on a 128-byte boundary (pitched), or where the row before ends (packed).

    Source: CENG443, "2D Image with Padding", "Row-Major Layout with Pitch".
    """

    PITCHED = "pitched"
    PACKED = "packed"

    @classmethod
    def named(cls, name: "Layout | str") -> "Layout":
        """Return the layout of that name; raises UnknownName."""
        try:
            return cls(name)
        except ValueError:
            remedy = f"Choose one of {', '.join(cls)}."
            raise UnknownName(f"layout '{name}'", "there is no such layout", remedy) from None

    def row_pixels(self, width: int, channels: int, itemsize: int) -> int:
        """Return the pixels from the beginning of one row to the beginning of the next.

        If packed, `width`; if pitched, the least number of pixels from there on that fills whole units of 128
        bytes, with samples of `itemsize` bytes.
        """
        if self is Layout.PACKED:
            return width
        step = ROW_BYTES // math.gcd(ROW_BYTES, channels * itemsize)
        return -(-width // step) * step

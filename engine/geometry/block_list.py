"""Lists of blocks as people type them: "8x8, 16x16, 32 x 8", or "all". No Numba in here."""

import re
from collections.abc import Sequence
from functools import lru_cache

from engine.errors import BadValue
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import refuse_block

EVERY = "all"
"""The word for every block with sides of 1, 2, 4, 8 ... that CUDA allows."""
MOST_BLOCKS = 256
_LONGEST_WORD = 24


@lru_cache
def every_block(limits: Limits = Limits()) -> tuple[Block, ...]:  # noqa: B008 - Limits is frozen
    """Return every block within the limits whose sides are powers of two, small ones and narrow ones first.

    These are 66 of the 7,262 blocks of at most 1,024 threads: enough to see the shape of a map, and each
    measured within a minute or two.
    """
    sides = [1 << power for power in range(limits.max_threads.bit_length())]
    blocks = (Block(x, y) for x in sides for y in sides)
    return tuple(sorted((one for one in blocks if refuse_block(one, limits) is None), key=by_size))


def by_size(block: Block) -> tuple[int, int]:
    """Return what blocks are sorted by: threads, then width."""
    return block.threads, block.x


def read_blocks(text: str) -> tuple[tuple[Block, ...], str]:
    """Return the blocks of a list in the order written, and a note on those that are there twice.

    They are parted by commas, semicolons or blanks; "all" is `every_block()`, an empty text no block. The
    limits are those of every NVIDIA GPU: what a kernel or another device refuses is not known here.

    Raises
    ------
    BadValue
        A part is not a block, or none that CUDA allows, with the nearest legal one; or there are too many.
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

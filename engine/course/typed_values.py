"""Values of a worked example as people type them: numbers, lists of numbers, blocks of threads.

Each reader raises a `BadValue` that says what is wrong with a text.
"""

import math
import re
from collections.abc import Callable
from typing import Any

from engine.errors import BadValue
from engine.geometry.block import Block

_MOST_IN_A_LIST = 12
_LONGEST = 40
_THOUSANDS = re.compile(r"[0-9]{1,3}(,[0-9]{3})+")


def number_within(least: float, most: float) -> Callable[[str], float]:
    """Return the reader of a number within bounds."""

    def read(text: str) -> float:
        value = _float(text)
        if not least <= value <= most:
            raise _bad(text, f"it is not from {least:,g} to {most:,g}")
        return value

    return read


def whole_number_within(least: int, most: int) -> Callable[[str], int]:
    """Return the reader of a whole number within bounds."""

    def read(text: str) -> int:
        value = _float(text)
        if value != int(value) or not least <= value <= most:
            raise _bad(text, f"it is not a whole number from {least:,} to {most:,}")
        return int(value)

    return read


def several(read: Callable[[str], Any], example: str) -> Callable[[str], tuple[Any, ...]]:
    """Return the reader of up to 12 such values with commas between them, each taken once."""

    def read_all(text: str) -> tuple[Any, ...]:
        parts = [part.strip() for part in text.replace(";", ",").split(",") if part.strip()]
        if not 1 <= len(parts) <= _MOST_IN_A_LIST:
            why = f"these are {len(parts)} values" if parts else "nothing is there"
            raise _bad(text, f"{why}; it takes 1 to {_MOST_IN_A_LIST}, such as {example}")
        return tuple(dict.fromkeys(map(read, parts)))

    return read_all


def block_of_threads(text: str) -> Block:
    """Read a block, such as 16x16."""
    block = Block.parse(text)
    if not (1 <= block.x <= 1024 and 1 <= block.y <= 1024):
        raise _bad(text, "each side has 1 to 1,024 threads")
    return block


def _float(text: str) -> float:
    words = text.strip()
    # Commas only where they part thousands: 1,85 would be read as 185.
    digits = words.replace(",", "") if _THOUSANDS.fullmatch(words) else words
    try:
        value = float(digits) if len(words) <= _LONGEST else math.nan
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise _bad(text, "it is not a number such as 16 or 1.85" if words else "nothing is there")
    return value


def _bad(text: str, why: str) -> BadValue:
    shown = text.strip()
    shown = shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
    return BadValue(f"'{shown}'" if shown else "This value", why)

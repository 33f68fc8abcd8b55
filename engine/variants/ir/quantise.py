"""float32 results as they are stored: as samples of 8 or 16 bit rounded half to even, saturated, NaN 0."""

from dataclasses import dataclass
from typing import Any

WORD = 4
"""Samples of 8 bit in a word."""


@dataclass
class StoredSamples:
    """A thread's results as they are stored: float32, integers, or words of `in_unit` samples of 8 bit."""

    code: Any
    units: list[Any]
    itemsize: int
    in_unit: int = 1

    def store(self, pointer: Any, first: int, count: int) -> None:
        """Store some neighbours, whole fours, at once where a pointer says, aligned to all of them."""
        pointer.store(self.units[first // self.in_unit : (first + count) // self.in_unit])

    def store_one(self, pointer: Any, place: int) -> None:
        """Store one of them where a pointer says."""
        unit = self.units[place // self.in_unit]
        if self.in_unit > 1:
            unit = self.code.low_byte(unit >> 8 * (place % WORD))
        pointer.store(unit)


def stored_words(code: Any, words: list[Any]) -> StoredSamples:
    """Return words of four samples of 8 bit as what is stored."""
    return StoredSamples(code, words, 1, WORD)


def stored_samples(code: Any, values: list[Any], itemsize: int) -> StoredSamples:
    """Return whole fours of float32 as samples of `itemsize` bytes: fewer than 4 are unsigned integers."""
    if itemsize == 4:
        return StoredSamples(code, values, itemsize)
    if itemsize == 1 and code.has_words:
        fours = (values[first : first + WORD] for first in range(0, len(values), WORD))
        return stored_words(code, [code.packed_word(four) for four in fours])
    return StoredSamples(code, [code.quantised(value, itemsize) for value in values], itemsize)

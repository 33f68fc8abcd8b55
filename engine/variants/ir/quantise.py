"""float32 results as they are stored: as samples of 8 or 16 bit rounded half to even, saturated, NaN 0."""

from typing import Any

WORD = 4
"""Samples of 8 bit in a word."""


class StoredSamples:
    """Results of a thread as they are stored: float32, integers of 16 bit, or words of four samples of 8 bit.

    Parameters
    ----------
    code : CudaCode or PlainCode
    units : list of values
        What is stored: float32, integers, or words.
    in_unit : int
        Samples of one of them: 1, or 4 of a word.
    """

    def __init__(self, code: Any, units: list[Any], in_unit: int = 1) -> None:
        self._code, self._units, self._in_unit = code, units, in_unit

    def store(self, pointer: Any, first: int, count: int) -> None:
        """Store some neighbours, whole fours, at once where a pointer says, aligned to all of them."""
        pointer.store(self._units[first // self._in_unit : (first + count) // self._in_unit])

    def store_one(self, pointer: Any, place: int) -> None:
        """Store one of them where a pointer says."""
        unit = self._units[place // self._in_unit]
        if self._in_unit > 1:
            unit = self._code.low_byte(unit >> 8 * (place % WORD))
        pointer.store(unit)


def stored_samples(code: Any, values: list[Any], itemsize: int) -> StoredSamples:
    """Return whole fours of float32 as samples of `itemsize` bytes: fewer than 4 are unsigned integers."""
    if itemsize == 4:
        return StoredSamples(code, values)
    if itemsize == 1 and code.has_words:
        fours = (values[first : first + WORD] for first in range(0, len(values), WORD))
        return StoredSamples(code, [code.packed_word(four) for four in fours], WORD)
    return StoredSamples(code, [code.quantised(value, itemsize) for value in values])

"""float32 results as they are stored: as samples of 8 or 16 bit rounded half to even, saturated, NaN 0."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.value import Value

WORD = 4
"""Samples of 8 bit in a word."""


@dataclass
class StoredSamples:
    """A thread's results as they are stored: float32, integers, or words of `in_unit` samples of 8 bit."""

    code: CudaCode
    units: list[Value]
    itemsize: int
    in_unit: int = 1

    def store(self, pointer: Value, first: int, count: int) -> None:
        """Store some neighbours, whole words of them or one, at once where a pointer says, aligned to all."""
        if count == 1:
            self.store_one(pointer, first)
        else:
            pointer.store(self.units[first // self.in_unit : (first + count) // self.in_unit])

    def store_one(self, pointer: Value, offset: int) -> None:
        """Store one of them where a pointer says."""
        unit = self.units[offset // self.in_unit]
        if self.in_unit > 1:
            unit = self.code.low_byte(unit >> 8 * (offset % WORD))
        pointer.store(unit)

    def store_rows(
        self,
        pointers: list[Value],
        offsets: Sequence[int],
        at_once: int,
        is_whole: Value,
        is_row: Callable[[int], Value | None],
        is_cell: Callable[[int, int], Value],
    ) -> None:
        """Store rows of them, each from one of the pointers on; `offsets` are where the results of a row lie.

        Where the condition `is_whole` holds, `at_once` neighbours are stored at once; else one by one, those
        for which `is_row(row)` and `is_cell(row, offset)` hold.
        """
        code, count = self.code, len(offsets)

        def whole_rows() -> None:
            for i, pointer in enumerate(pointers):
                for k in range(0, count, at_once):
                    self.store(pointer + offsets[k], i * count + k, at_once)

        def one_by_one() -> None:
            for i, pointer in enumerate(pointers):
                for _ in code.where(is_row(i)):
                    for k, offset in enumerate(offsets):
                        for _ in code.where(is_cell(i, offset)):
                            self.store_one(pointer + offset, i * count + k)

        code.when(is_whole, whole_rows, one_by_one)


def row_pointers(first: Value, pitch: Value, rows: int) -> list[Value]:
    """Return the pointers to `rows` rows, each `pitch` after the one before it."""
    return list(accumulate([first] + [pitch] * (rows - 1)))


def stored_words(code: CudaCode, words: list[Value]) -> StoredSamples:
    """Return words of four samples of 8 bit as what is stored."""
    return StoredSamples(code, words, 1, WORD)


def stored_samples(code: CudaCode, values: list[Value], itemsize: int) -> StoredSamples:
    """Return whole fours of float32 as samples of `itemsize` bytes: fewer than 4 are unsigned integers."""
    if itemsize == 4:
        return StoredSamples(code, values, itemsize)
    if itemsize == 1 and code.has_words:
        fours = (values[first : first + WORD] for first in range(0, len(values), WORD))
        return stored_words(code, [code.packed_word(four) for four in fours])
    return StoredSamples(code, [code.quantised(value, itemsize) for value in values], itemsize)

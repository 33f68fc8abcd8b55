"""The results of a thread, stored by vectors: float32, or 8 or 16 bit, rounded half to even, NaN as 0."""

from itertools import accumulate

from numba import types

from engine.variants.emit.cuda_code import CudaCode, DeviceFunction, device_function
from engine.variants.emit.value import I8, ArrayArgument, Value
from engine.variants.fast.tile_shape import WORD

MOST_BYTES = 16
"""Bytes that a thread stores at once."""


def result_storer(rows: int, across: int) -> DeviceFunction:
    """Return the function that writes a thread's results: `store(out, row, sample, samples, results)`.

    `row` and `sample` are those of its first result; nothing is written past the picture's rows, or from
    sample `samples` on. The results are stored in the type of `out`.

    Parameters
    ----------
    rows, across : int
        Rows of results, and samples in each: whole fours or one, and whole fours altogether.
    """

    def store(code, out, row, sample, samples, results):
        row, sample, samples = (code.narrow(value) for value in (row, sample, samples))
        store_block(code, out, row, sample, samples, _units(code, results, _itemsize(out)), rows, across)

    return device_function(types.void, store)


def _itemsize(array: ArrayArgument) -> int:
    return int(array.kind.dtype.bitwidth) // 8


def _units(code: CudaCode, results: list[Value], itemsize: int) -> list[Value]:
    """Return whole fours of float32 as they are stored: as samples of so many bytes, or as words of bytes."""
    if itemsize == 4:
        return results
    if itemsize == 1:
        return [code.packed_word(results[first : first + WORD]) for first in range(0, len(results), WORD)]
    return [code.quantised(value, itemsize) for value in results]


def store_block(
    code: CudaCode,
    out: ArrayArgument,
    row: Value,
    sample: Value,
    samples: Value,
    units: list[Value],
    rows: int,
    across: int,
) -> None:
    """Store a thread's results, each or words of four bytes; the rest is as of `result_storer`, 32 bits."""
    in_unit = rows * across // len(units)
    # As many as every thread's first result is aligned to.
    at_once = min(across & -across, MOST_BYTES // _itemsize(out))
    first = code.pointer(out)
    # 32 bits where nothing larger can be: index arithmetic of 64 takes two to three times the instructions.
    height, row_pixels, channels = (code.narrow(side) for side in code.shape(out))
    narrow_pitch = row_pixels * channels
    pitch = code.unsigned(narrow_pitch)
    rows_left, samples_left = height - row, samples - sample
    is_aligned = (narrow_pitch & (at_once - 1)) == 0
    own = first + (code.unsigned(row) * pitch + code.unsigned(sample))
    pointers = list(accumulate([own] + [pitch] * (rows - 1)))
    is_whole = code.all_of(is_aligned, samples_left > across - 1, rows_left > rows - 1)

    def result(number: int) -> Value:
        unit = units[number // in_unit]
        return unit if in_unit == 1 else (unit >> 8 * (number % WORD)).trunc(I8)

    def whole_rows() -> None:
        for i, pointer in enumerate(pointers):
            for k in range(0, across, at_once):
                number = i * across + k
                several = units[number // in_unit : (number + at_once) // in_unit]
                (pointer + k).store(result(number) if at_once == 1 else several)

    def one_by_one() -> None:
        for i, pointer in enumerate(pointers):
            for k in range(across):
                for _ in code.where(code.all_of(rows_left > i, samples_left > k)):
                    (pointer + k).store(result(i * across + k))

    code.when(is_whole, whole_rows, one_by_one)

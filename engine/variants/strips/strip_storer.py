"""Rows of results of a thread, stored by vectors as far as they are its strip's."""

from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.quantise import stored_samples
from engine.variants.ir.register_tile import VECTOR


def strip_storer(rows: int, itemsize: int) -> Any:
    """Return the function that writes 4 results in each of some rows, as samples of `itemsize` bytes.

    `store(out, row, first, end, sample, samples, results, offset)`: `row` and `sample` are those of the first
    result; nothing is written before row `first`, from row `end` on, or from sample `samples` on.
    """

    def store(code, out, row, first, end, sample, samples, results, offset):
        data = code.pointer(out)
        _, row_pixels, channels = code.shape(out)
        pitch = row_pixels * channels
        row, first, end, sample, samples = (code.wide(value) for value in (row, first, end, sample, samples))
        stored = stored_samples(code, [result + offset for result in results], itemsize)
        pointers = [data + (row * pitch + sample)]
        for _ in range(rows - 1):
            pointers.append(pointers[-1] + pitch)
        remainder, last = pitch & (VECTOR - 1), sample + (VECTOR - 1)
        is_whole = code.all_of(remainder == 0, last < samples)
        all_rows = code.all_of(row >= first, row + (rows - 1) < end)

        def whole_rows() -> None:
            for i, pointer in enumerate(pointers):
                stored.store(pointer, i * VECTOR, VECTOR)

        def one_by_one() -> None:
            for i, pointer in enumerate(pointers):
                for _ in code.where(code.all_of(row + i >= first, row + i < end)):
                    for k in range(VECTOR):
                        for _ in code.where(sample + k < samples):
                            stored.store_one(pointer + k, i * VECTOR + k)

        code.when(code.all_of(all_rows, is_whole), whole_rows, one_by_one)

    return device_function(types.void, store)

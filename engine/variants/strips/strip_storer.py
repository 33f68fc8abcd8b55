"""Rows of results of a thread, stored by vectors as far as they are its strip's."""

from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.quantise import row_pointers, stored_samples
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
        pointers = row_pointers(data + (row * pitch + sample), pitch, rows)
        remainder, last = pitch & (VECTOR - 1), sample + (VECTOR - 1)
        all_samples = code.all_of(remainder == 0, last < samples)
        is_whole = code.all_of(row >= first, row + (rows - 1) < end, all_samples)

        def is_row(i):
            return code.all_of(row + i >= first, row + i < end)

        def is_cell(i, k):
            return sample + k < samples

        stored.store_rows(pointers, range(VECTOR), VECTOR, is_whole, is_row, is_cell)

    return device_function(types.void, store)

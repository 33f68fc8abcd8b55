"""The results of a thread, stored by vectors."""

from numba import types

from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.device_function import DeviceFunction, device_function
from engine.variants.ir.quantise import StoredSamples, row_pointers, stored_samples
from engine.variants.ir.value import ArrayArgument, Value

MOST_BYTES = 16
"""Bytes that a thread stores at once."""


def result_storer(rows: int, across: int, itemsize: int = 4) -> DeviceFunction:
    """Return the function that writes a thread's results: `store(out, row, sample, samples, results)`.

    `row` and `sample` are those of its first result; nothing is written past the picture's rows, or from
    sample `samples` on.

    Parameters
    ----------
    rows, across : int
        Rows of results, and samples in each: whole fours or one, and whole fours altogether.
    itemsize : int
        Bytes of a sample of the result: 4 is float32, fewer are unsigned integers (`quantise.py`).
    """

    def store(code, out, row, sample, samples, results):
        row, sample, samples = (code.narrow(value) for value in (row, sample, samples))
        store_block(code, out, row, sample, samples, stored_samples(code, results, itemsize), rows, across)

    return device_function(types.void, store)


def store_block(
    code: CudaCode,
    out: ArrayArgument,
    row: Value,
    sample: Value,
    samples: Value,
    stored: StoredSamples,
    rows: int,
    across: int,
) -> None:
    """Store a thread's results; the arguments are those of `result_storer` and its function, 32 bits wide."""
    # As many as every thread's first result is aligned to.
    at_once = min(across & -across, MOST_BYTES // stored.itemsize)
    first = code.pointer(out)
    # 32 bits where nothing larger can be: index arithmetic of 64 takes two to three times the instructions.
    height, row_pixels, channels = (code.narrow(side) for side in code.shape(out))
    narrow_pitch = row_pixels * channels
    pitch = code.unsigned(narrow_pitch)
    rows_left, samples_left = height - row, samples - sample
    is_aligned = (narrow_pitch & (at_once - 1)) == 0
    pointers = row_pointers(first + (code.unsigned(row) * pitch + code.unsigned(sample)), pitch, rows)
    is_whole = code.all_of(is_aligned, samples_left > across - 1, rows_left > rows - 1)

    def is_cell(i: int, k: int) -> Value:
        return code.all_of(rows_left > i, samples_left > k)

    stored.store_rows(pointers, range(across), at_once, is_whole, lambda i: None, is_cell)

"""The results of a thread, stored by vectors."""

from typing import Any, Protocol

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.quantise import StoredSamples, stored_samples

MOST_BYTES = 16
"""That a thread stores at once."""


class ResultBlock(Protocol):
    """What a thread has results of: `rows` rows of `across` samples, whole fours or one; whole fours altogether."""

    @property
    def rows(self) -> int:
        """Rows of results."""

    @property
    def across(self) -> int:
        """Samples of results in a row."""


def result_storer(shape: ResultBlock, itemsize: int = 4) -> Any:
    """Return the function that writes a thread's results: `store(out, row, sample, samples, results)`.

    `row` and `sample` are those of its first result; what lies at or past the picture's rows or past `samples` is not
    written.

    Parameters
    ----------
    shape : ResultBlock
    itemsize : int
        Bytes of a sample of the result: 4 is float32, fewer are unsigned integers (`engine/variants/ir/quantise.py`).
    """

    def store(code: Any, out: Any, row: Any, sample: Any, samples: Any, results: list[Any]) -> None:
        row, sample, samples = (code.narrow(value) for value in (row, sample, samples))
        stored = stored_samples(code, results, itemsize)
        store_block(code, out, row, sample, samples, stored, shape, itemsize)

    return device_function(types.void, store)


def store_block(
    code: Any,
    out: Any,
    row: Any,
    sample: Any,
    samples: Any,
    stored: StoredSamples,
    shape: ResultBlock,
    itemsize: int,
) -> None:
    """Store a thread's results; the arguments are those of `result_storer` and its function, 32 bits wide."""
    # As many as every thread's first result is aligned to.
    at_once = min(shape.across & -shape.across, MOST_BYTES // itemsize)
    first = code.pointer(out)
    # 32 bits where nothing larger can be: index arithmetic of 64 takes two to three times the instructions.
    height, row_pixels, channels = (code.narrow(side) for side in code.shape(out))
    narrow_pitch = row_pixels * channels
    pitch = code.unsigned(narrow_pitch)
    rows_left, samples_left = height - row, samples - sample
    is_aligned = (narrow_pitch & (at_once - 1)) == 0
    rows = [first + (code.unsigned(row) * pitch + code.unsigned(sample))]
    for _ in range(shape.rows - 1):
        rows.append(rows[-1] + pitch)

    def whole_rows() -> None:
        for i, pointer in enumerate(rows):
            for k in range(0, shape.across, at_once):
                if shape.across == 1:
                    stored.store_one(pointer, i)
                else:
                    stored.store(pointer + k, i * shape.across + k, at_once)

    def one_by_one() -> None:
        for i, pointer in enumerate(rows):
            for k in range(shape.across):
                for _ in code.where(code.all_of(rows_left > i, samples_left > k)):
                    stored.store_one(pointer + k, i * shape.across + k)

    all_samples = code.all_of(is_aligned, samples_left > shape.across - 1)
    code.when(code.all_of(all_samples, rows_left > shape.rows - 1), whole_rows, one_by_one)

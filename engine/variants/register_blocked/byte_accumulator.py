"""The multiply-adds over a tile of bytes in shared memory, converted to float32 when they are read."""

from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.register_blocked.byte_tile_shape import WORD, ByteTileShape

Values = list[Any]


class ByteAccumulation:
    """Accumulates a thread's results down the input rows under them.

    Each row is loaded and converted once, and serves every mask row that lies on it for one of the thread's rows of
    results, so no row is kept. Each (result, mask row) pair has a float32 partial sum of its own, a chain of fused
    multiply-adds; they are added in the order of the mask rows.

    Parameters
    ----------
    code : CudaCode or PlainCode
    shape : ByteTileShape
    first : pointer
        To the first byte of this thread's window in its first input row.
    weights : pointer
        The mask, `weight_pitch` floats a row.
    start : float32
        What the first chain begins with.
    """

    def __init__(self, code: Any, shape: ByteTileShape, first: Any, weights: Any, start: Any) -> None:
        self._code, self._shape = code, shape
        self._first, self._start = first, start
        rows = (weights + row * shape.weight_pitch for row in range(shape.mask_rows))
        self._weights = [code.load_row(row, shape.mask_columns) for row in rows]

    def sums(self) -> Values:
        """Return the sums, row by row."""
        shape = self._shape
        sums: list[Values] = [[] for _ in range(shape.rows)]
        for row in range(shape.rows + shape.mask_rows - 1):
            window = self._window(row)
            for i in range(max(0, row - shape.mask_rows + 1), min(shape.rows, row + 1)):
                partials = self._partials(window, row - i)
                if sums[i]:
                    partials = [total + part for total, part in zip(sums[i], partials, strict=True)]
                sums[i] = partials
        return [total for row_of_sums in sums for total in row_of_sums]

    def _window(self, row: int) -> Values:
        samples: Values = []
        for word, size in self._shape.loads:
            at = row * self._shape.tile_samples + WORD * word
            samples += self._code.load_bytes(self._first + at, size)
        return samples[self._shape.shift :]

    def _partials(self, window: Values, m: int) -> Values:
        code, shape = self._code, self._shape
        partials: Values = []
        for n, weight in enumerate(self._weights[m]):
            for k in range(shape.across):
                value = window[k + n * shape.channels]
                if n:
                    partials[k] = code.fma(value, weight, partials[k])
                elif m:
                    partials.append(value * weight)
                else:
                    partials.append(code.fma(value, weight, self._start))
        return partials


def byte_accumulator(shape: ByteTileShape) -> Any:
    """Return the function that computes a thread's results: `accumulate(tile, at, lane, weights, start)` -> sums.

    `at` is the byte where the row of the tile begins that lies under the mask's first row and the thread's first results;
    `start` is added to each sum. The `rows` x `across` sums begin with row 0.

    Parameters
    ----------
    shape : ByteTileShape
    """

    def accumulate(code: Any, tile: Any, at: Any, lane: Any, weights: Any, start: Any) -> Values:
        at_window = code.narrow(lane) * shape.across + shape.first_word * WORD
        first = code.shared(tile) + (code.narrow(at) + at_window)
        mask = code.weights(weights, shape.weights, shape.weight_pitch)
        return ByteAccumulation(code, shape, first, mask, start).sums()

    return device_function(types.UniTuple(types.float32, shape.rows * shape.across), accumulate)

"""The multiply-adds over a tile of bytes in shared memory, converted to float32 when they are read."""

from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.register_blocked.accumulator import row_sums
from engine.variants.register_blocked.byte_tile_shape import WORD, ByteTileShape

Values = list[Any]


def byte_accumulator(shape: ByteTileShape) -> Any:
    """Return the function `accumulate(tile, at, lane, weights, start)` -> a thread's results.

    `at` is the byte where the row of the tile begins that lies under the mask's first row and the thread's
    first results; `start` is added to each sum. The `rows` x `across` sums begin with row 0.

    Each input row is loaded and converted once, and serves every mask row that lies on it for one of the
    thread's rows of results, so no row is kept. Each (result, mask row) pair has a float32 partial sum of its
    own, a chain of fused multiply-adds; they are added in the order of the mask rows.
    """

    def accumulate(code, tile, at, lane, weights, start):
        at_window = code.narrow(lane) * shape.across + shape.first_word * WORD
        first = code.shared(tile) + (code.narrow(at) + at_window)
        mask = code.weights(weights, shape.weights, shape.weight_pitch)
        mask_rows = [
            code.load_row(mask + row * shape.weight_pitch, shape.mask_columns)
            for row in range(shape.mask_rows)
        ]
        sums: list[Values] = [[] for _ in range(shape.rows)]
        for row in range(shape.rows + shape.mask_rows - 1):
            window = _window(code, shape, first + row * shape.tile_samples)
            for i in range(max(0, row - shape.mask_rows + 1), min(shape.rows, row + 1)):
                begin = None if sums[i] else start
                partials = row_sums(code, [window], mask_rows[row - i], shape.channels, shape.across, begin)
                if sums[i]:
                    partials = [total + part for total, part in zip(sums[i], partials, strict=True)]
                sums[i] = partials
        return [total for row_of_sums in sums for total in row_of_sums]

    return device_function(types.UniTuple(types.float32, shape.rows * shape.across), accumulate)


def _window(code: Any, shape: ByteTileShape, row: Any) -> Values:
    """Return a thread's samples of an input row, the first one under the mask's first column."""
    samples: Values = []
    for word, size in shape.loads:
        samples += code.load_bytes(row + WORD * word, size)
    return samples[shape.shift :]

"""The multiply-adds of `register-blocked`.

Emitted they compile in 0.1 to 0.4 s; as unrolled Python statements they took 7 s (5 x 5) and 267 s (15 x 15).
"""

from collections.abc import Sequence

from numba import types

from engine.variants.emit.cuda_code import CudaCode, DeviceFunction, device_function
from engine.variants.emit.value import Value
from engine.variants.fast.tile_shape import WORD, ByteTileShape, TileShape
from engine.variants.passes import VECTOR

Values = list[Value]


def row_sums(
    code: CudaCode, lines: list[Values], weights: Values, apart: int, count: int, sums: Sequence[Value] = ()
) -> Values:
    """Return `count` sums over neighbouring windows of each line: chains of fused multiply-adds.

    The cells of a window are `apart` from each other. They are added to `sums`, where there are any.
    """
    for n, weight in enumerate(weights):
        values = [line[index + n * apart] for line in lines for index in range(count)]
        if sums:
            sums = [code.fma(value, weight, total) for value, total in zip(values, sums, strict=True)]
        else:
            sums = [value * weight for value in values]
    return list(sums)


def window_pointers(shape: TileShape, row: Value, lane: Value) -> Values:
    """Return the pointers to the vectors of a thread's window in a row, where `vector_index` has them."""
    first, numbers = row + lane * shape.across, range(shape.window // VECTOR)
    if not shape.mixed:
        return [first + VECTOR * number for number in numbers]
    own = lane * shape.vectors
    return [row + shape.vector_index(own + number) * VECTOR for number in numbers]


def accumulator(shape: TileShape) -> DeviceFunction:
    """Return the function `accumulate(tile, at, lane, weights, start)` -> a thread's results.

    `at` is where the row of the tile begins that lies under the mask's first row and the thread's first
    results; `start` is added to each sum. The `rows` x `across` sums begin with row 0.

    Result row i lies under mask row m with input row i + m. So mask row m needs `rows` input rows; the next
    one needs the same but for the first, and one more, which is all that is loaded. Each weight serves `rows`
    x `across` results at once. Each result is one chain of fused multiply-adds that begins with `start`: a
    partial sum per mask row would take one instruction more for each of them (9 x 9: a tenth).
    """
    rounds, at_once = shape.mask_rows // shape.unrolled_rows, shape.unrolled_rows
    before = shape.mask_rows if rounds < 2 else shape.mask_rows % at_once

    def accumulate(code, tile, at, lane, weights, start):
        first_cells = window_pointers(shape, code.shared(tile) + at, code.narrow(lane))
        mask = code.weights(shape.weights)

        def window(cells, row):
            return [v for pointer in cells for v in (pointer + row * shape.tile_samples).load(VECTOR)]

        def mask_row(windows, sums, cells, weights, m):
            """Add mask row m, from the windows of its first input rows on; return those of the next one."""
            windows = [*windows, window(cells, m + shape.rows - 1)]
            row, columns = weights + m * shape.weight_pitch, shape.mask_columns
            weights_of_row = [row.load()] if columns == 1 else code.load_row(row, columns)
            lines = [samples[shape.shift :] for samples in windows]
            return windows[1:], row_sums(code, lines, weights_of_row, shape.channels, shape.across, sums)

        def round_of(number, carried):
            sums, *windows = carried
            cells = [pointer + number * (at_once * shape.tile_samples) for pointer in first_cells]
            own = mask + number * (at_once * shape.weight_pitch)
            for m in range(before, before + at_once):
                windows, sums = mask_row(windows, sums, cells, own, m)
            return [sums, *windows]

        windows = [window(first_cells, row) for row in range(shape.rows - 1)]
        sums = [start] * (shape.rows * shape.across)
        for m in range(before):
            windows, sums = mask_row(windows, sums, first_cells, mask, m)
        if before == shape.mask_rows:
            return sums
        return code.repeat(rounds, [sums, *windows], round_of)[0]

    return device_function(types.UniTuple(types.float32, shape.rows * shape.across), accumulate)


def byte_accumulator(shape: ByteTileShape) -> DeviceFunction:
    """Return the same for a tile of bytes; `at` counts bytes.

    Each input row is loaded and converted once, and serves every mask row that lies on it for one of the
    thread's rows of results, so no row is kept. Each result is one chain of fused multiply-adds.
    """

    def accumulate(code, tile, at, lane, weights, start):
        at_window = code.narrow(lane) * shape.across + shape.first_word * WORD
        first = code.shared(tile) + (code.narrow(at) + at_window)
        mask = code.weights(shape.weights)
        mask_rows = [
            code.load_row(mask + row * shape.weight_pitch, shape.mask_columns)
            for row in range(shape.mask_rows)
        ]
        sums = [[start] * shape.across for _ in range(shape.rows)]
        for row in range(shape.rows + shape.mask_rows - 1):
            window = _byte_window(code, shape, first + row * shape.tile_samples)
            for i in range(max(0, row - shape.mask_rows + 1), min(shape.rows, row + 1)):
                weights_of_row = mask_rows[row - i]
                sums[i] = row_sums(code, [window], weights_of_row, shape.channels, shape.across, sums[i])
        return [total for row_of_sums in sums for total in row_of_sums]

    return device_function(types.UniTuple(types.float32, shape.rows * shape.across), accumulate)


def _byte_window(code: CudaCode, shape: ByteTileShape, row: Value) -> Values:
    """Return a thread's samples of an input row, the first one under the mask's first column."""
    samples: Values = []
    for word, size in shape.loads:
        samples += code.load_bytes(row + WORD * word, size)
    return samples[shape.shift :]

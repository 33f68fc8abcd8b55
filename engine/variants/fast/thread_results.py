"""The results of a thread: the multiply-adds of `register-blocked`, and how all are stored.

Emitted they compile in 0.1 to 0.4 s; as unrolled Python statements they took 7 s (5 x 5) and 267 s (15 x 15).
Results are stored by vectors, as float32 or as 8 or 16 bit, rounded half to even, saturated, NaN as 0.
"""

import itertools

from numba import types

from engine.variants.emit.cuda_code import CudaCode, DeviceFunction, device_function
from engine.variants.emit.value import F32, I8, I32, ArrayArgument, Value
from engine.variants.fast.tile_shape import WORD, ByteTileShape, TileShape
from engine.variants.passes import VECTOR

Values = list[Value]


def row_sums(
    code: CudaCode, lines: list[Values], weights: Values, apart: int, count: int, sums: Values
) -> Values:
    """Return sums with `count` neighbouring windows of each line added: chains of fused multiply-adds.

    The cells of a window are `apart` from each other.
    """
    for n, weight in enumerate(weights):
        values = [line[index + n * apart] for line in lines for index in range(count)]
        sums = [code.fma(value, weight, total) for value, total in zip(values, sums, strict=True)]
    return sums


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
        row, lane = code.shared(tile) + at, code.narrow(lane)
        # The vectors of the thread's window in its first row.
        first, numbers = row + lane * shape.across, range(shape.window // VECTOR)
        first_cells = [first + VECTOR * number for number in numbers]
        if shape.mixed:
            own = lane * shape.vectors
            first_cells = [row + shape.vector_index(own + number) * VECTOR for number in numbers]
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

    def window_of(code, row):
        """Return a thread's samples of an input row, the first one under the mask's first column.

        Bytes that are not used leave no code. Written so, taking a byte out and converting it are one
        instruction (`I2F.U8`), which runs beside the multiply-adds.
        """
        samples = []
        for first, size in shape.loads:
            for word in (row + WORD * first).pointing_to(I32).load(size):
                for byte in range(WORD):
                    line = f"{{ .reg .u32 t; bfe.u32 t, $1, {8 * byte}, 8; cvt.rn.f32.u32 $0, t; }}"
                    samples.append(code.assembly(line, "=f,r", [word], F32))
        return samples[shape.shift :]

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
            window = window_of(code, first + row * shape.tile_samples)
            for i in range(max(0, row - shape.mask_rows + 1), min(shape.rows, row + 1)):
                weights_of_row = mask_rows[row - i]
                sums[i] = row_sums(code, [window], weights_of_row, shape.channels, shape.across, sums[i])
        return [total for row_of_sums in sums for total in row_of_sums]

    return device_function(types.UniTuple(types.float32, shape.rows * shape.across), accumulate)


MOST_BYTES = 16
"""Bytes that a thread stores at once."""


def result_storer(rows: int, across: int) -> DeviceFunction:
    """Return the function that writes a thread's results: `store(out, row, sample, samples, results)`.

    `row` and `sample` are those of its first result; nothing is written past the picture's rows, or from
    sample `samples` on. There are `rows` rows of results, of `across` samples: whole fours or one, and whole
    fours altogether. They are stored in the type of `out`.
    """

    def store(code, out, row, sample, samples, results):
        row, sample, samples = (code.narrow(value) for value in (row, sample, samples))
        bits = out.kind.dtype.bitwidth
        if bits == 8:
            # A word of bytes for each whole four.
            results = [code.packed_word(results[at : at + WORD]) for at in range(0, len(results), WORD)]
        elif bits == 16:
            results = [code.quantised(value, bits) for value in results]
        store_block(code, out, row, sample, samples, results, rows, across)

    return device_function(types.void, store)


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
    at_once = min(across & -across, MOST_BYTES * 8 // out.kind.dtype.bitwidth)
    first = code.pointer(out)
    # 32 bits where nothing larger can be: index arithmetic of 64 takes two to three times the instructions.
    height, row_pixels, channels = (code.narrow(side) for side in code.shape(out))
    narrow_pitch = row_pixels * channels
    pitch = code.unsigned(narrow_pitch)
    rows_left, samples_left = height - row, samples - sample
    is_aligned = (narrow_pitch & (at_once - 1)) == 0
    own = first + (code.unsigned(row) * pitch + code.unsigned(sample))
    pointers = list(itertools.accumulate([own] + [pitch] * (rows - 1)))
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

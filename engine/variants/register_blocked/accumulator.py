"""The multiply-adds of `register-blocked` and `separable-fused`.

Emitted they compile in 0.1 to 0.4 s; as unrolled Python statements they took 7 s (5 x 5) and 267 s (15 x 15).
"""

from dataclasses import dataclass
from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.register_tile import VECTOR, TileShape
from engine.variants.register_blocked.byte_tile_shape import WORD, ByteTileShape

Values = list[Any]


@dataclass
class Accumulation:
    """Accumulates a thread's results down the mask rows, over a window of input rows.

    Result row i lies under mask row m with input row i + m. So mask row m needs `rows` input rows; the next
    one needs the same but for the first, and one more, which is all that is loaded. Each weight serves `rows`
    x `across` results at once. Each (result, mask row) pair has a float32 partial sum of its own, a chain of
    fused multiply-adds, the first of which begins with `start`.

    `cells` point to each vector of this thread's window of the first input row, `weights` to the mask,
    `weight_pitch` floats per row.
    """

    code: Any
    shape: TileShape
    cells: Values
    weights: Any
    start: Any

    def sums(self) -> Values:
        """Return the sums, row by row."""
        shape = self.shape
        rounds = shape.mask_rows // shape.unrolled_rows
        before = shape.mask_rows if rounds < 2 else shape.mask_rows % shape.unrolled_rows
        windows = [self._window(self.cells, row) for row in range(shape.rows - 1)]
        sums: Values = []
        for m in range(before):
            windows, sums = self._mask_row(windows, sums, self.cells, self.weights, m)
        if before == shape.mask_rows:
            return sums

        def round_of(number: Any, carried: list[Any]) -> list[Any]:
            sums, *windows = carried
            passed = number * (shape.unrolled_rows * shape.tile_samples)
            cells = [pointer + passed for pointer in self.cells]
            weights = self.weights + number * (shape.unrolled_rows * shape.weight_pitch)
            for m in range(before, before + shape.unrolled_rows):
                windows, sums = self._mask_row(windows, sums, cells, weights, m)
            return [sums, *windows]

        begin = sums or [self.start] * (shape.rows * shape.across)
        return self.code.repeat(rounds, [begin, *windows], round_of)[0]

    def _window(self, cells: Values, row: int) -> Values:
        start = row * self.shape.tile_samples
        return [value for pointer in cells for value in (pointer + start).load(VECTOR)]

    def _mask_row(
        self, windows: list[Values], sums: Values, cells: Values, weights: Any, m: int
    ) -> tuple[list[Values], Values]:
        """Add mask row m, from the window of its first input rows on; return the window of the next one."""
        shape, code = self.shape, self.code
        windows = [*windows, self._window(cells, m + shape.rows - 1)]
        row, columns = weights + m * shape.weight_pitch, shape.mask_columns
        weights_of_row = [row.load()] if columns == 1 else code.load_row(row, columns)
        lines = [window[shape.shift :] for window in windows]
        start = None if sums else self.start
        partials = row_sums(code, lines, weights_of_row, shape.channels, shape.across, start)
        if sums:
            partials = [total + part for total, part in zip(sums, partials, strict=True)]
        return windows[1:], partials


def row_sums(
    code: Any, lines: list[Values], weights: Values, apart: int, count: int, start: Any = None
) -> Values:
    """Return `count` sums over neighbouring windows of each line: chains of fused multiply-adds.

    The cells of a window are `apart` from each other. Each sum begins with `start`; None: with nothing.
    """
    sums: Values = []
    for n, weight in enumerate(weights):
        for place in range(len(lines) * count):
            value = lines[place // count][place % count + n * apart]
            if n:
                sums[place] = code.fma(value, weight, sums[place])
            else:
                sums.append(value * weight if start is None else code.fma(value, weight, start))
    return sums


def window_pointers(shape: TileShape, row: Any, lane: Any) -> Values:
    """Return the pointers to the vectors of a thread's window in a row, where `vector_index` has them."""
    first, numbers = row + lane * shape.across, range(shape.window // VECTOR)
    if not shape.mixed:
        return [first + VECTOR * number for number in numbers]
    own = lane * shape.vectors
    return [row + shape.vector_index(own + number) * VECTOR for number in numbers]


def accumulator(shape: TileShape, all_weights: int | None = None) -> Any:
    """Return the function `accumulate(tile, at, lane, weights, start)` -> a thread's results.

    `at` is where the row of the tile begins that lies under the mask's first row and the thread's first
    results; `start` is added to each sum. The `rows` x `across` sums begin with row 0.

    `all_weights` are those of the kernel in constant memory, its own first; None: it has no others.
    """
    count = shape.weights if all_weights is None else all_weights

    def accumulate(code, tile, at, lane, weights, start):
        cells = window_pointers(shape, code.shared(tile) + at, code.narrow(lane))
        mask = code.weights(weights, count, shape.weight_pitch)
        return Accumulation(code, shape, cells, mask, start).sums()

    return device_function(types.UniTuple(types.float32, shape.rows * shape.across), accumulate)


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
            window = _byte_window(code, shape, first + row * shape.tile_samples)
            for i in range(max(0, row - shape.mask_rows + 1), min(shape.rows, row + 1)):
                begin = None if sums[i] else start
                partials = row_sums(code, [window], mask_rows[row - i], shape.channels, shape.across, begin)
                if sums[i]:
                    partials = [total + part for total, part in zip(sums[i], partials, strict=True)]
                sums[i] = partials
        return [total for row_of_sums in sums for total in row_of_sums]

    return device_function(types.UniTuple(types.float32, shape.rows * shape.across), accumulate)


def _byte_window(code: Any, shape: ByteTileShape, row: Any) -> Values:
    """Return a thread's samples of an input row, the first one under the mask's first column."""
    samples: Values = []
    for word, size in shape.loads:
        samples += code.load_bytes(row + WORD * word, size)
    return samples[shape.shift :]


def row_store(shape: TileShape) -> Any:
    """Return the function `keep(tile, at, lane, values)`: a lane's values, in the row at element `at`.

    The lane's vectors are where `vector_index` has them: in the place of the samples of the same columns.
    """

    def keep(code, tile, at, lane, values):
        row, own = code.shared(tile) + at, code.narrow(lane) * shape.vectors
        for number in range(shape.vectors):
            vector = row + shape.vector_index(own + number) * VECTOR
            vector.store(values[number * VECTOR : (number + 1) * VECTOR])

    return device_function(types.void, keep)

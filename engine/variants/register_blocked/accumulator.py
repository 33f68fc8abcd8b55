"""The multiply-adds of `register-blocked` and `separable-fused`.

Emitted they compile in 0.1 to 0.4 s; the same as unrolled Python statements took 7 s (5 x 5) and 267 s (15 x 15).
"""

from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.register_tile import VECTOR, TileShape

Values = list[Any]


class Accumulation:
    """Accumulates a thread's results down the mask rows, over a window of input rows.

    Result row i lies under mask row m with input row i + m. So mask row m needs `rows` input rows; the next one needs
    the same but for the first, and one more, which is all that is loaded. Each weight serves `rows` x `across` results
    at once. Each (result, mask row) pair has a float32 partial sum of its own, a chain of fused multiply-adds.

    Parameters
    ----------
    code : CudaCode or PlainCode
    shape : TileShape
    cells : list of pointers
        To each vector of this thread's window of the first input row; float32, any address space.
    weights : pointer
        The mask, `weight_pitch` floats a row.
    start : float32
        What the first chain begins with.
    """

    def __init__(self, code: Any, shape: TileShape, cells: Values, weights: Any, start: Any) -> None:
        self._code, self._shape, self._start = code, shape, start
        self._cells, self._weights = cells, weights

    def sums(self) -> Values:
        """Return the sums, row by row."""
        shape = self._shape
        rounds = shape.mask_rows // shape.unrolled_rows
        before = shape.mask_rows if rounds < 2 else shape.mask_rows % shape.unrolled_rows
        windows = [self._window(self._cells, row) for row in range(shape.rows - 1)]
        sums: Values = []
        for m in range(before):
            windows, sums = self._mask_row(windows, sums, self._cells, self._weights, m)
        if before == shape.mask_rows:
            return sums

        def round_of(number: Any, carried: list[Any]) -> list[Any]:
            sums, *windows = carried
            passed = number * (shape.unrolled_rows * shape.tile_samples)
            cells = [pointer + passed for pointer in self._cells]
            weights = self._weights + number * (shape.unrolled_rows * shape.weight_pitch)
            for m in range(before, before + shape.unrolled_rows):
                windows, sums = self._mask_row(windows, sums, cells, weights, m)
            return [sums, *windows]

        begin = sums or [self._start] * (shape.rows * shape.across)
        return self._code.repeat(rounds, [begin, *windows], round_of)[0]

    def _window(self, cells: Values, row: int) -> Values:
        start = row * self._shape.tile_samples
        return [value for pointer in cells for value in (pointer + start).load(VECTOR)]

    def _weights_of(self, weights: Any, m: int) -> Values:
        row, columns = weights + m * self._shape.weight_pitch, self._shape.mask_columns
        return [row.load()] if columns == 1 else self._code.load_row(row, columns)

    def _mask_row(
        self, windows: list[Values], sums: Values, cells: Values, weights: Any, m: int
    ) -> tuple[list[Values], Values]:
        """Add mask row m, from the window of its first input rows on; return the window of the next one."""
        shape, code = self._shape, self._code
        windows = [*windows, self._window(cells, m + shape.rows - 1)]
        partials: Values = []
        for n, weight in enumerate(self._weights_of(weights, m)):
            for place in range(shape.rows * shape.across):
                i, k = divmod(place, shape.across)
                value = windows[i][shape.shift + k + n * shape.channels]
                if n:
                    partials[place] = code.fma(value, weight, partials[place])
                elif sums:
                    partials.append(value * weight)
                else:
                    partials.append(code.fma(value, weight, self._start))
        if sums:
            partials = [total + part for total, part in zip(sums, partials, strict=True)]
        return windows[1:], partials


def vector_index(shape: TileShape, vector: Any) -> Any:
    """Return where a vector of a row of the input tile lies in it (`TileShape.vector_index`)."""
    return vector ^ (vector >> 3 & shape.mixed) if shape.mixed else vector


def window_pointers(shape: TileShape, row: Any, lane: Any) -> Values:
    """Return the pointers to the vectors of a thread's window in a row of the tile, where `vector_index` has them."""
    first, numbers = row + lane * shape.across, range(shape.window // VECTOR)
    if not shape.mixed:
        return [first + VECTOR * number for number in numbers]
    own = lane * shape.vectors
    return [row + vector_index(shape, own + number) * VECTOR for number in numbers]


def accumulator(shape: TileShape, all_weights: int | None = None) -> Any:
    """Return the function that computes a thread's results: `accumulate(tile, at, lane, weights, start)` -> sums.

    `at` is where the row of the tile begins that lies under the mask's first row and the thread's first results; `start` is
    added to each sum. The `rows` x `across` sums begin with row 0.

    Parameters
    ----------
    shape : TileShape
    all_weights : int, optional
        Of the kernel in constant memory, with those of other functions, which come after its own; None: there are no others.
    """
    count = shape.weights if all_weights is None else all_weights

    def accumulate(code: Any, tile: Any, at: Any, lane: Any, weights: Any, start: Any) -> Values:
        cells = window_pointers(shape, code.shared(tile) + at, code.narrow(lane))
        mask = code.weights(weights, count, shape.weight_pitch)
        return Accumulation(code, shape, cells, mask, start).sums()

    return device_function(types.UniTuple(types.float32, shape.rows * shape.across), accumulate)


def row_store(shape: TileShape) -> Any:
    """Return the function `keep(tile, at, lane, values)`: a lane's `across` values, in the row that begins at element `at`.

    The lane's vectors are where `vector_index` has them: in the place of the samples of the same columns.

    Parameters
    ----------
    shape : TileShape
    """

    def keep(code: Any, tile: Any, at: Any, lane: Any, values: Values) -> None:
        row, own = code.shared(tile) + at, code.narrow(lane) * shape.vectors
        for number in range(shape.vectors):
            vector = row + vector_index(shape, own + number) * VECTOR
            vector.store(values[number * VECTOR : (number + 1) * VECTOR])

    return device_function(types.void, keep)

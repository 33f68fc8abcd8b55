"""Rows in, rows out: the multiply-adds of a thread that streams down a strip's columns."""

from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.register_tile import VECTOR
from engine.variants.register_blocked.accumulator import window_pointers
from engine.variants.strips.strip_shape import FactorStripShape

Values = list[Any]


class StreamingAccumulation:
    """What a thread does with a group of input rows.

    Each input row is filtered along itself: 4 values for each pair of factors. Then it takes part in the `mask_rows`
    results that have it under their mask: in the oldest with the last weight of the column, which completes it, in the
    next one with the weight before, and so on; the newest begins with it. All accumulators move up one place meanwhile: a
    multiply-add may write another register than the one that it adds, so this costs nothing.

    Parameters
    ----------
    code : CudaCode or PlainCode
    shape : FactorStripShape
    cells : list of pointers
        To each vector of this thread's window of the first input row; float32, any address space.
    along, down : pointer
        To the factors, rows and columns, as `FactorStripShape.weights` has them.
    """

    def __init__(self, code: Any, shape: FactorStripShape, cells: Values, along: Any, down: Any) -> None:
        self._code, self._shape, self._cells = code, shape, cells
        self._along, self._down = along, down

    def accumulate(self, accumulators: Values) -> tuple[Values, Values]:
        """Return the results that the rows complete, row by row, and the accumulators afterwards.

        Parameters
        ----------
        accumulators : list of float32
            4 sums for each result that waits for further rows, the oldest first.
        """
        results: Values = []
        for number in range(self._shape.group_rows):
            sums = self._filtered_down([*accumulators], self._filtered_along(number))
            results += sums[:VECTOR]
            # A mask of one row keeps nothing, but a tuple has to have something in it.
            accumulators = sums[VECTOR:] or accumulators
        return results, accumulators

    def _filtered_along(self, number: int) -> list[Values]:
        """Return the 4 values that input row `number` gives with each row of weights."""
        start = number * self._shape.along.tile_samples
        window = [value for pointer in self._cells for value in (pointer + start).load(VECTOR)]
        return [self._row_sums(window, r) for r in range(self._shape.rank)]

    def _row_sums(self, window: Values, r: int) -> Values:
        code, shape = self._code, self._shape.along
        sums: Values = []
        first = r * shape.weight_pitch
        for n, weight in enumerate(code.load_row(self._along + first, shape.mask_columns, first)):
            for k in range(VECTOR):
                value = window[shape.shift + k + n * shape.channels]
                if n:
                    sums[k] = code.fma(value, weight, sums[k])
                else:
                    sums.append(value * weight)
        return sums

    def _filtered_down(self, accumulators: Values, rows: list[Values]) -> Values:
        """Return the sums of all results that have this input row under their mask, the oldest first."""
        code, shape = self._code, self._shape
        weights = code.load_row(self._down, shape.rank * shape.mask_rows, shape.down_at)
        sums: Values = []
        for m in reversed(range(shape.mask_rows)):
            for k in range(VECTOR):
                total = accumulators[len(sums)] if m else None
                for r, row in enumerate(rows):
                    weight = weights[m * shape.rank + r]
                    total = row[k] * weight if total is None else code.fma(row[k], weight, total)
                sums.append(total)
        return sums


def streaming_accumulator(shape: FactorStripShape) -> Any:
    """Return the function `accumulate(tile, at, lane, accumulators, along, down)` -> (results, accumulators afterwards).

    `at` is where a group of input rows begins in the tile; `accumulators` are those of `zero_accumulators` or of the call
    before. Of `group_rows` x 4 results row j is complete with input row j of the group. `along` has the shape (rank, mask
    columns), `down` (mask rows, rank).
    """
    results = types.UniTuple(types.float32, VECTOR * shape.group_rows)
    returns = types.Tuple((results, types.UniTuple(types.float32, shape.kept)))

    def accumulate(
        code: Any, tile: Any, at: Any, lane: Any, accumulators: Values, along: Any, down: Any
    ) -> tuple[Values, Values]:
        cells = window_pointers(shape.along, code.shared(tile) + at, code.narrow(lane))
        rows = code.weights(along, shape.weights, shape.along.weight_pitch)
        columns = code.weights(down, shape.weights, shape.rank, shape.down_at)
        return StreamingAccumulation(code, shape, cells, rows, columns).accumulate(accumulators)

    return device_function(returns, accumulate)

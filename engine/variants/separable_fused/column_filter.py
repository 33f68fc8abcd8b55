"""A column of filtered rows in shared memory, filtered down into the results of a thread."""

from dataclasses import dataclass
from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.register_tile import VECTOR

Values = list[Any]

# Multiply-adds that are written one after another; more of them go through a loop.
MOST_UNROLLED = 500
# Input rows of a round of that loop, or as many as there are rows of results.
LEAST_ROUND_ROWS = 8


@dataclass(frozen=True, slots=True)
class ColumnShape:
    """The shape of a thread's work down the columns; everything is known when the kernel is compiled."""

    mask_rows: int
    rows: int  # Rows of results of a thread, one vector each.
    pitch: int  # Elements from one row of the tile to the next.
    ring_rows: int  # Rows of the tile, a multiple of `rows`, if the first one follows on the last; else 0.

    @property
    def round_rows(self) -> int:
        """Input rows of a round of the loop: whole pieces of `rows` rows, between which a ring may end."""
        return self.rows * max(1, LEAST_ROUND_ROWS // self.rows)

    @property
    def rounds(self) -> int:
        """Rounds of the loop; none if all rows are written one after another."""
        if self.rows * VECTOR * self.mask_rows <= MOST_UNROLLED:
            return 0
        rounds = (self.mask_rows - self.rows) // self.round_rows
        return rounds if rounds > 1 else 0

    @property
    def written(self) -> int:
        """Multiply-adds in the code."""
        rows_in_loop = self.rounds * self.round_rows
        return VECTOR * self.rows * (self.mask_rows - rows_in_loop + (self.round_rows if rows_in_loop else 0))


@dataclass
class ColumnFilter:
    """The multiply-adds of a thread: result row i takes input row i + m with weight m, from above to below.

    `column` points to the thread's vector in the tile's first row, `weights` to one for each mask row; the
    other fields are those of `column_filter`.
    """

    code: Any
    shape: ColumnShape
    first: Any
    column: Any
    weights: Any
    start: Any

    def sums(self) -> Values:
        """Return the sums, row by row."""
        shape = self.shape
        rows = shape.rows
        sums: list[Values] = [[self.start] * VECTOR for _ in range(rows)]
        last = rows + shape.mask_rows - 1
        if shape.rounds:
            sums = self.code.repeat(shape.rounds, self._written(sums, 0, rows), self._round)
            sums = self._written(sums, rows + shape.rounds * shape.round_rows, last)
        else:
            sums = self._written(sums, 0, last)
        return [value for row in sums for value in row]

    def _written(self, sums: list[Values], first: int, last: int) -> list[Values]:
        """Add input rows `first` to `last`, which some of the results take only; `first` begins a piece."""
        shape, sums = self.shape, [*sums]
        for piece in range(first, last, shape.rows):
            rows = range(piece, min(piece + shape.rows, last))
            pointer = self._piece(piece)
            loaded = [(pointer + (j - piece) * shape.pitch).load(VECTOR) for j in rows]
            for j, values in zip(rows, loaded, strict=True):
                for i in range(shape.rows):
                    if 0 <= j - i < shape.mask_rows:
                        sums[i] = self._added(sums[i], values, (self.weights + (j - i)).load())
        return sums

    def _round(self, number: Any, sums: list[Values]) -> list[Values]:
        """Add the input rows of a round, which lie under all results."""
        shape = self.shape
        rows, weights = shape.rows, self.weights + number * shape.round_rows
        passed = number * (shape.round_rows // rows)
        factors = {m: (weights + (rows + m)).load() for m in range(1 - rows, shape.round_rows)}
        pointer = self.column
        for j in range(shape.round_rows):
            piece, row = divmod(j, rows)
            if not row:
                pointer = self._piece((passed + (1 + piece)) * rows)
            values = (pointer + row * shape.pitch).load(VECTOR)
            sums = [self._added(sums[i], values, factors[j - i]) for i in range(rows)]
        return sums

    def _piece(self, below: Any) -> Any:
        """Return the pointer to the first of `rows` rows, so many rows below the first one."""
        shape, row = self.shape, self.first + below
        if shape.ring_rows:
            beyond = row - shape.ring_rows
            row = self.code.select(beyond >= 0, beyond, row)
        return self.column + row * shape.pitch

    def _added(self, sums: Values, values: Values, weight: Any) -> Values:
        return [self.code.fma(v, weight, total) for v, total in zip(values, sums, strict=True)]


def column_filter(shape: ColumnShape, first_weight: int, all_weights: int) -> Any:
    """Return the function `filter_down(tile, first, cell, weights, start)` -> 4 sums for each of the rows.

    `first` is the row of the tile under the mask's first row and the thread's first results, of a ring a
    multiple of `rows`; `cell` is the thread's vector in each row. `weights` has the shape (mask rows, 1); in
    constant memory the column begins at `first_weight` of `all_weights`. Each sum begins with `start`.
    """

    def filter_down(code, tile, first, cell, weights, start):
        data, first, cell = code.shared(tile), code.narrow(first), code.narrow(cell)
        mask = code.weights(weights, all_weights, 1, first_weight)
        return ColumnFilter(code, shape, first, data + cell, mask, start).sums()

    return device_function(types.UniTuple(types.float32, shape.rows * VECTOR), filter_down)

"""A column of filtered rows in shared memory, filtered down into the results of a thread."""

from numba import types

from engine.variants.ir.device_function import DeviceFunction, device_function
from engine.variants.ir.register_tile import VECTOR
from engine.variants.tiles.window_sums import ColumnWindows

# Multiply-adds that are written one after another; more of them go through a loop.
MOST_UNROLLED = 500
# Input rows of a round of that loop, or as many as there are rows of results.
LEAST_ROUND_ROWS = 8


def rounds_of(down: ColumnWindows) -> tuple[int, int]:
    """Return the rounds of the loop, none if all rows are written one after another, and a round's rows.

    Its input rows are whole pieces of `rows` rows, between which a ring may end.
    """
    round_rows = down.rows * max(1, LEAST_ROUND_ROWS // down.rows)
    rounds = (down.mask_rows - down.rows) // round_rows
    is_short = down.windows.count * down.mask_rows <= MOST_UNROLLED
    return 0 if is_short or rounds < 2 else rounds, round_rows


def column_filter(down: ColumnWindows, first_weight: int, all_weights: int) -> DeviceFunction:
    """Return the function `filter_down(tile, first, cell, weights, start)` -> 4 sums for each of the rows.

    `first` is the row of the tile under the mask's first row and the thread's first results, of a ring a
    multiple of `rows`; `cell` is the thread's vector in each row. `weights` has the shape (mask rows, 1); in
    constant memory the column begins at `first_weight` of `all_weights`. Each sum begins with `start`. Result
    row i takes input row i + m with weight m, from above to below.
    """
    rows, (rounds, round_rows) = down.rows, rounds_of(down)

    def filter_down(code, tile, first, cell, weights, start):
        data, first, cell = code.shared(tile), code.narrow(first), code.narrow(cell)
        mask, column = code.weights(weights, all_weights, 1, first_weight), data + cell

        def piece_at(below):
            """Return the pointer to the first of `rows` rows, so many rows below the first one."""
            row = first + below
            if down.ring_rows:
                beyond = row - down.ring_rows
                row = code.select(beyond >= 0, beyond, row)
            return column + row * down.pitch

        def added(sums, values, weight):
            return [code.fma(v, weight, total) for v, total in zip(values, sums, strict=True)]

        def written(sums, begin, end):
            """Add input rows `begin` to `end`, that not all results take; `begin` begins a piece."""
            sums = [*sums]
            for piece in range(begin, end, rows):
                numbers = range(piece, min(piece + rows, end))
                pointer = piece_at(piece)
                loaded = [(pointer + (j - piece) * down.pitch).load(VECTOR) for j in numbers]
                for j, values in zip(numbers, loaded, strict=True):
                    for i in range(rows):
                        if 0 <= j - i < down.mask_rows:
                            sums[i] = added(sums[i], values, (mask + (j - i)).load())
            return sums

        def round_of(number, sums):
            """Add the input rows of a round, which lie under all results."""
            own, passed = mask + number * round_rows, number * (round_rows // rows)
            factors = {m: (own + (rows + m)).load() for m in range(1 - rows, round_rows)}
            for j in range(round_rows):
                piece, row = divmod(j, rows)
                if not row:
                    pointer = piece_at((passed + (1 + piece)) * rows)
                values = (pointer + row * down.pitch).load(VECTOR)
                sums = [added(sums[i], values, factors[j - i]) for i in range(rows)]
            return sums

        begin, end = [[start] * VECTOR for _ in range(rows)], rows + down.mask_rows - 1
        if not rounds:
            sums = written(begin, 0, end)
        else:
            sums = code.repeat(rounds, written(begin, 0, rows), round_of)
            sums = written(sums, rows + rounds * round_rows, end)
        return [value for row in sums for value in row]

    return device_function(types.UniTuple(types.float32, rows * VECTOR), filter_down)

"""Rows in, rows out: the multiply-adds of a thread that streams down a strip's columns, and its results."""

from numba import types

from engine.variants.ir.device_function import DeviceFunction, device_function
from engine.variants.ir.quantise import row_pointers, stored_samples
from engine.variants.ir.register_tile import VECTOR
from engine.variants.ir.value import Value
from engine.variants.low_rank.strip_shape import StripShape
from engine.variants.tiles.accumulator import row_sums, window_pointers

Values = list[Value]


def streaming_accumulator(shape: StripShape) -> DeviceFunction:
    """Return the function `accumulate(tile, at, lane, accumulators, along, down)` -> results, accumulators.

    `at` is where a group of input rows begins in the tile; `accumulators` are those of `zero_accumulators` or
    of the call before: 4 sums for each result that waits for further rows, the oldest first. Of `group_rows`
    x 4 results row j is complete with input row j of the group. `along` has the shape (rank, mask columns),
    `down` (mask rows, rank).

    Each input row is filtered along itself: 4 values for each pair of factors. Then it takes part in the
    `mask_rows` results that have it under their mask: in the oldest with the last weight of the column, which
    completes it, in the next one with the weight before, and so on; the newest begins with it. All
    accumulators move up by one meanwhile: a multiply-add may write another register than the one that it
    adds, so this costs nothing.
    """
    results_type = types.UniTuple(types.float32, VECTOR * shape.group_rows)
    returns = types.Tuple((results_type, types.UniTuple(types.float32, shape.kept)))

    row = shape.along

    def product_sum(code, values, weights, total=None):
        for value, weight in zip(values, weights, strict=False):
            total = value * weight if total is None else code.fma(value, weight, total)
        return total

    def filtered_down(code, accumulators, rows, columns):
        """Return the sums of all results that have an input row under their mask, the oldest first."""
        factors = code.load_row(columns, shape.rank * shape.mask_rows, shape.down_at)
        sums: Values = []
        for m in reversed(range(shape.mask_rows)):
            for k in range(VECTOR):
                waiting = accumulators[len(sums)] if m else None
                sums.append(product_sum(code, [row[k] for row in rows], factors[m * shape.rank :], waiting))
        return sums

    def accumulate(code, tile, at, lane, accumulators, along, down):
        cells = window_pointers(row, code.shared(tile) + at, code.narrow(lane))
        rows = code.weights(along, shape.weights, row.weight_pitch)
        columns = code.weights(down, shape.weights, shape.rank, shape.down_at)
        results: Values = []
        for number in range(shape.group_rows):
            start = number * row.tile_samples
            window = [value for pointer in cells for value in (pointer + start).load(VECTOR)]
            filtered = []
            for first in range(0, shape.down_at, row.weight_pitch):
                weights = code.load_row(rows + first, row.mask_columns, first)
                filtered.append(row_sums(code, [window[row.shift :]], weights, row.channels, VECTOR))
            sums = filtered_down(code, accumulators, filtered, columns)
            results += sums[:VECTOR]
            # A mask of one row keeps nothing, but a tuple has to have something in it.
            accumulators = sums[VECTOR:] or accumulators
        return results, accumulators

    return device_function(returns, accumulate)


def strip_storer(rows: int, itemsize: int) -> DeviceFunction:
    """Return the function that writes 4 results in each of some rows, as samples of `itemsize` bytes.

    `store(out, row, first, end, sample, samples, results, offset)`: `row` and `sample` are those of the first
    result; nothing is written before row `first`, from row `end` on, or from sample `samples` on.
    """

    def store(code, out, row, first, end, sample, samples, results, offset):
        data = code.pointer(out)
        _, row_pixels, channels = code.shape(out)
        pitch = row_pixels * channels
        row, first, end, sample, samples = (code.wide(value) for value in (row, first, end, sample, samples))
        stored = stored_samples(code, [result + offset for result in results], itemsize)
        pointers = row_pointers(data + (row * pitch + sample), pitch, rows)
        remainder, last = pitch & (VECTOR - 1), sample + (VECTOR - 1)
        all_samples = code.all_of(remainder == 0, last < samples)
        is_whole = code.all_of(row >= first, row + (rows - 1) < end, all_samples)

        def is_row(i):
            return code.all_of(row + i >= first, row + i < end)

        def is_cell(i, k):
            return sample + k < samples

        stored.store_rows(pointers, range(VECTOR), VECTOR, is_whole, is_row, is_cell)

    return device_function(types.void, store)

"""Rows in, rows out: the multiply-adds of a thread that marches down a strip; emitted as LLVM IR."""

from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.ir.cuda_constants import constant_weights
from engine.variants.ir.cuda_ir import F32, SHARED, data_of, fma, load_vector, moved, narrow, with_twin
from engine.variants.ir.register_tile import VECTOR
from engine.variants.register_blocked.cuda_accumulator import window_pointers
from engine.variants.strips.march_shape import MarchShape

Values = list[ir.Value]


class March:
    """Emits what a thread does with a group of input rows.

    Each input row is filtered along itself: 4 values for each pair of factors. Then it takes part in the `mask_rows`
    results that have it under their mask: in the oldest with the last weight of the column, which completes it, in the
    next one with the weight before, and so on; the newest begins with it. All that wait move up one place meanwhile: a
    multiply-add may write another register than the one that it adds, so this costs nothing.

    Parameters
    ----------
    shape : MarchShape
    builder : IRBuilder
    cells : list of pointers
        To each vector of this thread's window of the first input row; float32, any address space.
    weights : pointer
        To the factors as `MarchShape.weights` has them.
    """

    def __init__(self, shape: MarchShape, builder: ir.IRBuilder, cells: Values, weights: ir.Value) -> None:
        self._shape, self._builder, self._cells, self._weights = shape, builder, cells, weights

    def emit(self, waiting: Values) -> tuple[Values, Values]:
        """Return the results that the rows complete, row by row, and what waits afterwards.

        Parameters
        ----------
        waiting : list of float32
            4 sums for each result that waits, the oldest first.
        """
        results: Values = []
        for number in range(self._shape.group_rows):
            sums = self._down([*waiting], self._along(number))
            results += sums[:VECTOR]
            # A mask of one row keeps nothing, but a tuple has to have something in it.
            waiting = sums[VECTOR:] or waiting
        return results, waiting

    def _along(self, number: int) -> list[Values]:
        """Return the 4 values that input row `number` gives with each row of weights."""
        shape, builder = self._shape.along, self._builder
        window: Values = []
        for pointer in self._cells:
            window += load_vector(builder, moved(builder, pointer, number * shape.tile_samples), 4)
        return [self._filtered(window, r) for r in range(self._shape.rank)]

    def _filtered(self, window: Values, r: int) -> Values:
        shape, builder = self._shape.along, self._builder
        sums: Values = []
        for n, weight in enumerate(self._loaded(r * shape.weight_pitch, shape.mask_columns)):
            for k in range(VECTOR):
                value = window[shape.shift + k + n * shape.channels]
                if n == 0:
                    sums.append(builder.fmul(value, weight))
                else:
                    sums[k] = fma(builder, value, weight, sums[k])
        return sums

    def _down(self, waiting: Values, rows: list[Values]) -> Values:
        """Return the sums of all results that have this input row under their mask, the oldest first."""
        shape, builder = self._shape, self._builder
        weights = self._loaded(shape.down_at, shape.rank * shape.mask_rows)
        sums: Values = []
        for m in reversed(range(shape.mask_rows)):
            for k in range(VECTOR):
                total = waiting[len(sums)] if m else None
                for r, row in enumerate(rows):
                    weight = weights[m * shape.rank + r]
                    if total is None:
                        total = builder.fmul(row[k], weight)
                    else:
                        total = fma(builder, row[k], weight, total)
                sums.append(total)
        return sums

    def _loaded(self, first: int, count: int) -> Values:
        """Return weights, by vectors where all of a vector are there."""
        values: Values = []
        builder = self._builder
        for at in range(first, first + count):
            if len(values) > at - first:
                continue
            if at % VECTOR == 0:
                values += load_vector(builder, moved(builder, self._weights, at), 4)
            else:
                values.append(builder.load(moved(builder, self._weights, at)))
        return values[:count]


def marcher(shape: MarchShape) -> Any:
    """Return the function `march(tile, at, lane, waiting, along, down)` -> (results, waiting afterwards).

    `at` is where a group of input rows begins in the tile; `waiting` are the sums of `none_waiting` or of the call
    before. Of `group_rows` x 4 results row j is complete with input row j of the group. The compiled function reads its
    weights from constant memory (`cuda_constants.py`); its plain twin from the arrays that it is given: `along` of shape
    (rank, mask columns) and `down` of shape (mask rows, rank).
    """
    made = types.Tuple(
        (
            types.UniTuple(types.float32, VECTOR * shape.group_rows),
            types.UniTuple(types.float32, shape.kept),
        )
    )

    @intrinsic
    def march(typingctx, tile, at, lane, waiting, along, down):
        def codegen(context, builder, signature, arguments):
            data = data_of(context, builder, signature.args[0], arguments[0], space=SHARED)
            row = moved(builder, data, arguments[1])
            cells = window_pointers(builder, shape.along, row, narrow(builder, arguments[2]))
            weights = constant_weights(builder, shape.weights)
            waiting = [builder.extract_value(arguments[3], place) for place in range(shape.kept)]
            parts = March(shape, builder, cells, weights).emit(waiting)
            packed = [
                context.make_tuple(builder, kind, values)
                for kind, values in zip(made.types, parts, strict=True)
            ]
            return context.make_tuple(builder, made, packed)

        return made(tile, at, lane, waiting, along, down), codegen

    def twin(
        tile: Any, at: int, lane: int, waiting: tuple[Any, ...], along: Any, down: Any
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        results: list[Any] = []
        columns, channels = shape.along.mask_columns, shape.along.channels
        factors_along = [[along[r, n] for n in range(columns)] for r in range(shape.rank)]
        factors_down = [[down[m, r] for r in range(shape.rank)] for m in range(shape.mask_rows)]
        for number in range(shape.group_rows):
            start = at + number * shape.along.tile_samples + lane * VECTOR
            window = [tile[start + place] for place in range(shape.along.window)]
            rows = []
            for weights in factors_along:
                row = []
                for k in range(VECTOR):
                    first = shape.along.shift + k
                    total = window[first] * weights[0]
                    for n in range(1, columns):
                        total = window[first + n * channels] * weights[n] + total
                    row.append(total)
                rows.append(row)
            sums: list[Any] = []
            for m in reversed(range(shape.mask_rows)):
                for k in range(VECTOR):
                    total = waiting[len(sums)] if m else None
                    for r in range(shape.rank):
                        product = rows[r][k] * factors_down[m][r]
                        total = product if total is None else product + total
                    sums.append(total)
            results += sums[:VECTOR]
            waiting = tuple(sums[VECTOR:]) or waiting
        return tuple(results), waiting

    return with_twin(march, twin)


def none_waiting(kept: int) -> Any:
    """Return the function `none()` of the sums that wait before the first input row: so many zeros, which no result contains."""

    @intrinsic
    def none(typingctx):
        signature = types.UniTuple(types.float32, kept)()

        def codegen(context, builder, signature, arguments):
            zeros = [ir.Constant(F32, 0.0)] * kept
            return context.make_tuple(builder, signature.return_type, zeros)

        return signature, codegen

    def twin() -> tuple[Any, ...]:
        return (types.float32(0.0),) * kept

    return with_twin(none, twin)

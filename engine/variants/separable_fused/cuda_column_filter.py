"""A column of filtered rows in shared memory, filtered down into the results of a thread; emitted as LLVM IR."""

from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.ir.cuda_constants import constant_weights
from engine.variants.ir.cuda_ir import (
    F32,
    I32,
    SHARED,
    constant,
    data_of,
    fma,
    load_vector,
    moved,
    narrow,
    not_unrolled,
    with_twin,
)
from engine.variants.ir.register_tile import VECTOR

Values = list[ir.Value]

# Multiply-adds that are written one after another; more of them go through a loop.
MOST_UNROLLED = 500
# Input rows of a round of that loop, or as many as there are rows of results.
LEAST_ROUND_ROWS = 8


@dataclass(frozen=True, slots=True)
class ColumnShape:
    """The shape of a thread's work down the columns; everything is known when the kernel is compiled.

    Parameters
    ----------
    mask_rows : int
    rows : int
        Rows of results of a thread, one vector each.
    pitch : int
        Elements from one row of the tile to the next.
    ring_rows : int
        Rows of the tile, a multiple of `rows`, if the first one follows on the last one; else 0.
    """

    mask_rows: int
    rows: int
    pitch: int
    ring_rows: int

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


class ColumnFilter:
    """Emits the multiply-adds of a thread: result row i takes input row i + m with weight m, from above to below.

    Parameters
    ----------
    shape : ColumnShape
    builder : IRBuilder
    tile : pointer
        To the first element of the tile; float32, any address space.
    first : i32 value
        The row of the tile under the mask's first row and the thread's first results; of a ring a multiple of `rows`.
    cell : i32 value
        The thread's vector in each row.
    weights : pointer
        One for each mask row.
    start : float32 value
        What each sum begins with.
    """

    def __init__(
        self,
        shape: ColumnShape,
        builder: ir.IRBuilder,
        tile: ir.Value,
        first: ir.Value,
        cell: ir.Value,
        weights: ir.Value,
        start: ir.Value,
    ) -> None:
        self._shape, self._builder, self._weights, self._start = shape, builder, weights, start
        self._first, self._column = first, moved(builder, tile, cell)

    def emit(self) -> Values:
        """Return the sums, row by row."""
        shape, builder = self._shape, self._builder
        rows = shape.rows
        sums: list[Values] = [[self._start] * VECTOR for _ in range(rows)]
        last = rows + shape.mask_rows - 1
        if not shape.rounds:
            return _flat(self._written(sums, 0, last))
        sums = self._written(sums, 0, rows)
        entry = builder.block
        body, after = builder.append_basic_block("input_rows"), builder.append_basic_block("last_rows")
        builder.branch(body)
        builder.position_at_end(body)
        number = builder.phi(I32)
        number.add_incoming(constant(0), entry)
        carried = [[builder.phi(F32) for _ in row] for row in sums]
        for phi, value in zip(_flat(carried), _flat(sums), strict=True):
            phi.add_incoming(value, entry)
        weights = moved(builder, self._weights, builder.mul(number, constant(shape.round_rows)))
        passed = builder.mul(number, constant(shape.round_rows // rows))
        sums = self._round(carried, passed, weights)
        following = builder.add(number, constant(1))
        number.add_incoming(following, builder.block)
        for phi, value in zip(_flat(carried), _flat(sums), strict=True):
            phi.add_incoming(value, builder.block)
        branch = builder.cbranch(builder.icmp_unsigned("<", following, constant(shape.rounds)), body, after)
        not_unrolled(branch, builder.module)
        builder.position_at_end(after)
        return _flat(self._written(sums, rows + shape.rounds * shape.round_rows, last))

    def _written(self, sums: list[Values], first: int, last: int) -> list[Values]:
        """Add input rows `first` to `last`, which lie under some of the results only; `first` begins a piece."""
        shape, builder = self._shape, self._builder
        for piece in range(first, last, shape.rows):
            rows = range(piece, min(piece + shape.rows, last))
            pointer = self._piece(constant(piece // shape.rows))
            loaded = [
                load_vector(builder, moved(builder, pointer, (j - piece) * shape.pitch), 4) for j in rows
            ]
            for j, values in zip(rows, loaded, strict=True):
                for i in range(shape.rows):
                    if 0 <= j - i < shape.mask_rows:
                        weight = builder.load(moved(builder, self._weights, j - i))
                        sums[i] = self._added(sums[i], values, weight)
        return sums

    def _round(self, sums: list[Values], passed: ir.Value, weights: ir.Value) -> list[Values]:
        """Add the input rows of a round, which lie under all results; `passed` are the pieces of the rounds before."""
        shape, builder = self._shape, self._builder
        rows = shape.rows
        factors = {
            m: builder.load(moved(builder, weights, rows + m)) for m in range(1 - rows, shape.round_rows)
        }
        pointer = self._column
        for j in range(shape.round_rows):
            piece, row = divmod(j, rows)
            if not row:
                pointer = self._piece(builder.add(passed, constant(1 + piece)))
            values = load_vector(builder, moved(builder, pointer, row * shape.pitch), 4)
            sums = [self._added(sums[i], values, factors[j - i]) for i in range(rows)]
        return sums

    def _piece(self, number: ir.Value) -> ir.Value:
        """Return the pointer to the first of `rows` rows, so many pieces below the first one."""
        shape, builder = self._shape, self._builder
        row = builder.add(self._first, builder.mul(number, constant(shape.rows)))
        if shape.ring_rows:
            beyond = builder.sub(row, constant(shape.ring_rows))
            row = builder.select(builder.icmp_signed(">=", beyond, constant(0)), beyond, row)
        return moved(builder, self._column, builder.mul(row, constant(shape.pitch)))

    def _added(self, sums: Values, values: Values, weight: ir.Value) -> Values:
        return [fma(self._builder, v, weight, total) for v, total in zip(values, sums, strict=True)]


def _flat(rows: list[Values]) -> Values:
    return [value for row in rows for value in row]


def column_filter(shape: ColumnShape, first_weight: int, all_weights: int) -> Any:
    """Return the function `filter_down(tile, first, cell, weights, start)` -> sums, 4 for each of the thread's rows.

    `first` is the row of the tile under the mask's first row and the thread's first results, `cell` the thread's vector in
    each row. The compiled function reads its weights from constant memory (`cuda_constants.py`), from `first_weight` on of
    `all_weights`; its plain twin from the array that it is given, of shape (mask rows, 1).

    Parameters
    ----------
    shape : ColumnShape
    first_weight, all_weights : int
    """
    count = shape.rows * VECTOR

    @intrinsic
    def filter_down(typingctx, tile, first, cell, weights, start):
        signature = types.UniTuple(types.float32, count)(tile, first, cell, weights, start)

        def codegen(context, builder, signature, arguments):
            data = data_of(context, builder, signature.args[0], arguments[0], space=SHARED)
            first, cell = (narrow(builder, value) for value in arguments[1:3])
            mask = moved(builder, constant_weights(builder, all_weights), first_weight)
            sums = ColumnFilter(shape, builder, data, first, cell, mask, arguments[4]).emit()
            return context.make_tuple(builder, signature.return_type, sums)

        return signature, codegen

    def twin(tile: Any, first: int, cell: int, weights: Any, start: Any) -> tuple[Any, ...]:
        totals: list[Any] = [start] * count
        factors = [weights[m, 0] for m in range(shape.mask_rows)]
        for j in range(shape.rows + shape.mask_rows - 1):
            row = first + j
            if shape.ring_rows and row >= shape.ring_rows:
                row -= shape.ring_rows
            values = [tile[row * shape.pitch + cell + k] for k in range(VECTOR)]
            for i in range(shape.rows):
                if 0 <= j - i < shape.mask_rows:
                    for k in range(VECTOR):
                        totals[i * VECTOR + k] = values[k] * factors[j - i] + totals[i * VECTOR + k]
        return tuple(totals)

    return with_twin(filter_down, twin)

"""Neighbouring windows of one line in shared memory, each multiplied by the same weights and summed up; as LLVM IR.

Along a row or down a column alike: a thread makes `count` results from the cells under all their windows, and each weight serves
all of them at once. Each result is one chain of fused multiply-adds, from the first weight to the last. Weights past those that
the instruction cache has room for go through a loop, which hands the cells that windows still need from round to round.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.box.cuda_window_sums import ColumnWindows, RowWindows
from engine.variants.box.window_sums import Windows
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
# Loads one vector: its number from the first one of the part on, and the rounds of the loop before it (None: none).
Load = Callable[[int, ir.Value | None], Values]

# Multiply-adds that are written one after another; more of them go through a loop: 752 (47 x 47) run as fast as half of them in
# a loop, 1008 (63 x 63) a sixth slower (H200).
MOST_UNROLLED = 800
# Weights of a round of the loop along a row.
ROUND_WEIGHTS = 16


@dataclass(frozen=True, slots=True)
class Weighing:
    """How the weights are gone through.

    Parameters
    ----------
    windows : Windows
    round_weights : int
        Weights of a round of the loop; their cells are whole vectors.
    """

    windows: Windows
    round_weights: int

    @property
    def rounds(self) -> int:
        """Rounds of the loop; none if all weights are written one after another."""
        if self.windows.length * self.windows.count <= MOST_UNROLLED:
            return 0
        # At least one weight comes after them, so that no cell is loaded that no window needs.
        rounds = (self.windows.length - 1) // self.round_weights
        return rounds if rounds > 1 else 0


def emit_line(
    weighing: Weighing,
    builder: ir.IRBuilder,
    load: Load,
    width: int,
    shift: int,
    weights: ir.Value,
    start: ir.Value,
) -> Values:
    """Emit the results of a thread.

    Parameters
    ----------
    weighing : Weighing
    builder : IRBuilder
    load : callable of (int, i32 value or None) -> list of values
        Loads a vector: its number, and the rounds of the loop before it.
    width : int
        Cells of a vector.
    shift : int
        Cells of the first vector before the first window.
    weights : pointer
    start : float32 value
        What each sum begins with.
    """
    windows = weighing.windows
    sums: Values = [start] * windows.count
    cells: Values = []

    def weigh(sums: Values, cells: Values, numbers: range, first: int, passed: ir.Value | None) -> Values:
        """Add weights `numbers`, counted from `first` on; cells that are not there yet are loaded."""
        pointer = moved(builder, weights, 0 if passed is None else passed)
        for number in numbers:
            weight = builder.load(moved(builder, pointer, number))
            at = shift + (number - first) * windows.apart
            while len(cells) < at + windows.count:
                cells += load((len(cells) + first * windows.apart) // width, round_number)
            sums = [fma(builder, cells[at + k], weight, total) for k, total in enumerate(sums)]
        return sums

    round_number: ir.Value | None = None
    rounds, round_weights = weighing.rounds, weighing.round_weights
    if rounds:
        step = round_weights * windows.apart
        while len(cells) < shift + windows.count:
            cells += load(len(cells) // width, None)
        entry = builder.block
        body, after = builder.append_basic_block("weights"), builder.append_basic_block("last_weights")
        builder.branch(body)
        builder.position_at_end(body)
        round_number = builder.phi(I32)
        round_number.add_incoming(constant(0), entry)
        carried = [[builder.phi(F32) for _ in values] for values in (sums, cells)]
        for phis, values in zip(carried, (sums, cells), strict=True):
            for phi, value in zip(phis, values, strict=True):
                phi.add_incoming(value, entry)
        there = len(cells)
        sums, cells = list(carried[0]), list(carried[1])
        sums = weigh(sums, cells, range(round_weights), 0, builder.mul(round_number, constant(round_weights)))
        while len(cells) < there + step:
            cells += load(len(cells) // width, round_number)
        cells = cells[step:]
        following = builder.add(round_number, constant(1))
        round_number.add_incoming(following, builder.block)
        for phis, values in zip(carried, (sums, cells), strict=True):
            for phi, value in zip(phis, values, strict=True):
                phi.add_incoming(value, builder.block)
        branch = builder.cbranch(builder.icmp_unsigned("<", following, constant(rounds)), body, after)
        not_unrolled(branch, builder.module)
        builder.position_at_end(after)
        round_number = None
    passed = rounds * round_weights
    return weigh(sums, cells, range(passed, windows.length), passed, None)


def row_loader(builder: ir.IRBuilder, pointer: ir.Value, step: int) -> Load:
    """Return what loads vectors of a row from a pointer on; a round of the loop is `step` cells further on."""

    def load(number: int, round_number: ir.Value | None) -> Values:
        first = pointer
        if round_number is not None:
            first = moved(builder, pointer, builder.mul(round_number, constant(step)))
        return load_vector(builder, moved(builder, first, number * VECTOR), 4)

    return load


def column_loader(
    down: ColumnWindows, builder: ir.IRBuilder, rows: ir.Value, first: ir.Value, column: ir.Value
) -> Load:
    """Return what loads cells of a column from row `first` of a ring on; a round of the loop is `rows` rows further on."""
    columns = moved(builder, rows, column)
    here = moved(builder, columns, builder.mul(first, constant(down.pitch)))
    again = moved(builder, here, -down.ring_rows * down.pitch)
    known: dict[tuple[int, ir.Value | None], ir.Value] = {}

    def piece_at(piece: int, round_number: ir.Value | None) -> ir.Value:
        """Return the pointer to a piece of `rows` rows, between which the ring may end."""
        if round_number is None:
            offset: ir.Value = constant(piece * down.rows)
        else:
            offset = builder.mul(builder.add(round_number, constant(piece)), constant(down.rows))
        is_beyond = builder.icmp_signed(">=", builder.add(first, offset), constant(down.ring_rows))
        pointer = builder.select(is_beyond, again, here) if piece else here
        return moved(builder, pointer, builder.mul(offset, constant(down.pitch)))

    def load(number: int, round_number: ir.Value | None) -> Values:
        piece, row = divmod(number, down.rows)
        if (piece, round_number) not in known:
            known[piece, round_number] = piece_at(piece, round_number)
        return [builder.load(moved(builder, known[piece, round_number], row * down.pitch))]

    return load


def row_weigher(row: RowWindows, all_weights: int) -> Any:
    """Return the function `filter_along(tile, at, weights)` -> results, one a window; `at` is the thread's first element.

    The compiled function reads its weights from constant memory (`cuda_constants.py`), from the first of `all_weights` on; its
    plain twin from the array that it is given, of shape (1, mask columns).

    Parameters
    ----------
    row : RowWindows
    all_weights : int
    """
    weighing = Weighing(row.windows, ROUND_WEIGHTS)
    step = ROUND_WEIGHTS * row.windows.apart

    @intrinsic
    def filter_along(typingctx, tile, at, weights):
        signature = types.UniTuple(types.float32, row.windows.count)(tile, at, weights)

        def codegen(context, builder, signature, arguments):
            data = data_of(context, builder, signature.args[0], arguments[0], space=SHARED)
            pointer = moved(builder, data, narrow(builder, arguments[1]))
            mask, start = constant_weights(builder, all_weights), ir.Constant(F32, 0.0)
            load = row_loader(builder, pointer, step)
            results = emit_line(weighing, builder, load, VECTOR, row.shift, mask, start)
            return context.make_tuple(builder, signature.return_type, results)

        return signature, codegen

    def twin(tile: Any, at: int, weights: Any) -> tuple[Any, ...]:
        cells = [tile[at + k] for k in range(row.read)]
        totals: list[Any] = [types.float32(0.0)] * row.windows.count
        for n in range(row.windows.length):
            weight, first = weights[0, n], row.shift + n * row.windows.apart
            totals = [cells[first + k] * weight + total for k, total in enumerate(totals)]
        return tuple(totals)

    return with_twin(filter_along, twin)


def column_weigher(down: ColumnWindows, first_element: int, first_weight: int, all_weights: int) -> Any:
    """Return the function `filter_down(tile, first, column, weights, start)` -> results, one a row of the thread.

    `first` is the row of the ring under the mask's first row and the thread's first result, a multiple of `rows`; `column` the
    thread's own one. The compiled function reads its weights from constant memory; its plain twin from the array that it is
    given, of shape (mask rows, 1).

    Parameters
    ----------
    down : ColumnWindows
        Of one column and a ring.
    first_element : int
        Where the ring begins in the tile.
    first_weight, all_weights : int
    """
    weighing = Weighing(down.windows, down.rows)

    @intrinsic
    def filter_down(typingctx, tile, first, column, weights, start):
        signature = types.UniTuple(types.float32, down.rows)(tile, first, column, weights, start)

        def codegen(context, builder, signature, arguments):
            data = data_of(context, builder, signature.args[0], arguments[0], space=SHARED)
            first, column = (narrow(builder, value) for value in arguments[1:3])
            mask = moved(builder, constant_weights(builder, all_weights), first_weight)
            load = column_loader(down, builder, moved(builder, data, first_element), first, column)
            results = emit_line(weighing, builder, load, 1, 0, mask, arguments[4])
            return context.make_tuple(builder, signature.return_type, results)

        return signature, codegen

    def twin(tile: Any, first: int, column: int, weights: Any, start: Any) -> tuple[Any, ...]:
        places = [(first + j) % down.ring_rows for j in range(down.mask_rows + down.rows - 1)]
        cells = [tile[first_element + place * down.pitch + column] for place in places]
        totals: list[Any] = [start] * down.rows
        for m in range(down.mask_rows):
            weight = weights[m, 0]
            totals = [cells[m + i] * weight + total for i, total in enumerate(totals)]
        return tuple(totals)

    return with_twin(filter_down, twin)

"""Sums over windows along a row and down the columns of a tile in shared memory, and their results put back; as LLVM IR."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.box.window_sums import Windows, window_sums
from engine.variants.ir.cuda_ir import (
    SHARED,
    constant,
    data_of,
    fma,
    load_vector,
    moved,
    narrow,
    store_vector,
    with_twin,
)
from engine.variants.ir.register_tile import VECTOR

Values = list[ir.Value]


@dataclass(frozen=True, slots=True)
class RowWindows:
    """What a thread sums up of a row.

    Parameters
    ----------
    windows : Windows
    shift : int
        Samples from the vector that the thread begins with to the first cell, 0 to 3.
    """

    windows: Windows
    shift: int

    @property
    def read(self) -> int:
        """Samples that are read, in whole vectors."""
        return -(-(self.shift + self.windows.samples) // VECTOR) * VECTOR


@dataclass(frozen=True, slots=True)
class ColumnWindows:
    """What a thread sums up of some columns: `rows` x `columns` results.

    Parameters
    ----------
    mask_rows, rows : int
    columns : int
        Neighbouring ones, 4 or 1.
    pitch : int
        Elements from one row to the next.
    ring_rows : int
        Rows after which the first one follows, a multiple of `rows`; 0 if there is no end.
    """

    mask_rows: int
    rows: int
    columns: int
    pitch: int
    ring_rows: int

    @property
    def windows(self) -> Windows:
        """Its samples row after row: neighbours in a column are as far apart as there are columns."""
        return Windows(self.mask_rows, self.columns, self.rows * self.columns)


def emit_row_sums(row: RowWindows, builder: ir.IRBuilder, pointer: ir.Value, weight: ir.Value) -> Values:
    """Emit the sums of a thread along a row, each cell times the weight, from the vector at `pointer` on."""

    def load(number: int) -> Values:
        return load_vector(builder, moved(builder, pointer, number * VECTOR), 4)

    def product(value: ir.Value) -> ir.Value:
        return builder.fmul(value, weight)

    cell = _by_vectors(load, VECTOR)
    return window_sums(
        row.windows,
        lambda sample: cell(row.shift + sample),
        product,
        product,
        lambda total, value: fma(builder, value, weight, total),
        builder.fadd,
    )


def emit_column_sums(
    down: ColumnWindows,
    builder: ir.IRBuilder,
    tile: ir.Value,
    first: ir.Value,
    column: ir.Value,
    start: ir.Value,
) -> Values:
    """Emit the sums of a thread down its columns, each with `start`, from row `first` on; of a ring a multiple of `rows`."""
    columns = moved(builder, tile, column)
    pieces: dict[int, ir.Value] = {}

    def load(number: int) -> Values:
        piece, row = divmod(number, down.rows) if down.ring_rows else (0, number)
        if piece not in pieces:
            place = builder.add(first, constant(piece * down.rows))
            if piece:
                beyond = builder.sub(place, constant(down.ring_rows))
                place = builder.select(builder.icmp_signed(">=", beyond, constant(0)), beyond, place)
            pieces[piece] = moved(builder, columns, builder.mul(place, constant(down.pitch)))
        pointer = moved(builder, pieces[piece], row * down.pitch)
        return load_vector(builder, pointer, 4) if down.columns == VECTOR else [builder.load(pointer)]

    return window_sums(
        down.windows,
        _by_vectors(load, down.columns),
        lambda value: builder.fadd(start, value),
        lambda value: value,
        builder.fadd,
        builder.fadd,
    )


def _by_vectors(load: Callable[[int], Values], width: int) -> Callable[[int], ir.Value]:
    """Return a function of a sample's number that loads each vector when it is first asked for."""
    loaded: dict[int, Values] = {}

    def cell(sample: int) -> ir.Value:
        number, k = divmod(sample, width)
        if number not in loaded:
            loaded[number] = load(number)
        return loaded[number][k]

    return cell


def row_summer(row: RowWindows) -> Any:
    """Return the function `sum_along(tile, at, weight)` -> sums, one a window; `at` is the thread's first element, aligned.

    Parameters
    ----------
    row : RowWindows
    """

    @intrinsic
    def sum_along(typingctx, tile, at, weight):
        signature = types.UniTuple(types.float32, row.windows.count)(tile, at, weight)

        def codegen(context, builder, signature, arguments):
            data = data_of(context, builder, signature.args[0], arguments[0], space=SHARED)
            pointer = moved(builder, data, narrow(builder, arguments[1]))
            sums = emit_row_sums(row, builder, pointer, arguments[2])
            return context.make_tuple(builder, signature.return_type, sums)

        return signature, codegen

    def twin(tile: Any, at: int, weight: Any) -> tuple[Any, ...]:
        samples = [tile[at + k] for k in range(row.read)]
        return tuple(
            window_sums(
                row.windows,
                lambda sample: samples[row.shift + sample],
                lambda value: value * weight,
                lambda value: value * weight,
                lambda total, value: total + value * weight,
                lambda left, right: left + right,
            )
        )

    return with_twin(sum_along, twin)


def column_summer(down: ColumnWindows, first_element: int = 0) -> Any:
    """Return the function `sum_down(tile, first, column, start)` -> sums, row by row, each with `start`.

    `first` is the row under the mask's first row and the thread's first results, of a ring a multiple of `rows`; `column` the
    first of the thread's columns.

    Parameters
    ----------
    down : ColumnWindows
    first_element : int
        Where the rows begin in the tile, a multiple of 4.
    """

    @intrinsic
    def sum_down(typingctx, tile, first, column, start):
        signature = types.UniTuple(types.float32, down.windows.count)(tile, first, column, start)

        def codegen(context, builder, signature, arguments):
            data = data_of(context, builder, signature.args[0], arguments[0], space=SHARED)
            first, column = (narrow(builder, value) for value in arguments[1:3])
            rows = moved(builder, data, first_element)
            sums = emit_column_sums(down, builder, rows, first, column, arguments[3])
            return context.make_tuple(builder, signature.return_type, sums)

        return signature, codegen

    def twin(tile: Any, first: int, column: int, start: Any) -> tuple[Any, ...]:
        samples = []
        for row in range(first, first + down.mask_rows + down.rows - 1):
            place = row % down.ring_rows if down.ring_rows else row
            at = first_element + place * down.pitch + column
            samples += [tile[at + k] for k in range(down.columns)]
        return tuple(
            window_sums(
                down.windows,
                lambda sample: samples[sample],
                lambda value: start + value,
                lambda value: value,
                lambda total, value: total + value,
                lambda left, right: left + right,
            )
        )

    return with_twin(sum_down, twin)


def sums_keeper(count: int) -> Any:
    """Return the function `keep(tile, at, sums)` that stores so many neighbours, whole vectors, from element `at` on.

    Parameters
    ----------
    count : int
    """

    @intrinsic
    def keep(typingctx, tile, at, sums):
        signature = types.void(tile, at, sums)

        def codegen(context, builder, signature, arguments):
            data = data_of(context, builder, signature.args[0], arguments[0], space=SHARED)
            pointer = moved(builder, data, narrow(builder, arguments[1]))
            values = [builder.extract_value(arguments[2], place) for place in range(count)]
            for place in range(0, count, VECTOR):
                store_vector(builder, moved(builder, pointer, place), values[place : place + VECTOR])
            return context.get_dummy_value()

        return signature, codegen

    def twin(tile: Any, at: int, sums: tuple[Any, ...]) -> None:
        for place in range(count):
            tile[at + place] = sums[place]

    return with_twin(keep, twin)

"""Sums over windows along the rows and down the columns of a tile in shared memory; storing them there."""

from collections.abc import Callable
from operator import add

from numba import types

from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.device_function import DeviceFunction, device_function
from engine.variants.ir.register_tile import VECTOR
from engine.variants.ir.value import ArrayArgument, Value
from engine.variants.tiles.window_sums import ColumnWindows, RowWindows, window_sums

Values = list[Value]


def _by_vectors(load: Callable[[int], Values], width: int) -> Callable[[int], Value]:
    """Return a function of a sample's number that loads each vector when it is first needed."""
    loaded: dict[int, Values] = {}

    def cell(sample: int) -> Value:
        number, k = divmod(sample, width)
        if number not in loaded:
            loaded[number] = load(number)
        return loaded[number][k]

    return cell


def row_summer(row: RowWindows) -> DeviceFunction:
    """Return the function `sum_along(tile, at, weight)` -> sums, one per window, each cell times the weight.

    `at` is the thread's first element, aligned.
    """

    def sum_along(code: CudaCode, tile: ArrayArgument, at: Value, weight: Value) -> Values:
        pointer = code.shared(tile) + code.narrow(at)
        cell = _by_vectors(lambda number: (pointer + number * VECTOR).load(VECTOR), VECTOR)

        def product(value: Value) -> Value:
            return value * weight

        def added(total: Value, value: Value) -> Value:
            return code.fma(value, weight, total)

        return window_sums(row.windows, lambda sample: cell(row.shift + sample), product, product, added)

    return device_function(types.UniTuple(types.float32, row.windows.count), sum_along)


def column_summer(down: ColumnWindows, first_element: int = 0) -> DeviceFunction:
    """Return the function `sum_down(tile, first, column, start)` -> sums, row by row, each with `start`.

    `first` is the row under the mask's first row and the thread's first results, in a ring a multiple of
    `rows`; `column` is the first of the thread's columns; the rows begin at `first_element` of the tile, a
    multiple of 4.
    """

    def sum_down(code: CudaCode, tile: ArrayArgument, first: Value, column: Value, start: Value) -> Values:
        data, first, column = code.shared(tile), code.narrow(first), code.narrow(column)
        columns = data + first_element + column
        pieces: dict[int, Value] = {}

        def load(number: int) -> Values:
            piece, row = divmod(number, down.rows) if down.ring_rows else (0, number)
            if piece not in pieces:
                offset = first + piece * down.rows
                if piece:
                    beyond = offset - down.ring_rows
                    offset = code.select(beyond >= 0, beyond, offset)
                pieces[piece] = columns + offset * down.pitch
            pointer = pieces[piece] + row * down.pitch
            return pointer.load(VECTOR) if down.columns == VECTOR else [pointer.load()]

        cell = _by_vectors(load, down.columns)
        return window_sums(down.windows, cell, lambda value: start + value, lambda value: value, add)

    return device_function(types.UniTuple(types.float32, down.windows.count), sum_down)


def sums_store(count: int) -> DeviceFunction:
    """Return the function `keep(tile, at, sums)`, which stores `count` sums, whole vectors, from `at` on."""

    def keep(code: CudaCode, tile: ArrayArgument, at: Value, sums: Values) -> None:
        pointer = code.shared(tile) + code.narrow(at)
        for offset in range(0, count, VECTOR):
            (pointer + offset).store(sums[offset : offset + VECTOR])

    return device_function(types.void, keep)

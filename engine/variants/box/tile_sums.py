"""Sums over windows along a row and down the columns of a tile in shared memory, and their results put back."""

from collections.abc import Callable
from dataclasses import dataclass
from operator import add
from typing import Any

from numba import types

from engine.variants.box.window_sums import Windows, window_sums
from engine.variants.ir.device_function import device_function
from engine.variants.ir.register_tile import VECTOR

Values = list[Any]


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


def row_sums(code: Any, row: RowWindows, pointer: Any, weight: Any) -> Values:
    """Return the sums of a thread along a row, each cell times the weight, from the vector at `pointer` on."""
    cell = _by_vectors(lambda number: (pointer + number * VECTOR).load(VECTOR), VECTOR)

    def product(value: Any) -> Any:
        return value * weight

    return window_sums(
        row.windows,
        lambda sample: cell(row.shift + sample),
        product,
        product,
        lambda total, value: code.fma(value, weight, total),
        add,
    )


def column_sums(code: Any, down: ColumnWindows, tile: Any, first: Any, column: Any, start: Any) -> Values:
    """Return the sums of a thread down its columns, each with `start`, from row `first` on; of a ring a multiple of `rows`."""
    columns = tile + column
    pieces: dict[int, Any] = {}

    def load(number: int) -> Values:
        piece, row = divmod(number, down.rows) if down.ring_rows else (0, number)
        if piece not in pieces:
            place = first + piece * down.rows
            if piece:
                beyond = place - down.ring_rows
                place = code.select(beyond >= 0, beyond, place)
            pieces[piece] = columns + place * down.pitch
        pointer = pieces[piece] + row * down.pitch
        return pointer.load(VECTOR) if down.columns == VECTOR else [pointer.load()]

    cell = _by_vectors(load, down.columns)
    return window_sums(down.windows, cell, lambda value: start + value, lambda value: value, add, add)


def _by_vectors(load: Callable[[int], Values], width: int) -> Callable[[int], Any]:
    """Return a function of a sample's number that loads each vector when it is first asked for."""
    loaded: dict[int, Values] = {}

    def cell(sample: int) -> Any:
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

    def sum_along(code: Any, tile: Any, at: Any, weight: Any) -> Values:
        return row_sums(code, row, code.shared(tile) + code.narrow(at), weight)

    return device_function(types.UniTuple(types.float32, row.windows.count), sum_along)


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

    def sum_down(code: Any, tile: Any, first: Any, column: Any, start: Any) -> Values:
        data, first, column = code.shared(tile), code.narrow(first), code.narrow(column)
        return column_sums(code, down, data + first_element, first, column, start)

    return device_function(types.UniTuple(types.float32, down.windows.count), sum_down)


def sums_store(count: int) -> Any:
    """Return the function `keep(tile, at, sums)` that stores so many neighbours, whole vectors, from element `at` on.

    Parameters
    ----------
    count : int
    """

    def keep(code: Any, tile: Any, at: Any, sums: Values) -> None:
        pointer = code.shared(tile) + code.narrow(at)
        for place in range(0, count, VECTOR):
            (pointer + place).store(sums[place : place + VECTOR])

    return device_function(types.void, keep)

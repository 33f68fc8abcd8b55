"""The cells of a tile in shared memory: what a thread reads along a row and down its columns, and stores."""

from collections.abc import Callable

from numba import types

from engine.variants.fused.shape import FusedShape
from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.device_function import DeviceFunction, device_function
from engine.variants.ir.register_tile import VECTOR
from engine.variants.ir.value import ArrayArgument, Value

Values = list[Value]
Load = Callable[[int], Values]
"""Loads a vector of a line by its number."""

Loader = Callable[[Value | None], Load]
"""Returns that for a round of a loop, whose vectors are counted from its first one; None: no loop."""


def row_loader(code: CudaCode, tile: ArrayArgument, at: Value, round_samples: int = 0) -> Loader:
    """Return what loads vectors of 4 of a row from element `at` of the tile on."""
    pointer = code.shared(tile) + code.narrow(at)

    def loader(number_of_round: Value | None) -> Load:
        first = pointer if number_of_round is None else pointer + number_of_round * round_samples
        return lambda number: (first + number * VECTOR).load(VECTOR)

    return loader


def column_loader(
    code: CudaCode,
    shape: FusedShape,
    tile: ArrayArgument,
    first: Value,
    column: Value,
    product: int = 0,
    round_rows: int = 0,
) -> Loader:
    """Return what loads a thread's columns, row by row, of the filtered rows that a product made.

    `first` is the row under the mask's first row and the thread's first results, of a ring a multiple of the
    rows of a thread; `column` is the first of its columns. A round takes whole pieces of as many rows.
    """
    rows, pitch = shape.size.rows, shape.kept_pitch
    first, at = code.narrow(first), shape.kept_at + product * shape.size.out_samples
    here = code.shared(tile) + at + code.narrow(column) + first * pitch
    again = here + -shape.kept_rows * pitch if shape.size.is_ring else here

    def loader(number_of_round: Value | None) -> Load:
        pieces: dict[int, Value] = {}

        def piece_at(piece: int) -> Value:
            """Return the pointer to a piece of rows, between which a ring may end."""
            below = piece * rows if number_of_round is None else number_of_round * round_rows + piece * rows
            pointer = here
            if piece and shape.size.is_ring:
                pointer = code.select(first + below >= shape.kept_rows, again, here)
            return pointer + below * pitch

        def load(number: int) -> Values:
            piece, row = divmod(number, rows)
            if piece not in pieces:
                pieces[piece] = piece_at(piece)
            pointer = pieces[piece] + row * pitch
            return pointer.load(VECTOR) if shape.size.columns == VECTOR else [pointer.load()]

        return load

    return loader


def products_store(shape: FusedShape) -> DeviceFunction:
    """Return the function `keep(tile, at, values)`, which stores filtered results of a row from `at` on.

    Those of each further product lie beside them.
    """
    results = shape.size.results

    def keep(code: CudaCode, tile: ArrayArgument, at: Value, values: Values) -> None:
        pointer = code.shared(tile) + code.narrow(at)
        for first in range(0, len(values), VECTOR):
            product, offset = divmod(first, results)
            (pointer + (product * shape.size.out_samples + offset)).store(values[first : first + VECTOR])

    return device_function(types.void, keep)

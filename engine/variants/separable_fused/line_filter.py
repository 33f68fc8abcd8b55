"""Neighbouring windows of one line in shared memory, each multiplied by the same weights and summed up.

Along a row or down a column alike: a thread makes `count` results from the cells under all their windows, and
each weight serves all of them at once. Each result is one chain of fused multiply-adds, from the first weight
to the last. Weights past those that the instruction cache has room for go through a loop, which hands the
cells that windows still need from round to round.
"""

from collections.abc import Callable

from numba import types

from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.device_function import DeviceFunction, device_function
from engine.variants.ir.register_tile import VECTOR
from engine.variants.ir.value import Value
from engine.variants.tiles.window_sums import ColumnWindows, RowWindows, Windows

Values = list[Value]
# Returns, by the rounds of the loop before it (None: none), what loads a vector: by its number in that round.
Load = Callable[[int], Values]
Loader = Callable[[Value | None], Load]

# Multiply-adds that are written one after another; more of them go through a loop: 752 (47 x 47) run as fast
# as half of them in a loop, 1008 (63 x 63) a sixth slower (H200).
MOST_UNROLLED = 800
# Weights of a round of the loop along a row.
ROUND_WEIGHTS = 16


def filtered_line(
    code: CudaCode,
    windows: Windows,
    loader: Loader,
    round_weights: int,
    width: int,
    shift: int,
    weights: Value,
    start: Value,
) -> Values:
    """Return the results of a thread, each of which begins with `start`.

    `loader` is for vectors of `width` cells. A round takes `round_weights` weights, whose cells are whole
    vectors. The first window begins `shift` cells after the first vector.
    """
    # At least one weight comes after the loop, so that no cell is loaded that no window needs.
    rounds = (windows.length - 1) // round_weights
    if windows.length * windows.count <= MOST_UNROLLED or rounds == 1:
        rounds = 0

    def weigh(sums: Values, cells: Values, numbers: range, pointer: Value, load: Load) -> Values:
        """Add weights `numbers`, whose cells begin at the first; those that are not there yet are loaded."""
        for number in numbers:
            weight = (pointer + number).load()
            at = shift + (number - numbers.start) * windows.apart
            while len(cells) < at + windows.count:
                cells += load(len(cells) // width)
            sums = [code.fma(cells[at + k], weight, total) for k, total in enumerate(sums)]
        return sums

    sums: Values = [start] * windows.count
    cells: Values = []
    load, step = loader(None), round_weights * windows.apart
    if rounds:
        while len(cells) < shift + windows.count:
            cells += load(len(cells) // width)
        there = len(cells)

        def round_of(number: Value, carried: list[Values]) -> list[Values]:
            (sums, cells), load_own = [[*values] for values in carried], loader(number)
            sums = weigh(sums, cells, range(round_weights), weights + number * round_weights, load_own)
            while len(cells) < there + step:
                cells += load_own(len(cells) // width)
            return [sums, cells[step:]]

        sums, cells = code.repeat(rounds, [sums, cells], round_of)
    left = range(rounds * round_weights, windows.length)
    return weigh(sums, cells, left, weights, lambda number: load(number + rounds * step // width))


def column_loader(code: CudaCode, down: ColumnWindows, rows: Value, first: Value, column: Value) -> Loader:
    """Return what loads cells of a column from row `first` of a ring on; each round takes `rows` rows."""
    here = rows + column + first * down.pitch
    again = here + -down.ring_rows * down.pitch

    def in_round(number_of_round: Value | None) -> Load:
        pieces: dict[int, Value] = {}

        def piece_at(piece: int) -> Value:
            """Return the pointer to a piece of `rows` rows, between which the ring may end."""
            offset = piece * down.rows if number_of_round is None else (number_of_round + piece) * down.rows
            is_beyond = first + offset >= down.ring_rows
            pointer = code.select(is_beyond, again, here) if piece else here
            return pointer + offset * down.pitch

        def load(number: int) -> Values:
            piece, row = divmod(number, down.rows)
            if piece not in pieces:
                pieces[piece] = piece_at(piece)
            return [(pieces[piece] + row * down.pitch).load()]

        return load

    return in_round


def row_weigher(row: RowWindows, all_weights: int) -> DeviceFunction:
    """Return the function `filter_along(tile, at, weights)` -> results, one per window.

    `at` is the thread's first element. `weights` has the shape (1, mask columns); in constant memory they are
    the first of `all_weights`.
    """

    def filter_along(code, tile, at, weights):
        pointer = code.shared(tile) + code.narrow(at)
        step = ROUND_WEIGHTS * row.windows.apart

        def loader(number_of_round: Value | None) -> Load:
            def load(number: int) -> Values:
                first = pointer if number_of_round is None else pointer + number_of_round * step
                return (first + number * VECTOR).load(VECTOR)

            return load

        mask = code.weights(weights, all_weights, row.windows.length)
        nothing = code.f32(0.0)
        return filtered_line(code, row.windows, loader, ROUND_WEIGHTS, VECTOR, row.shift, mask, nothing)

    return device_function(types.UniTuple(types.float32, row.windows.count), filter_along)


def column_weigher(
    down: ColumnWindows, first_element: int, first_weight: int, all_weights: int
) -> DeviceFunction:
    """Return the function `filter_down(tile, first, column, weights, start)` -> results, one per row.

    `first` is the row of the ring under the mask's first row and the thread's first result, a multiple of
    `rows`; `column` is the thread's own. The ring begins at `first_element` of the tile. `weights` has the
    shape (mask rows, 1); in constant memory they begin at `first_weight` of `all_weights`.
    """

    def filter_down(code, tile, first, column, weights, start):
        data, first, column = code.shared(tile), code.narrow(first), code.narrow(column)
        mask = code.weights(weights, all_weights, 1, first_weight)
        loader = column_loader(code, down, data + first_element, first, column)
        return filtered_line(code, down.windows, loader, down.rows, 1, 0, mask, start)

    return device_function(types.UniTuple(types.float32, down.rows), filter_down)

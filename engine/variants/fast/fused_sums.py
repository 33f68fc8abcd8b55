"""The sums along the rows and down the columns of a tile in shared memory, and what a thread loads for them.

Of masks that are products: along a row or down a column alike, a thread makes its results from the cells
under all their windows, and each weight serves all of them at once. Each result is one chain of fused
multiply-adds, from the first weight to the last, those of several products in turn. Weights past those that
the instruction cache has room for go through a loop, which hands the cells that windows still need from round
to round.

Of masks whose weights are all equal: the windows of up to `length` neighbours have cells in common. These are
added up once; the cells before them are added from the back, those after them from the front:

    window 0   a b c | d e
    window 1     b c | d e | f                 (a + (b + (c + de))),  (b + (c + de)) + f,  (c + de) + (f + g)
    window 2       c | d e | f g

So g windows of k cells take k + 2 g - 3 additions, about 3 per window for k = g and 6 for k = 4 g, where each
by itself takes k - 1. Each window's sum is made of its own cells only, each of them once, without
subtraction: NaN and infinity stay in their windows, and there are at most as many roundings as in a direct
sum. Source: `refuse_unequal` in `engine/variants/mask_classes.py`.
"""

from collections.abc import Callable
from operator import add
from typing import Any, TypeVar

from engine.compiled.late_names import types
from engine.variants.emit.cuda_code import CudaCode, DeviceFunction, device_function
from engine.variants.emit.value import ArrayArgument, Value
from engine.variants.fast.tile_shape import FusedShape, Windows
from engine.variants.passes import VECTOR

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
    rows of a thread; `column` is the first of its columns. A round takes whole bands of as many rows.
    """
    rows, pitch = shape.size.rows, shape.kept_pitch
    first, at = code.narrow(first), shape.kept_at + product * shape.size.out_samples
    here = code.shared(tile) + at + code.narrow(column) + first * pitch
    again = here + -shape.kept_rows * pitch if shape.size.is_ring else here

    def loader(number_of_round: Value | None) -> Load:
        bands: dict[int, Value] = {}

        def band_at(band: int) -> Value:
            """Return the pointer to a band of rows, between which a ring may end."""
            below = band * rows if number_of_round is None else number_of_round * round_rows + band * rows
            pointer = here
            if band and shape.size.is_ring:
                pointer = code.select(first + below >= shape.kept_rows, again, here)
            return pointer + below * pitch

        def load(number: int) -> Values:
            band, row = divmod(number, rows)
            if band not in bands:
                bands[band] = band_at(band)
            pointer = bands[band] + row * pitch
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


Sum = TypeVar("Sum")

# Cells in common from which on they are added in two chains, each half as long.
LEAST_OF_TWO_CHAINS = 8


def window_sums(
    windows: Windows,
    cell: Callable[[int], Sum],
    begin: Callable[[Sum], Sum],
    first: Callable[[Sum], Sum],
    added: Callable[[Sum, Sum], Sum],
) -> list[Sum]:
    """Return the sum over each window.

    `cell` returns a sample under the windows; `begin` and `first` the sum of one cell, where a window's sum
    begins and anywhere else; `added` a sum and one more cell.
    """
    length, apart = windows.length, windows.apart

    def of_group(group: range) -> list[Sum]:
        lines = range(min(apart, len(group)))
        # The last window's first cell of each line, counted in samples from the group's first one.
        lasts = [range(line, len(group), apart)[-1] for line in lines]
        ends = [line + length * apart for line in lines]
        chains: list[list[Sum]] = [[] for _ in lines]
        for index in range(min(lasts), ends[-1]):
            line = index % apart
            if line not in lines or not lasts[line] <= index < ends[line]:
                continue
            own, value = chains[line], cell(group.start + index)
            turn = (index - lasts[line]) // apart % 2
            is_long = apart == 1 and ends[line] - lasts[line] >= LEAST_OF_TWO_CHAINS
            if not own:
                own.append(begin(value))
            elif is_long and len(own) == 1:
                own.append(first(value))
            else:
                own[turn * is_long] = added(own[turn * is_long], value)
        sums = {last: own[0] if len(own) == 1 else add(*own) for last, own in zip(lasts, chains, strict=True)}
        for index in reversed(range(len(group))):
            if index not in sums:
                sums[index] = added(sums[index + apart], cell(group.start + index))
        after: dict[int, Sum] = {}
        for index in range(apart, len(group)):
            line, value = index % apart, cell(group.start + index + (length - 1) * apart)
            after[line] = added(after[line], value) if line in after else first(value)
            sums[index] = add(sums[index], after[line])
        return [sums[index] for index in range(len(group))]

    return [total for group in windows.groups for total in of_group(group)]


def _cells_of(load: Load, width: int) -> Callable[[int], Value]:
    """Return a function of a sample's number that loads each vector when it is first needed."""
    loaded: dict[int, Values] = {}

    def cell(sample: int) -> Value:
        number, k = divmod(sample, width)
        if number not in loaded:
            loaded[number] = load(number)
        return loaded[number][k]

    return cell


def row_summer(shape: FusedShape) -> DeviceFunction:
    """Return the function `sum_along(tile, at, weight)` -> sums, one per window, each cell times the weight.

    `at` is the thread's first element, aligned.
    """

    def sum_along(code: CudaCode, tile: ArrayArgument, at: Value, weight: Value) -> Values:
        cell = _cells_of(row_loader(code, tile, at)(None), VECTOR)

        def product(value: Value) -> Value:
            return value * weight

        def added(total: Value, value: Value) -> Value:
            return code.fma(value, weight, total)

        return window_sums(shape.along, lambda sample: cell(shape.shift + sample), product, product, added)

    return device_function(types.UniTuple(types.float32, shape.along.count), sum_along)


def column_summer(shape: FusedShape) -> DeviceFunction:
    """Return the function `sum_down(tile, first, column, weight, start)` -> sums, row by row.

    `first` and `column` are those of `column_loader`. Each sum begins with `start`; the weight was applied
    along the row.
    """

    def sum_down(
        code: CudaCode, tile: ArrayArgument, first: Value, column: Value, weight: Value, start: Value
    ) -> Values:
        cell = _cells_of(column_loader(code, shape, tile, first, column)(None), shape.size.columns)
        return window_sums(shape.down, cell, lambda value: start + value, lambda value: value, add)

    return device_function(types.UniTuple(types.float32, shape.down.count), sum_down)


MOST_UNROLLED = 800
"""Multiply-adds that are written one after another; more of them go through a loop.

752 (47 x 47) run as fast as half of them in a loop, 1008 (63 x 63) a sixth slower (H200).
"""

# Weights of a round of the loop along a row, and the fewest of one down a column.
ROUND_WEIGHTS, LEAST_ROUND_ROWS = 16, 8


def rounds_of(windows: Windows, products: int, round_weights: int) -> int:
    """Return the rounds of the loop; 0: all is written one after another."""
    # At least one weight comes after the loop, so that no cell is loaded that no window needs.
    rounds = (windows.length - 1) // round_weights
    is_short = windows.length * windows.count * products <= MOST_UNROLLED
    return 0 if is_short or rounds == 1 else rounds


def filtered_lines(
    code: CudaCode,
    windows: Windows,
    loaders: list[Loader],
    weights: Values,
    apart: int,
    sums: list[Values],
    round_weights: int,
    width: int,
    shift: int = 0,
) -> list[Values]:
    """Return sums with what filtering adds to them: of one line with several weights, or of several lines.

    `loaders` load vectors of `width` cells of the lines; `weights` point to the first weight of each product,
    and the next one lies `apart`. There is one line, or one list of sums. The cells of a round's weights are
    whole vectors. The first window begins `shift` cells after the first vector.
    """
    products = [(number % len(loaders), number % len(sums)) for number in range(len(weights))]
    rounds = rounds_of(windows, len(weights), round_weights)

    def fill(lines: list[Values], count: int, loads: list[Load]) -> None:
        for cells, load in zip(lines, loads, strict=True):
            while len(cells) < count:
                cells += load(len(cells) // width)

    def weigh(
        sums: list[Values], lines: list[Values], numbers: range, pointers: Values, loads: list[Load]
    ) -> list[Values]:
        """Add weights `numbers`, whose cells begin at the first; those that are not there yet are loaded."""
        for number in numbers:
            at = shift + (number - numbers.start) * windows.apart
            fill(lines, at + windows.count, loads)
            for (line, total), pointer in zip(products, pointers, strict=True):
                weight, cells = (pointer + number * apart).load(), lines[line]
                sums[total] = [code.fma(cells[at + k], weight, one) for k, one in enumerate(sums[total])]
        return sums

    sums, lines = [[*one] for one in sums], [Values() for _ in loaders]
    loads, step = [loader(None) for loader in loaders], round_weights * windows.apart
    if rounds:
        fill(lines, shift + windows.count, loads)
        there = len(lines[0])

        def round_of(number: Value, carried: Any) -> Any:
            sums, lines = ([[*one] for one in part] for part in carried)
            own = [loader(number) for loader in loaders]
            pointers = [pointer + number * (round_weights * apart) for pointer in weights]
            sums = weigh(sums, lines, range(round_weights), pointers, own)
            fill(lines, there + step, own)
            return [sums, [cells[step:] for cells in lines]]

        sums, lines = code.repeat(rounds, [sums, lines], round_of)
    passed = rounds * step // width

    def after(load: Load) -> Load:
        return lambda number: load(passed + number)

    left = range(rounds * round_weights, windows.length)
    return weigh(sums, [[*cells] for cells in lines], left, weights, [after(load) for load in loads])


def row_weigher(shape: FusedShape) -> DeviceFunction:
    """Return the function `filter_along(tile, at, weights)` -> results, one per window, of each product.

    `at` is the thread's first element. `weights` has the shape (rank, mask columns); they are the first in
    constant memory.
    """
    windows, pitch = shape.along, shape.row_weights

    def filter_along(code: CudaCode, tile: ArrayArgument, at: Value, weights: ArrayArgument) -> Values:
        loaders = [row_loader(code, tile, at, ROUND_WEIGHTS * windows.apart)]
        rows = code.weights(shape.weights)
        pointers = [rows + number * pitch for number in range(shape.rank)]
        sums = [[code.f32(0.0)] * windows.count for _ in pointers]
        found = filtered_lines(code, windows, loaders, pointers, 1, sums, ROUND_WEIGHTS, VECTOR, shape.shift)
        return [value for one in found for value in one]

    return device_function(types.UniTuple(types.float32, windows.count * shape.rank), filter_along)


def column_weigher(shape: FusedShape) -> DeviceFunction:
    """Return the function `filter_down(tile, first, column, weights, start)` -> results, row by row.

    `first` and `column` are those of `column_loader`. Each sum begins with `start`. `weights` has the shape
    (mask rows, rank).
    """
    windows, rank = shape.down, shape.rank
    round_rows = shape.size.rows * max(1, LEAST_ROUND_ROWS // shape.size.rows)

    def filter_down(
        code: CudaCode, tile: ArrayArgument, first: Value, column: Value, weights: ArrayArgument, start: Value
    ) -> Values:
        loaders = [column_loader(code, shape, tile, first, column, k, round_rows) for k in range(rank)]
        columns = code.weights(shape.weights) + rank * shape.row_weights
        pointers, sums = [columns + product for product in range(rank)], [[start] * windows.count]
        return filtered_lines(code, windows, loaders, pointers, rank, sums, round_rows, shape.size.columns)[0]

    return device_function(types.UniTuple(types.float32, windows.count), filter_down)

"""Neighbouring windows of lines in shared memory, each multiplied by the same weights and summed up.

Along a row or down a column alike: a thread makes its results from the cells under all their windows, and
each weight serves all of them at once. Each result is one chain of fused multiply-adds, from the first weight
to the last, those of several products in turn. Weights past those that the instruction cache has room for go
through a loop, which hands the cells that windows still need from round to round.
"""

from typing import Any

from numba import types

from engine.variants.fused.cells import Load, Loader, Values, column_loader, row_loader
from engine.variants.fused.shape import FusedShape
from engine.variants.fused.window_sums import Windows
from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.device_function import DeviceFunction, device_function
from engine.variants.ir.register_tile import VECTOR
from engine.variants.ir.value import ArrayArgument, Value

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
        rows = code.weights(weights, shape.weights, pitch)
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
        columns = code.weights(weights, shape.weights, rank, rank * shape.row_weights)
        pointers, sums = [columns + product for product in range(rank)], [[start] * windows.count]
        return filtered_lines(code, windows, loaders, pointers, rank, sums, round_rows, shape.size.columns)[0]

    return device_function(types.UniTuple(types.float32, windows.count), filter_down)

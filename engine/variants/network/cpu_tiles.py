"""What `network-cpu` keeps in registers: tiles of convolutions with their pool, and of connected layers.

Maps lie pixel by pixel, all maps of a pixel together. So the cells under one row of a filter, of all maps,
are neighbours in memory, and a convolution's inner loop walks along them: each step loads one vector of
weights for each vector of maps, and one cell for each pixel, which is multiplied with all of them.
"""

from collections.abc import Callable

from numba import types

from engine.variants.emit.cpu_vectors import VECTOR, Vectors, cpu_function
from engine.variants.emit.value import Value
from engine.variants.network.cpu_fast import AT_ONCE, GROUP, PART, VECTORS

# Columns of a tile of two rows: with AVX-512 16 sums, with AVX2 and its 16 registers 8.
COLUMNS = 4 if VECTOR == 16 else 2
_FILTER_ROWS = 5
# Cells of a filter's row at once: it has 5 of each map.
_CELLS = 5

Values = dict[int | str, Value]


@cpu_function(types.void)
def pooled_tile(code, source, pixel_step, row_step, inner, filters, target, target_step, floats):
    """Compute 2 rows of COLUMNS outputs of GROUP maps, and store their averages.

    The arguments: the address of the first cell; floats from a pixel to the next and from a row to the next;
    floats in a row of a filter (5 x maps); the address of the packed weights; that of the first average, and
    floats from an average to the next. `floats` is any flat float32 array.
    """
    first, weights = code.at_address(source, floats), code.at_address(filters, floats)
    corners = [first + row_step * row + pixel_step * column for row in (0, 1) for column in range(COLUMNS)]
    count = len(corners)

    def step(values: Values) -> Values:
        sums: Values = {key: values[key] for key in range(count * VECTORS)}
        at, own = values["at"], values["weights"]
        for cell in range(_CELLS):
            packed = [code.load(own, cell * GROUP + v * VECTOR) for v in range(VECTORS)]
            for index in range(count):
                value = code.splat((corners[index] + at + cell).load())
                for v in range(VECTORS):
                    key = index * VECTORS + v
                    sums[key] = code.fma(value, packed[v], sums[key])
        return sums | {"at": at + _CELLS, "weights": own + _CELLS * GROUP, "end": values["end"]}

    def filter_row(values: Values) -> Values:
        # A partial sum for each row of the filter: long sums lose far less to rounding so.
        inside: Values = dict.fromkeys(range(count * VECTORS), code.zero)
        inside |= {"at": values["row"], "weights": values["weights"], "end": values["row"] + inner}
        after = code.while_loop(inside, lambda now: now["at"] < now["end"], step)
        following: Values = {key: values[key] + after[key] for key in range(count * VECTORS)}
        return following | {
            "row": values["row"] + row_step,
            "weights": after["weights"],
            "left": values["left"] - 1,
        }

    values: Values = dict.fromkeys(range(count * VECTORS), code.zero)
    values |= {"row": code.index(0), "weights": weights, "left": code.index(_FILTER_ROWS)}
    values = code.while_loop(values, lambda now: now["left"] > 0, filter_row)
    store = code.at_address(target, floats)
    quarter = code.all(0.25)
    for pair in range(COLUMNS // 2):
        for v in range(VECTORS):
            indices = (2 * pair, 2 * pair + 1, COLUMNS + 2 * pair, COLUMNS + 2 * pair + 1)
            above = [_rectified(code, values[index * VECTORS + v]) for index in indices]
            total = (above[0] + above[1]) + (above[2] + above[3])
            code.store(total * quarter, store + target_step * pair, v * VECTOR)


def _rectified(code: Vectors, values: Value) -> Value:
    """Return values with those below 0 as 0; NaN stays."""
    return code.select(values < 0.0, code.zero, values)


def _connected_tile(drawings: int) -> Callable[..., Value]:
    """Return the function that computes GROUP values of a connected layer for some drawings.

    Its arguments: the address of the first drawing's values before, floats from a drawing to the next, how
    many there are; the address of the packed weights; that of the first result, floats from a drawing's
    results to the next one's; whether to rectify.
    """

    def emit(code, source, step, inner, weights, target, target_step, rectifies, floats):
        first, packed = code.at_address(source, floats), code.at_address(weights, floats)

        def round_of(values: Values) -> Values:
            sums = {key: values[key] for key in range(drawings * VECTORS)}
            own = [code.load(packed + values["at"] * GROUP, v * VECTOR) for v in range(VECTORS)]
            for drawing in range(drawings):
                value = code.splat((first + step * drawing + values["at"]).load())
                for v in range(VECTORS):
                    key = drawing * VECTORS + v
                    sums[key] = code.fma(value, own[v], sums[key])
            return sums | {"at": values["at"] + 1}

        def part_of(values: Values) -> Values:
            end = code.smaller(values["at"] + PART, inner)
            sums: Values = dict.fromkeys(range(drawings * VECTORS), code.zero)
            after = code.while_loop(sums | {"at": values["at"]}, lambda now: now["at"] < end, round_of)
            totals: Values = {key: values[key] + after[key] for key in sums}
            return totals | {"at": after["at"]}

        values: Values = dict.fromkeys(range(drawings * VECTORS), code.zero)
        values |= {"at": code.index(0)}
        values = code.while_loop(values, lambda now: now["at"] < inner, part_of)
        store = code.at_address(target, floats)

        def store_all(rectified: bool) -> None:
            for drawing in range(drawings):
                for v in range(VECTORS):
                    total = values[drawing * VECTORS + v]
                    total = _rectified(code, total) if rectified else total
                    code.store(total, store + target_step * drawing, v * VECTOR)

        code.when(code.flag(rectifies), lambda: store_all(True), lambda: store_all(False))

    return cpu_function(types.void)(emit)


connected_drawings = _connected_tile(AT_ONCE)
connected_drawing = _connected_tile(1)

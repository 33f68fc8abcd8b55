"""The compiled part of `network-cpu`: threads take a few drawings at a time and compute all their layers.

All maps of a pixel lie together. So the cells under one row of a filter, of all maps, are neighbours in
memory, and a convolution's inner loop walks along them (`cpu_fast.py`).
"""

from collections.abc import Callable

from engine.compiled.entry_point import entry_point
from engine.compiled.late_names import late_njit
from engine.device.thread_code import finish, share
from engine.device.thread_pool import TAKEN
from engine.tasks.network import problem as network
from engine.tasks.network.problem import CLASSES, FIRST, FIRST_POOLED, HIDDEN, LINEAR, SECOND, SIDE
from engine.variants.emit.cpu_vectors import VECTOR, address_of, copy_samples, count_one, cpu_function
from engine.variants.emit.value import Value
from engine.variants.network.cpu_fast import AT_ONCE, GROUP, PART, VECTORS

# Columns of a tile of two rows: with AVX-512 16 sums, with AVX2 and its 16 registers 8.
COLUMNS = 4 if VECTOR == 16 else 2
_FILTER_ROWS = 5
# Cells of a filter's row at once: it has 5 of each map.
_CELLS = 5

Values = dict[int | str, Value]


@cpu_function("void")
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


def _rectified(code, values):
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

    return cpu_function("void")(emit)


connected_drawings = _connected_tile(AT_ONCE)
connected_drawing = _connected_tile(1)


@late_njit(inline="always")
def convolve_and_pool(source, pixel_step, row_step, inner, filters, target, maps, side, memory):
    """Store the averages of all maps of `side` x `side` outputs; the rest is as in `pooled_tile`."""
    for group in range(maps // GROUP):
        weights = address_of(filters, group * 5 * inner * GROUP)
        for row in range(0, side, 2):
            cells = source + 4 * row * row_step
            averages = target + 4 * (row // 2 * (side // 2) * maps + group * GROUP)
            for column in range(0, side, COLUMNS):
                pooled_tile(
                    cells + 4 * column * pixel_step, pixel_step, row_step, inner, weights,
                    averages + 2 * column * maps, maps, memory,
                )  # fmt: skip


def forward_drawings(drawings, scores, batch, packed, task, memory, worker_floats, steps):
    """Pass `batch` drawings at an address through the network; their scores go to another address.

    `memory` has `worker_floats` floats for each thread: the maps of one drawing after the first pool, the
    vectors of AT_ONCE drawings, their hidden values, their scores. Of the three `steps`, two convolutions
    and the connected layers, the first ones are computed: to time them.
    """
    entry_point()
    first_filters, second_filters, hidden_weights, output_weights = packed
    worker = share(task)
    own = address_of(memory, worker * worker_floats)
    vectors = own + 4 * FIRST_POOLED * FIRST_POOLED * FIRST
    rows = vectors + 4 * AT_ONCE * LINEAR
    results = rows + 4 * AT_ONCE * HIDDEN
    while True:
        first = count_one(task, TAKEN) * AT_ONCE
        if first >= batch:
            break
        count = min(AT_ONCE, batch - first)
        for number in range(count):
            drawing = drawings + 4 * (first + number) * SIDE * SIDE
            convolve_and_pool(drawing, 1, SIDE, 5, first_filters, own, FIRST, network.FIRST_SIDE, memory)
            if steps < 2:
                continue
            convolve_and_pool(
                own, FIRST, FIRST_POOLED * FIRST, 5 * FIRST, second_filters, vectors + 4 * number * LINEAR,
                SECOND, network.SECOND_SIDE, memory,
            )  # fmt: skip
        if steps < 3:
            continue
        for group in range(HIDDEN // GROUP):
            weights = address_of(hidden_weights, group * LINEAR * GROUP)
            target = rows + 4 * group * GROUP
            if count == AT_ONCE:
                connected_drawings(vectors, LINEAR, LINEAR, weights, target, HIDDEN, True, memory)
                continue
            for number in range(count):
                connected_drawing(
                    vectors + 4 * number * LINEAR, LINEAR, LINEAR, weights, target + 4 * number * HIDDEN,
                    HIDDEN, True, memory,
                )  # fmt: skip
        for number in range(count):
            values = rows + 4 * number * HIDDEN
            target = scores + 4 * (first + number) * CLASSES
            for group in range((CLASSES + GROUP - 1) // GROUP):
                weights = address_of(output_weights, group * HIDDEN * GROUP)
                connected_drawing(values, HIDDEN, HIDDEN, weights, results, GROUP, False, memory)
                done = group * GROUP
                copy_samples(target + 4 * done, results, min(GROUP, CLASSES - done), memory)
    finish(task, worker)

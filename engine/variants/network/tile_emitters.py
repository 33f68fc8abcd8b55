"""What the threads of `network-fast` do with their registers: emitters (`docs/emission.md`)."""

from numba import types

from engine.tasks.network.problem import FILTER_CELLS, FILTER_SIDE
from engine.variants.ir.device_function import DeviceFunction, device_function
from engine.variants.network.tile_shape import ACROSS, ROWS, VECTOR, ConnectedShape, ConvolutionShape

_WINDOW = ACROSS + FILTER_SIDE - 1
# Copies of a thread in a phase that are written one after another; more go through a loop.
_MOST_ROUNDS = 8


def phase_loader(shape: ConvolutionShape) -> DeviceFunction:
    """Return the function `load(tile, maps, weights, filters, thread, buffer, ...)`, which waits for nothing.

    It copies the cells of some input maps, of `present` drawings from element `cells_from` of `maps` on, and
    the weights of `channels` of them from element `weights_from` of `filters` on. Places are of 32 bits, and
    where a block's values lie together in memory each further copy of a thread is a constant further on: with
    Numba's own loops and offsets of 64 bits a phase took a seventh more instructions.
    """
    step, whole, packed = shape.vector, shape.phase * shape.side * (shape.side // shape.vector), VECTOR
    row_steps, weight_steps = shape.side // step, shape.maps_per_block // packed
    map_steps = shape.side * row_steps
    is_dense, are_all_maps = shape.pitch == shape.side, shape.map_blocks == 1

    def each(code, first, count, body):
        """Do body(number of the thread's copy, constant beyond the first one) for all copies of a block."""
        rounds = -(-count // shape.threads)
        if rounds > _MOST_ROUNDS:
            for at in code.loop(first, count, shape.threads):
                body(at, 0, None)
            return
        for number in range(rounds):
            beyond = number * shape.threads
            body(first, beyond, None if beyond + shape.threads <= count else first < count - beyond)

    def load(code, tile, maps, weights, filters, thread, buffer, present, channels, cells_from, weights_from):
        first, drawings, maps_now = code.narrow(thread), code.narrow(present), code.narrow(channels)
        own = code.narrow(buffer)
        cells, source = code.shared(tile) + own * shape.cells, code.pointer(maps) + cells_from
        taps, origin = code.shared(weights) + own * shape.weights, code.pointer(filters) + weights_from

        def copy_cells(start, beyond, there):
            at = start + beyond
            drawing = at // whole
            rest = at - drawing * whole
            channel = rest // map_steps
            exists = code.all_of(drawings > drawing, maps_now > channel)
            if there is not None:
                exists = code.all_of(exists, there)
            if is_dense:
                to = from_ = rest * step
            else:
                offset = rest - channel * map_steps
                row = offset // row_steps
                column = (offset - row * row_steps) * step
                to = channel * shape.map_cells + row * shape.pitch + column
                from_ = channel * (shape.side * shape.side) + row * shape.side + column
            to = drawing * (shape.phase * shape.map_cells) + to
            from_ = drawing * (shape.channels * shape.side * shape.side) + from_
            code.copy_ahead(cells + to, source + from_, step, exists)

        def copy_weights(start, beyond, there):
            exists = maps_now * (FILTER_CELLS * weight_steps) > start + beyond
            if there is not None:
                exists = code.all_of(exists, there)
            if are_all_maps:
                further = packed * beyond
                at = start * packed
                code.copy_ahead(taps + at, origin + at, packed, exists, further, further)
                return
            at = start + beyond
            tap = at // weight_steps
            column = (at - tap * weight_steps) * packed
            to, from_ = tap * shape.maps_per_block + column, tap * shape.packed_maps + column
            code.copy_ahead(taps + to, origin + from_, packed, exists)

        each(code, first, shape.drawings * whole, copy_cells)
        each(code, first, shape.phase * FILTER_CELLS * weight_steps, copy_weights)

    return device_function(types.void, load)


def accumulator(shape: ConvolutionShape) -> DeviceFunction:
    """Return the function `accumulate(tile, at, weights, own, sums)`: the products of one input map.

    The thread's window begins at element `at` of the tile, its weights at element `own`. Each row of the
    window is loaded once: it serves the upper row of outputs under one row of the filter, and the lower row
    under the row before.
    """
    filters = shape.filters

    def accumulate(code, tile, at, weights, own, sums):
        cells, packed = code.shared(tile) + at, code.shared(weights) + own

        def window(number):
            row = cells + number * shape.pitch
            return [value for v in range(0, _WINDOW, VECTOR) for value in (row + v).load(VECTOR)]

        def filter_row(number, carried):
            totals, upper = list(carried[0]), carried[1]
            lower = window(number + 1)
            taps = packed + number * (FILTER_SIDE * shape.maps_per_block)
            for q in range(FILTER_SIDE):
                own_weights = (taps + q * shape.maps_per_block).load(filters)
                for f, weight in enumerate(own_weights):
                    for i, row in enumerate((upper, lower)):
                        for x in range(ACROSS):
                            offset = (f * ROWS + i) * ACROSS + x
                            totals[offset] = code.fma(row[q + x], weight, totals[offset])
            return [totals, lower]

        carried = [list(sums), window(0)]
        if not shape.is_unrolled:
            return code.repeat(FILTER_SIDE, carried, filter_row)[0]
        for number in range(FILTER_SIDE):
            carried = filter_row(number, carried)
        return carried[0]

    return device_function(types.UniTuple(types.float32, filters * ROWS * ACROSS), accumulate)


def pooled_store(shape: ConvolutionShape) -> DeviceFunction:
    """Return the function `store(out, at, maps, columns, sums)`: the averages of the rectified outputs.

    `at` is the element of the first average of the first map; `maps` of the thread's maps and `columns` of
    its four averages in a row exist.
    """
    averages, side = ACROSS // 2, shape.pooled
    is_whole = side % averages == 0

    def rectified(code, value):
        return code.select(value < code.f32(0.0), code.f32(0.0), value)

    def store(code, out, at, maps, columns, sums):
        target = code.pointer(out) + at
        for f in range(shape.filters):
            values = []
            for k in range(averages):
                upper, lower = ((f * ROWS + i) * ACROSS + 2 * k for i in range(ROWS))
                four = [rectified(code, sums[offset + j]) for offset in (upper, lower) for j in (0, 1)]
                values.append(((four[0] + four[1]) + (four[2] + four[3])) * code.f32(0.25))
            for _ in code.where(maps > f):
                row = target + f * side * side
                if is_whole:
                    row.store(values)
                    continue
                for k, value in enumerate(values):
                    for _ in code.where(columns > k):
                        (row + k).store(value)

    return device_function(types.void, store)


def connected_accumulator(shape: ConnectedShape) -> DeviceFunction:
    """Return the function `accumulate(tile, at, weights, first, sums)`: some products of each drawing.

    `at` is the element of the tile with the first drawing's first value, `first` that of the weights.
    """

    def accumulate(code, tile, at, weights, first, sums):
        values, source = code.shared(tile) + at, code.pointer(weights) + first
        loaded = [(source + k * shape.hidden).load() for k in range(shape.ahead)]
        totals = list(sums)
        for k, weight in enumerate(loaded):
            for d in range(0, shape.drawings, VECTOR):
                for j, value in enumerate((values + (k * shape.drawings + d)).load(VECTOR)):
                    totals[d + j] = code.fma(value, weight, totals[d + j])
        return totals

    return device_function(types.UniTuple(types.float32, shape.drawings), accumulate)


def parts_store(shape: ConnectedShape) -> DeviceFunction:
    """Return the function `store(parts, at, sums)`: a sum for each drawing, a row of lanes apart."""

    def store(code, parts, at, sums):
        target = code.shared(parts) + at
        for d, total in enumerate(sums):
            (target + d * shape.lanes).store(total)

    return device_function(types.void, store)

"""`network-fast`: the fastest network here on CUDA: three launches, sums in registers, pools in their stores.

Idea
    Each convolution is one launch with its pool. A thread keeps 2 x 8 outputs of several maps in registers
    over the whole sum, rectifies and averages them there, and stores the averages alone. Both connected
    layers are a third launch: a block takes some drawings through them.
Who loads what
    A block copies the input maps and the filters of a few of them into shared memory, with 16-byte copies
    that no thread waits for, while it multiplies the ones before. A row of 12 cells, three loads, serves the
    5 x 8 products of both rows of outputs for each map; a weight, a quarter or half of a load, serves 16.
What it saves
    Against `network-implicit-gemm`: two loads from shared memory for each multiply-add become one for 37 of
    them, and neither a convolution's maps nor a matrix exists in memory.
Limit
    The multiply-adds themselves for large batches. 100 drawings are 100 blocks of the second convolution: a
    larger GPU has multiprocessors without work, and each block has one warp for each scheduler.

Sources: the register tiling of matrix products (Volkov and Demmel, "Benchmarking GPUs to tune dense linear
algebra", SC 2008, section 3) applied to a direct convolution; what threads do with their registers
is emitted (`docs/emission.md`).
"""

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, float32, jit_within, types
from engine.device.launches import Between, Launch, Operand
from engine.geometry.block import FLOAT_BYTES, blocks_along
from engine.tasks.network import problem as network
from engine.tasks.network.operands import Floats
from engine.tasks.network.problem import CLASSES, FILTER_CELLS, FILTER_SIDE, HIDDEN, LINEAR
from engine.variants.emit.cuda_code import SHARED_ALIGNMENT, device_function, waiter
from engine.variants.network.steps import LINEARISED, Argument, NetworkLaunch, stage, weights_of
from engine.variants.passes import VECTOR, Shape

ROWS, ACROSS = 2, 8
"""Outputs of a thread: two rows of eight, so that each average of a pool has its four in one thread."""
_WINDOW = ACROSS + FILTER_SIDE - 1
# Multiply-adds in a row that the instruction cache takes well: 16 KB of code.
MOST_UNROLLED = 1000


class ConvolutionShape(Shape):
    """A convolution with its pool; everything is known when the kernel is compiled.

    A thread computes 2 x 8 outputs of `filters` maps; threads of a block stand over all outputs of all maps
    of one drawing. `phase` input maps are in shared memory at once; the next ones arrive meanwhile.
    """

    def __init__(self, channels: int, side: int, maps: int, *, filters: int, phase: int) -> None:
        self.channels, self.side = channels, side  # input maps, and their side
        self.maps, self.filters, self.phase = maps, filters, phase
        self.pooled = (side - FILTER_SIDE + 1) // 2  # side of a map of averages
        self.across = (side - FILTER_SIDE + 1) // ACROSS  # threads side by side over a row of outputs
        self.positions = self.pooled * self.across  # threads over the outputs of a map
        self.threads = self.positions * (maps // filters)
        self.phases = channels // phase  # of the sum
        self.buffers = min(2, self.phases)  # two where a phase is copied while another is used
        self.map_cells = side**2
        # Values of the input maps, and weights, in a buffer.
        self.cells, self.weights = phase * self.map_cells, phase * FILTER_CELLS * maps
        self.shared_bytes = 4 * self.buffers * (self.cells + self.weights)


CONVOLUTIONS = (
    ConvolutionShape(1, network.SIDE, network.FIRST, filters=4, phase=1),
    # Two maps per thread, so that a block has a warp for each of a multiprocessor's four schedulers. With
    # four maps and four drawings per block 10,000 drawings take as long, 1,000 a tenth longer (H200).
    ConvolutionShape(network.FIRST, network.FIRST_POOLED, network.SECOND, filters=2, phase=2),
)
DRAWINGS, SLICES, AHEAD, DEPTH = 4, 4, 32, 512
"""Both connected layers in one block: its drawings, threads that share a hidden value's sum, weights that a
thread loads before it multiplies any (their latency overlaps), earlier values in shared memory at once."""
PARTS = SLICES * HIDDEN * DRAWINGS
"""Values of all parts of all sums."""


def phase_loader(shape: ConvolutionShape):
    """Return the function `load(tile, maps, weights, filters, thread, buffer, ...)`, which waits for nothing.

    It copies the cells of some input maps from element `cells_from` of `maps` on, and their weights from
    element `weights_from` of `filters` on. Places are of 32 bits, and each further copy of a thread is a
    constant further on: with Numba's own loops and offsets of 64 bits a phase took a seventh more
    instructions.
    """
    at_once = shape.threads * VECTOR

    def load(code, tile, maps, weights, filters, thread, buffer, cells_from, weights_from):
        first, own = code.narrow(thread) * VECTOR, code.narrow(buffer)
        for target, source, count in (
            (code.shared(tile) + own * shape.cells, code.pointer(maps) + cells_from, shape.cells),
            (code.shared(weights) + own * shape.weights, code.pointer(filters) + weights_from, shape.weights),
        ):
            for beyond in range(0, count, at_once):
                there = None if beyond + at_once <= count else first < count - beyond
                code.copy_ahead(target + first, source + first, VECTOR, there, beyond, beyond)

    return device_function(types.void, load)


def accumulator(shape: ConvolutionShape):
    """Return the function `accumulate(tile, at, weights, own, sums)`: the products of one input map.

    The thread's window begins at element `at` of the tile, its weights at element `own`. Each row of the
    window is loaded once: it serves the upper row of outputs under one row of the filter, and the lower row
    under the row before.
    """
    filters = shape.filters

    def accumulate(code, tile, at, weights, own, sums):
        cells, packed = code.shared(tile) + at, code.shared(weights) + own

        def window(number):
            return code.load_row(cells + number * shape.side, _WINDOW)

        def filter_row(number, carried):
            totals, upper = list(carried[0]), carried[1]
            lower = window(number + 1)
            taps = packed + number * (FILTER_SIDE * shape.maps)
            for q in range(FILTER_SIDE):
                own_weights = (taps + q * shape.maps).load(filters)
                for f, weight in enumerate(own_weights):
                    for i, row in enumerate((upper, lower)):
                        for x in range(ACROSS):
                            offset = (f * ROWS + i) * ACROSS + x
                            totals[offset] = code.fma(row[q + x], weight, totals[offset])
            return [totals, lower]

        carried = [list(sums), window(0)]
        if FILTER_CELLS * ROWS * ACROSS * filters > MOST_UNROLLED:
            return code.repeat(FILTER_SIDE, carried, filter_row)[0]
        for number in range(FILTER_SIDE):
            carried = filter_row(number, carried)
        return carried[0]

    return device_function(types.UniTuple(types.float32, filters * ROWS * ACROSS), accumulate)


def pooled_store(shape: ConvolutionShape):
    """Return the function `store(out, at, sums)`: the averages of the rectified outputs.

    `at` is the element of the first average of the first map.
    """
    averages, side = ACROSS // 2, shape.pooled

    def store(code, out, at, sums):
        target, zero = code.pointer(out) + at, code.f32(0.0)
        for f in range(shape.filters):
            values = []
            for k in range(averages):
                upper, lower = ((f * ROWS + i) * ACROSS + 2 * k for i in range(ROWS))
                four = [sums[offset + j] for offset in (upper, lower) for j in (0, 1)]
                four = [code.select(value < zero, zero, value) for value in four]
                values.append(((four[0] + four[1]) + (four[2] + four[3])) * code.f32(0.25))
            (target + f * side * side).store(values)

    return device_function(types.void, store)


def connected_accumulator():
    """Return the function `accumulate(tile, at, weights, first, sums)`: some products of each drawing.

    `at` is the element of the tile with the first drawing's first value, `first` that of the weights.
    """

    def accumulate(code, tile, at, weights, first, sums):
        values, source = code.shared(tile) + at, code.pointer(weights) + first
        loaded = [(source + k * HIDDEN).load() for k in range(AHEAD)]
        totals = list(sums)
        for k, weight in enumerate(loaded):
            for d, value in enumerate((values + k * DRAWINGS).load(DRAWINGS)):
                totals[d] = code.fma(value, weight, totals[d])
        return totals

    return device_function(types.UniTuple(types.float32, DRAWINGS), accumulate)


def parts_store():
    """Return the function `store(parts, at, sums)`: a sum for each drawing, a row of threads apart."""

    def store(code, parts, at, sums):
        target = code.shared(parts) + at
        for d, total in enumerate(sums):
            (target + d * HIDDEN).store(total)

    return device_function(types.void, store)


REGISTERS = 112
"""Registers of a convolution's thread at most: 64 sums, 24 cells, weights, indices. Two blocks of 288 threads
fit on a multiprocessor then, and nothing is spilled (sm_90); the compiler would take 124."""
CONNECTED_REGISTERS = 128
"""Registers of a connected layer's thread."""


def _convolution_work(batch: int, shape: ConvolutionShape) -> network.LayerWork:
    loads = batch * shape.channels * (shape.map_cells + FILTER_CELLS * shape.maps)
    sums = batch * shape.threads * shape.channels
    return network.LayerWork(
        multiply_adds=sums * FILTER_CELLS * ROWS * ACROSS * shape.filters,
        loads=loads,
        stores=batch * shape.maps * shape.pooled**2,
        shared_loads=sums * (6 * _WINDOW + FILTER_CELLS * shape.filters),
        shared_stores=loads,
    )


def _connected_work(batch: int, layer: network.Layer) -> network.LayerWork:
    blocks = blocks_along(batch, DRAWINGS)
    products, outputs = blocks * LINEAR * HIDDEN, batch * CLASSES * HIDDEN
    return network.LayerWork(
        multiply_adds=products * DRAWINGS + outputs,
        loads=batch * LINEAR + products + outputs,
        stores=batch * CLASSES,
        shared_loads=products * DRAWINGS + blocks * PARTS + outputs,
        shared_stores=blocks * ((LINEAR + HIDDEN) * DRAWINGS + PARTS),
    )


@kernel_factory
def convolution_kernel(shape: ConvolutionShape):
    """Return the kernel of a convolution with its pool: maps, packed filters -> averages, a flat array."""
    load = phase_loader(shape)
    close = device_function(types.void, lambda code: code.close_group())
    wait_for_all, wait_for_earlier = waiter(pending=0), waiter(pending=1)
    count, accumulate, store = shape.filters * ROWS * ACROSS, accumulator(shape), pooled_store(shape)
    zeros = device_function(types.UniTuple(types.float32, count), lambda code: [code.f32(0.0)] * count)
    CHANNELS, SIDE, MAPS, MAP_CELLS = shape.channels, shape.side, shape.maps, shape.map_cells
    FILTERS, POSITIONS, ACROSS_THREADS, POOLED = shape.filters, shape.positions, shape.across, shape.pooled
    PHASE, PHASES, BUFFERS = shape.phase, shape.phases, shape.buffers
    CELLS, WEIGHTS = shape.cells, shape.weights
    ALL_CELLS, ALL_WEIGHTS = BUFFERS * CELLS, BUFFERS * WEIGHTS

    @jit_within(REGISTERS)
    def convolve_in_registers(maps, filters, averages):
        tile = cuda.shared.array(ALL_CELLS, types.float32, SHARED_ALIGNMENT)
        weights = cuda.shared.array(ALL_WEIGHTS, types.float32, SHARED_ALIGNMENT)
        thread, drawing = cuda.threadIdx.x, cuda.blockIdx.x
        # Threads over the outputs of a map first, then over maps.
        group = thread // POSITIONS
        position = thread - group * POSITIONS
        row = position // ACROSS_THREADS
        column = position - row * ACROSS_THREADS

        sums = zeros()
        for step in range(PHASES + 1):
            # Copy the next phase while the one before is used.
            if step < PHASES:
                channel = step * PHASE
                cells_from, weights_from = (drawing * CHANNELS + channel) * MAP_CELLS, channel * 25 * MAPS
                load(tile, maps, weights, filters, thread, step % BUFFERS, cells_from, weights_from)
                close()
            if step > 0:
                if step < PHASES:
                    wait_for_earlier()
                else:
                    wait_for_all()
                # No thread may read a value before the one that copies it has it there.
                cuda.syncthreads()
                buffer = (step - 1) % BUFFERS
                for c in range(PHASE):
                    at = buffer * CELLS + c * MAP_CELLS + row * 2 * SIDE + column * 8
                    taps = buffer * WEIGHTS + c * (25 * MAPS) + group * FILTERS
                    sums = accumulate(tile, at, weights, taps, sums)
                # No thread may copy over a value that another one still reads.
                cuda.syncthreads()
        own_map = group * FILTERS
        store(averages, ((drawing * MAPS + own_map) * POOLED + row) * POOLED + column * 4, sums)

    return convolve_in_registers


@kernel_factory
def connected_kernel():
    """Return the kernel of both connected layers: vectors, weights of both -> scores."""
    zeros = device_function(types.UniTuple(types.float32, DRAWINGS), lambda code: [code.f32(0.0)] * DRAWINGS)
    accumulate, store_parts = connected_accumulator(), parts_store()
    THREADS, OWN_DEPTH, QUADS, ALL_VALUES = SLICES * HIDDEN, DEPTH // SLICES, DEPTH // 4, DEPTH * DRAWINGS

    @jit_within(CONNECTED_REGISTERS)
    def connect_both(vectors, hidden, output, scores):
        tile = cuda.shared.array(ALL_VALUES, types.float32, SHARED_ALIGNMENT)
        parts = cuda.shared.array(PARTS, types.float32, SHARED_ALIGNMENT)
        own, part = cuda.threadIdx.x, cuda.threadIdx.y
        thread = part * HIDDEN + own
        first_drawing = cuda.blockIdx.x * DRAWINGS
        present = min(DRAWINGS, scores.shape[0] - first_drawing)

        sums = zeros()
        for first in range(0, LINEAR, DEPTH):
            # Four neighbouring values of a drawing each; drawing after drawing, as the sums want them.
            for at in range(thread, DRAWINGS * QUADS, THREADS):
                quad = at // DRAWINGS
                drawing = at - quad * DRAWINGS
                for j in range(4):
                    value = float32(0.0)
                    if drawing < present:
                        value = vectors[first_drawing + drawing, first + quad * 4 + j]
                    tile[(quad * 4 + j) * DRAWINGS + drawing] = value
            cuda.syncthreads()
            for k in range(part * OWN_DEPTH, (part + 1) * OWN_DEPTH, AHEAD):
                sums = accumulate(tile, k * DRAWINGS, hidden, (first + k) * HIDDEN + own, sums)
            cuda.syncthreads()
        store_parts(parts, part * (DRAWINGS * HIDDEN) + own, sums)
        cuda.syncthreads()
        # Add the parts of each hidden value, rectify it, and keep it where its first part was.
        for at in range(thread, DRAWINGS * HIDDEN, THREADS):
            total = float32(0.0)
            for s in range(SLICES):
                total += parts[s * (DRAWINGS * HIDDEN) + at]
            if total < float32(0.0):
                total = float32(0.0)
            parts[at] = total
        cuda.syncthreads()
        for at in range(thread, present * CLASSES, THREADS):
            drawing = at // CLASSES
            number = at - drawing * CLASSES
            total = float32(0.0)
            for k in range(HIDDEN):
                total += parts[drawing * HIDDEN + k] * output[k, number]
            scores[first_drawing + drawing, number] = total

    return connect_both


def packed_filters(filters: Floats) -> Floats:
    """Return filters (m, c, 5, 5) as (c x 25, m): maps side by side."""
    return np.ascontiguousarray(filters.reshape(len(filters), -1).T)


def _averages(number: int) -> Argument:
    """Return the averages of pool 1 or 2 as a flat array."""
    values = network.LAYERS[2 * number - 1].values
    return lambda problem, weights: Between(f"pool-{number}", (problem.batch * values,))


def _convolution(number: int) -> NetworkLaunch:
    """Return convolution 1 or 2 with its pool."""
    shape, before = CONVOLUTIONS[number - 1], Operand.IMAGE if number == 1 else _averages(1)
    return NetworkLaunch(
        network.LAYERS[2 * number - 1],
        lambda batch, layer: Launch((batch, 1, 1), (shape.threads, 1, 1), shape.shared_bytes),
        lambda batch, layer: _convolution_work(batch, shape),
        lambda: convolution_kernel(shape),
        (before, weights_of(f"convolution_{number}", packed_filters), _averages(number)),
        f"convolution-{number} + pool-{number}",
    )


STEPS = (
    _convolution(1),
    _convolution(2),
    NetworkLaunch(
        network.LAYERS[5],
        lambda batch, layer: Launch(
            (blocks_along(batch, DRAWINGS), 1, 1),
            (HIDDEN, SLICES, 1),
            FLOAT_BYTES * (DEPTH * DRAWINGS + PARTS),
        ),
        _connected_work,
        connected_kernel,
        (LINEARISED, weights_of("hidden"), weights_of("output"), Operand.OUT),
        "hidden + output",
    ),
)

VARIANT = stage(
    STEPS,
    key="network-fast",
    title="Sums in registers, pools in their stores",
    idea="Three launches: threads keep 2 × 8 outputs of several maps in registers, pool them there and store "
    "the averages alone; both connected layers in one block.",
    picture_loads=lambda problem: problem.batch * network.SIDE**2,
    roundings=lambda terms: terms,
)

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
algebra", SC 2008, section 3) applied to a direct convolution; the emitters are in `fast_tiles.py`.
"""

from typing import TYPE_CHECKING

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import Between, Launch, Operand
from engine.geometry.block import FLOAT_BYTES, blocks_along
from engine.tasks.network.operands import Floats
from engine.tasks.network.problem import (
    CLASSES,
    FILTER_CELLS,
    FILTER_SIDE,
    HIDDEN,
    LAYERS,
    LINEAR,
    SIDE,
    ForwardPass,
    LayerWork,
)
from engine.variants.network.fast_tiles import (
    ACROSS,
    AHEAD,
    CONVOLUTIONS,
    DEPTH,
    DRAWINGS,
    PARTS,
    ROWS,
    SLICES,
    ConvolutionShape,
    accumulator,
    connected_accumulator,
    parts_store,
    phase_loader,
    pooled_store,
)
from engine.variants.network.steps import Step, filters_of, linear, stage

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32, jit_within, types
    from engine.variants.emit.cuda_code import SHARED_ALIGNMENT, closer, waiter, zero_accumulators

REGISTERS = 112
"""Registers of a convolution's thread at most: 64 sums, 24 cells, weights, indices. Two blocks of 288 threads
fit on a multiprocessor then, and nothing is spilled (sm_90); the compiler would take 124."""
CONNECTED_REGISTERS = 128
"""Registers of a connected layer's thread."""


def _convolution_work(batch: int, shape: ConvolutionShape) -> LayerWork:
    loads = batch * shape.channels * (shape.map_cells + FILTER_CELLS * shape.maps)
    sums = batch * shape.threads * shape.channels
    window = ACROSS + FILTER_SIDE - 1
    return LayerWork(
        multiply_adds=sums * FILTER_CELLS * ROWS * ACROSS * shape.filters,
        loads=loads,
        stores=batch * shape.maps * shape.pooled**2,
        shared_loads=sums * (6 * window + FILTER_CELLS * shape.filters),
        shared_stores=loads,
    )


def _connected_work(problem: ForwardPass) -> LayerWork:
    batch, blocks = problem.batch, blocks_along(problem.batch, DRAWINGS)
    products, outputs = blocks * LINEAR * HIDDEN, batch * CLASSES * HIDDEN
    return LayerWork(
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
    close, wait_for_all, wait_for_earlier = closer(), waiter(pending=0), waiter(pending=1)
    zeros, accumulate = zero_accumulators(shape.filters * ROWS * ACROSS), accumulator(shape)
    store = pooled_store(shape)
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
    zeros, accumulate, store_parts = zero_accumulators(DRAWINGS), connected_accumulator(), parts_store()
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


def _averages(problem: ForwardPass, number: int) -> Between:
    """Return the averages of pool 1 or 2 as a flat array."""
    return Between(f"pool-{number}", (problem.batch * LAYERS[2 * number - 1].values,))


def _convolution(number: int) -> Step:
    """Return convolution 1 or 2 with its pool."""
    shape = CONVOLUTIONS[number - 1]
    return Step(
        f"convolution-{number} + pool-{number}",
        lambda problem: Launch((problem.batch, 1, 1), (shape.threads, 1, 1), shape.shared_bytes),
        lambda problem: _convolution_work(problem.batch, shape),
        lambda: convolution_kernel(shape),
        lambda problem, weights: (
            Operand.IMAGE if number == 1 else _averages(problem, 1),
            packed_filters(filters_of(weights, number)),
            _averages(problem, number),
        ),
    )


STEPS = (
    _convolution(1),
    _convolution(2),
    Step(
        "hidden + output",
        lambda problem: Launch(
            (blocks_along(problem.batch, DRAWINGS), 1, 1),
            (HIDDEN, SLICES, 1),
            FLOAT_BYTES * (DEPTH * DRAWINGS + PARTS),
        ),
        _connected_work,
        connected_kernel,
        lambda problem, weights: (linear(problem), weights.hidden, weights.output, Operand.OUT),
    ),
)

VARIANT = stage(
    STEPS,
    key="network-fast",
    title="Sums in registers, pools in their stores",
    idea="Three launches: threads keep 2 × 8 outputs of several maps in registers, pool them there and store "
    "the averages alone; both connected layers in one block.",
    picture_loads=lambda problem: problem.batch * SIDE**2,
    roundings=lambda terms: terms,
)

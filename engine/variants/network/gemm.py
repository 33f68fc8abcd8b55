"""Convolution as a product of matrices, Y = W X, in blocks of 25 x 25, and the layers around it.

Row m of W is map m's filters, one after another; column p of X has the cells that they cover at output p,
counted drawing after drawing over the whole batch. A phase is an input map: 25 columns of W, 25 rows of X.
"""

import math

from msgspec.structs import replace

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, float32, jit_for
from engine.device.launches import Between, Launch, Prepared
from engine.geometry.block import FLOAT_BYTES, Block, Limits, Refusal, blocks_along
from engine.image.format import DEFAULT_MAX_BYTES
from engine.process import bytes_text, interprets
from engine.tasks.network.operands import Weights
from engine.tasks.network.problem import FILTER_CELLS, FIRST, LAYERS, ForwardPass, Layer, LayerWork
from engine.variants.network import steps
from engine.variants.network.steps import (
    AFTER,
    BEFORE,
    CONNECTED_LAYERS,
    NetworkLaunch,
    pool,
    stage,
    weights_of,
)
from engine.variants.passes import interpreted

SIDE = FILTER_CELLS
"""The side of a block: each thread loads one weight and one cell in each phase."""
BLOCK = Block(SIDE, SIDE)
SHARED_BYTES = 2 * SIDE * SIDE * 4


def gemm_launch(batch: int, layer: Layer) -> Launch:
    """Return the launch of a convolution: x outputs of the whole batch, y maps."""
    maps, rows, columns = layer.shape
    grid = (blocks_along(batch * rows * columns, SIDE), blocks_along(maps, SIDE), 1)
    return Launch(grid, (SIDE, SIDE, 1), SHARED_BYTES)


def gemm_work(batch: int, layer: Layer) -> LayerWork:
    """Return the work: W is loaded once for each block of outputs, X once for each block of maps."""
    maps, rows, columns = layer.shape
    outputs = batch * rows * columns
    inner = layer.multiply_adds // layer.values
    across, down = blocks_along(outputs, SIDE), blocks_along(maps, SIDE)
    return LayerWork(
        multiply_adds=maps * outputs * inner,
        loads=across * maps * inner + down * outputs * inner,
        stores=maps * outputs,
        shared_loads=2 * maps * outputs * inner,
        shared_stores=2 * across * down * SIDE * inner,
    )


@kernel_factory
def implicit_kernel():
    """Return the kernel of a convolution: maps, filters as a matrix -> rectified results."""

    @jit_for(BLOCK.threads)
    def convolve_implicit_gemm(maps, filters, results):
        w_tile = cuda.shared.array((SIDE, SIDE), float32)
        x_tile = cuda.shared.array((SIDE, SIDE), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        side = results.shape[2]
        output = cuda.blockIdx.x * SIDE + tx
        drawing = output // (side * side)
        offset = output - drawing * (side * side)
        row = offset // side
        column = offset - row * side
        own_map = cuda.blockIdx.y * SIDE + ty
        has_output = drawing < maps.shape[0]
        has_map = own_map < filters.shape[0]
        # The cell of the filter that this thread's row of X lies under.
        p = ty // 5
        q = ty - p * 5

        total = float32(0.0)
        for channel in range(maps.shape[1]):
            # Load the next 25 columns of W, and build the same rows of X; zeros outside.
            weight = float32(0.0)
            if has_map:
                weight = filters[own_map, channel * SIDE + tx]
            cell = float32(0.0)
            if has_output:
                cell = maps[drawing, channel, row + p, column + q]
            w_tile[ty, tx] = weight
            x_tile[ty, tx] = cell
            # No thread may read a cell before it is stored.
            cuda.syncthreads()
            if has_map and has_output:
                partial = float32(0.0)
                for k in range(SIDE):
                    partial += w_tile[ty, k] * x_tile[k, tx]
                total += partial
            # No thread may overwrite a cell that another one still reads.
            cuda.syncthreads()
        if has_map and has_output:
            if total < float32(0.0):
                total = float32(0.0)
            results[drawing, own_map, row, column] = total

    return convolve_implicit_gemm


def gemm_convolution(number: int) -> NetworkLaunch:
    """Return convolution 1 or 2 as a product of matrices."""
    layer = LAYERS[2 * number - 2]
    arguments = BEFORE[number], weights_of(f"convolution_{number}", steps.matrix), AFTER[layer.key]
    return NetworkLaunch(layer, gemm_launch, gemm_work, implicit_kernel, arguments)


def picture_loads(problem: ForwardPass) -> int:
    """Return how often cells of the drawings are loaded: once for each block of maps."""
    blocks = gemm_launch(problem.batch, LAYERS[0]).grid[1]
    return blocks * problem.batch * LAYERS[0].multiply_adds // FIRST


STEPS = (gemm_convolution(1), pool(1), gemm_convolution(2), pool(2), *CONNECTED_LAYERS)


IMPLICIT_STORY = """
`network-implicit-gemm`: both convolutions as products of matrices; the large matrix is never stored.

Idea
    Y = W X. X repeats each map up to 25 times, so the block builds only the 25 x 25
    cells of it that it needs next, in shared memory, multiplies, and builds the next ones: a phase for each
    input map.
Who loads what
    In each phase every thread loads one weight and one cell, which 25 threads use; after the barrier it
    multiplies a row of W with a column of X.
What it saves
    Against `network-connected`: loads of weights and values fall by a factor of 25 (less at the edges: 32
    maps take two blocks of 25).
Limit
    Each multiply-add needs two loads from shared memory. 625 threads are 20 warps, of which the last has 17
    threads.

    The report's worked product, 14 20 15 24 and 12 24 17 26, is a worked example of the course.

Source: ECE408 final report "CUCUDA", Optimizations, 4 "Build Matrix Multiplication on the fly": "we chose to
use 25 by 25 blocks so each thread was responsible for loading one element from mask and one from the input."
"""
IMPLICIT = stage(
    STEPS,
    key="network-implicit-gemm",
    title="Implicit matrix product",
    idea="Convolutions as products of matrices in blocks of 25 × 25; the unrolled maps exist only as tiles "
    "in shared memory.",
    picture_loads=picture_loads,
)


UNROLLED_STORY = """
`network-unrolled`: the matrix X is written to memory, and then multiplied. What the implicit one avoids.

Idea
    One kernel unrolls the maps into X, (25 x input maps) x (outputs of the batch), another multiplies W and
    X in tiles of 25 x 25, as `network-implicit-gemm` does.
Who loads what
    Unrolling, a thread copies the 25 cells under one output of one input map; its neighbours write to
    neighbouring columns. The product loads W and X tile by tile.
What it saves
    Nothing here; a library's product of matrices could be called instead of a kernel of one's own.
Limit
    X is 25 times the first maps and 11 times the second ones: 57,600 and 204,800 bytes per drawing, 2.6 GB
    for 10,000, written once and read once for every 25 maps.

Source: ECE408 final report "CUCUDA", Optimizations, 4: "Instead of first building a matrix from convolution
inputs and filters and storing that in the global memory"; Kirk and Hwu, Programming Massively Parallel
Processors, chapter "Application case study: machine learning", unrolling of the input features.
"""
THREADS = 256


def matrix_shape(batch: int, layer: Layer) -> tuple[int, int]:
    """Return the shape of X for a convolution: (25 x input maps, outputs of the whole batch)."""
    return layer.multiply_adds // layer.values, batch * layer.shape[1] * layer.shape[2]


def matrix_bytes(batch: int, layer: Layer) -> int:
    """Return the bytes of X for a convolution of the whole batch."""
    return math.prod(matrix_shape(batch, layer)) * FLOAT_BYTES


def unsupported(problem: ForwardPass, weights: Weights, block: Block, limits: Limits) -> Refusal | None:
    """Return why a batch's matrices and layers together would fill the memory, or None."""
    matrices = sum(matrix_bytes(problem.batch, LAYERS[number]) for number in (0, 2))
    needed = problem.input_bytes + problem.map_bytes + matrices
    if needed <= DEFAULT_MAX_BYTES:
        return None
    most = f"largest batch is {DEFAULT_MAX_BYTES // (needed // problem.batch):,}"
    taken = f"With both unrolled matrices {problem.size_text} take {bytes_text(needed)}"
    detail = f"{taken}, the limit is {bytes_text(DEFAULT_MAX_BYTES)}: the {most}."
    return Refusal("batch-too-large", f"The {most}", detail)


@kernel_factory
def unroll_kernel():
    """Return the kernel that unrolls: maps -> X, (25 x channels, outputs); `side` is an output map's."""

    @cuda.jit
    def unroll(maps, side, matrix):
        output = cuda.blockIdx.x * THREADS + cuda.threadIdx.x
        channel = cuda.blockIdx.y
        if output >= matrix.shape[1]:
            return
        drawing = output // (side * side)
        offset = output - drawing * (side * side)
        row = offset // side
        column = offset - row * side
        for p in range(5):
            for q in range(5):
                matrix[(channel * 5 + p) * 5 + q, output] = maps[drawing, channel, row + p, column + q]

    return unroll


@kernel_factory
def product_kernel():
    """Return the kernel of the product: X, W -> rectified maps."""

    @jit_for(BLOCK.threads)
    def multiply_unrolled(matrix, filters, results):
        w_tile = cuda.shared.array((SIDE, SIDE), float32)
        x_tile = cuda.shared.array((SIDE, SIDE), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        output = cuda.blockIdx.x * SIDE + tx
        own_map = cuda.blockIdx.y * SIDE + ty
        has_output = output < matrix.shape[1]
        has_map = own_map < filters.shape[0]

        total = float32(0.0)
        for phase in range(matrix.shape[0] // SIDE):
            weight = float32(0.0)
            if has_map:
                weight = filters[own_map, phase * SIDE + tx]
            cell = float32(0.0)
            if has_output:
                cell = matrix[phase * SIDE + ty, output]
            w_tile[ty, tx] = weight
            x_tile[ty, tx] = cell
            cuda.syncthreads()
            if has_map and has_output:
                partial = float32(0.0)
                for k in range(SIDE):
                    partial += w_tile[ty, k] * x_tile[k, tx]
                total += partial
            cuda.syncthreads()
        if has_map and has_output:
            if total < float32(0.0):
                total = float32(0.0)
            side = results.shape[2]
            drawing = output // (side * side)
            offset = output - drawing * (side * side)
            row = offset // side
            results[drawing, own_map, row, offset - row * side] = total

    return multiply_unrolled


def unrolled_convolution(number: int) -> tuple[NetworkLaunch, NetworkLaunch]:
    """Return the steps of convolution 1 or 2: X is stored once, and loaded instead of the maps."""
    layer = LAYERS[2 * number - 2]

    def unrolled(problem: ForwardPass, weights: Weights) -> Between:
        return Between(f"X of {layer.key}", matrix_shape(problem.batch, layer))

    def launch(batch: int, layer: Layer) -> Launch:
        # x outputs of the batch, y input maps.
        rows, outputs = matrix_shape(batch, layer)
        return Launch((blocks_along(outputs, THREADS), rows // FILTER_CELLS, 1), (THREADS, 1, 1))

    def work(batch: int, layer: Layer) -> LayerWork:
        # Each cell of X is loaded and stored.
        cells = math.prod(matrix_shape(batch, layer))
        return LayerWork(loads=cells, stores=cells)

    to_matrix = (BEFORE[number], layer.shape[1], unrolled)
    unroll = NetworkLaunch(layer, launch, work, unroll_kernel, to_matrix, f"unroll for {layer.key}")
    product = gemm_convolution(number)
    arguments = unrolled, *product.arguments[1:]
    return unroll, product._replace(kernel=product_kernel, arguments=arguments)


UNROLLED = stage(
    (*unrolled_convolution(1), pool(1), *unrolled_convolution(2), pool(2), *CONNECTED_LAYERS),
    key="network-unrolled",
    title="Explicit unrolled matrix",
    idea="The unrolled maps are written to global memory and then multiplied: what the implicit product "
    "avoids.",
    unsupported=unsupported,
    picture_loads=lambda problem: math.prod(matrix_shape(problem.batch, LAYERS[0])),
    remark="The matrix takes 57,600 bytes per drawing for the first convolution and 204,800 for the second: "
    "2.6 GB for 10,000 drawings, where the maps themselves take 31 MB and 184 MB.",
)


STREAMS_STORY = """
`network-streams`: chunks of 100 drawings from pinned memory on two streams that alternate.

Idea
    Stream 0 copies drawings 0 to 99 and computes them, stream 1 copies drawings 100 to 199 meanwhile, and so
    on: a copy of one stream runs beside the kernels of the other. The drawings lie in pinned memory, which
    the system never pages out, so that the device reads them by itself while the host goes on.
Who loads what
    The kernels are those of `network-implicit-gemm`, for a chunk.
What it saves
    The time of the copies, as far as kernels run at the same time; the timeline shows how far.
Limit
    A copy of 100 drawings (0.3 MB) takes some 10 us, its kernels many times that: little is left to save
    where the device computes much longer than the bus copies. A chunk of 100 leaves a large GPU half idle.

Source: ECE408 final report "CUCUDA", Optimizations, 3 "Streaming": pinned memory (cudaHostAlloc), chunks of
100 outputs, two alternating streams. There it ended with a segmentation fault, so that "the running time
should be reduced to around 2 seconds" was never measured.
"""
CHUNK = 100
"""Drawings of a chunk, as in the report."""


def plan(problem: ForwardPass, block: Block) -> tuple[Launch, ...]:
    """Return the launches of all chunks, one after another."""
    counts = [end - first for first, end in steps.chunks(problem.batch, CHUNK)]
    return tuple(step.launch(count, step.layer) for count in counts for step in STEPS)


def prepare(problem: ForwardPass, weights: Weights, block: Block) -> Prepared:
    """Return the chunks, made ready."""
    if interprets():
        return interpreted(STREAMS.passes(problem, weights, block))
    # The variants are listed without Numba.
    from engine.device.cuda_kernels import PreparedPasses
    from engine.variants.network.prepared import PreparedChunks

    def layers_of(count: int) -> PreparedPasses:
        return PreparedPasses(STREAMS.passes(replace(problem, batch=count), weights, block))

    return PreparedChunks(layers_of, steps.chunks(problem.batch, CHUNK))


STREAMS = stage(
    STEPS,
    key="network-streams",
    title="Streams, chunks of 100",
    idea="Chunks of 100 drawings from pinned memory on two streams that alternate: one copies while the "
    "other computes.",
    prepare=prepare,
    plan=plan,
    picture_loads=picture_loads,
    pinned_drawings=True,
    remark="Its kernel time includes the copies in, which run beside the kernels (the host's clock).",
)

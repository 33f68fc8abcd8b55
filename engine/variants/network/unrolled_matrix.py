"""`network-unrolled`: the matrix X is written to memory, and then multiplied. What the implicit one spares.

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

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import Between, DeviceKind, Launch, Operand, Pass
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import blocks_along
from engine.geometry.layout import FLOAT_BYTES
from engine.geometry.refusal import Refusal
from engine.image import budget
from engine.results.work import Work
from engine.tasks.network.problem import FILTER_CELLS, ForwardPass, Layer
from engine.tasks.network.variants import NetworkVariant
from engine.tasks.network.weights import Weights
from engine.tasks.network.work import LayerWork, network_work
from engine.variants.network import passes as one
from engine.variants.network.gemm_kernels import BLOCK, SIDE, gemm_launch, gemm_work, refuse_threads
from engine.variants.network.layer_kernels import (
    array_type,
    connected_work,
    map_launch,
    pool_work,
    refuse_batch,
    roundings_by_parts,
    value_launch,
)

THREADS = 256


def matrix_bytes(problem: ForwardPass, layer: Layer) -> int:
    """Return the bytes of X for a convolution of the whole batch."""
    outputs = layer.shape[1] * layer.shape[2]
    return problem.batch * outputs * (layer.multiply_adds // layer.values) * FLOAT_BYTES


def unroll_launch(batch: int, layer: Layer, channels: int) -> Launch:
    """Return the launch that unrolls: x outputs of the batch, y input maps."""
    outputs = batch * layer.shape[1] * layer.shape[2]
    return Launch((blocks_along(outputs, THREADS), channels, 1), (THREADS, 1, 1))


def plan(problem: ForwardPass, block: Block) -> tuple[Launch, ...]:
    """Return a launch for each layer, and one more before each convolution."""
    first, pool_1, second, pool_2, hidden, output = problem.layers
    batch = problem.batch
    return (
        unroll_launch(batch, first, 1),
        gemm_launch(batch, first),
        map_launch(batch, pool_1),
        unroll_launch(batch, second, problem.first),
        gemm_launch(batch, second),
        map_launch(batch, pool_2),
        value_launch(batch, hidden.values),
        value_launch(batch, output.values),
    )


def work(problem: ForwardPass, block: Block) -> Work:
    """Return the work of all layers: X is stored once, and loaded instead of the maps."""
    first, pool_1, second, pool_2, hidden, output = problem.layers
    batch = problem.batch
    cells = [matrix_bytes(problem, layer) // FLOAT_BYTES for layer in (first, second)]
    each = [LayerWork(loads=number, stores=number) for number in cells]
    each += [gemm_work(batch, layer) for layer in (first, second)]
    each += [pool_work(batch, layer) for layer in (pool_1, pool_2)]
    each += [connected_work(batch, layer) for layer in (hidden, output)]
    return network_work(problem, *each, picture_loads=cells[0])


def unsupported(problem: ForwardPass, weights: Weights, block: Block, limits: Limits) -> Refusal | None:
    """Return why the device or the grid does not allow it, or None."""
    return refuse_threads(limits) or refuse_batch(problem) or _refuse_memory(problem)


def _refuse_memory(problem: ForwardPass) -> Refusal | None:
    """Return why a batch's matrices and layers together would fill the memory, or None."""
    matrices = sum(matrix_bytes(problem, problem.layers[number]) for number in (0, 2))
    needed = problem.input_bytes + problem.map_bytes + matrices
    if needed <= budget.DEFAULT_MAX_BYTES:
        return None
    most = budget.DEFAULT_MAX_BYTES // (needed // problem.batch)
    return Refusal(
        "batch-too-large",
        f"The largest batch is {most:,}",
        f"With both unrolled matrices {problem.size_text} take {budget.bytes_text(needed)}, the limit is "
        f"{budget.bytes_text(budget.DEFAULT_MAX_BYTES)}: the largest batch is {most:,}.",
    )


@kernel_factory
def unroll_kernel():
    """Return the kernel that unrolls: maps -> X, (25 x channels, outputs); `side` is an output map's."""
    global cuda  # among a kernel's globals the simulator looks for it
    from engine.device.numba_cuda import cuda

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
    global cuda
    from engine.device.cuda_kernels import float32, jit_for
    from engine.device.numba_cuda import cuda

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


def passes(problem: ForwardPass, weights: Weights, block: Block) -> tuple[Pass, ...]:
    """Return every layer in order."""
    first, second = problem.layers[0], problem.layers[2]
    maps_1, maps_2 = (one.maps_after(problem, f"convolution-{number}") for number in (1, 2))
    return (
        *_convolution(problem, first, 1, Operand.IMAGE, one.matrix(weights.convolution_1), maps_1),
        one.pool_1(problem),
        *_convolution(
            problem,
            second,
            problem.first,
            one.maps_after(problem, "pool-1"),
            one.matrix(weights.convolution_2),
            maps_2,
        ),
        one.pool_2(problem),
        one.hidden(problem, weights),
        one.output(problem, weights),
    )


def _convolution(problem, layer, channels, source, filters, target) -> tuple[Pass, Pass]:
    from numba import types

    side = layer.shape[1]
    matrix = Between(f"X of {layer.key}", (FILTER_CELLS * channels, problem.batch * side * side))
    unrolling = (array_type(4), types.int64, array_type(2))
    product = (array_type(2), array_type(2), array_type(4))
    launch = unroll_launch(problem.batch, layer, channels)
    return (
        Pass(f"unroll for {layer.key}", unroll_kernel(), unrolling, launch, (source, side, matrix)),
        Pass(
            layer.key,
            product_kernel(),
            product,
            gemm_launch(problem.batch, layer),
            (matrix, filters, target),
        ),
    )


VARIANT = NetworkVariant(
    key="network-unrolled",
    title="Explicit unrolled matrix",
    device=DeviceKind.CUDA,
    idea="The unrolled maps are written to global memory and then multiplied: what the implicit product "
    "spares.",
    prepare=one.prepare_layers(passes),
    plan=plan,
    work=work,
    unsupported=unsupported,
    passes=passes,
    roundings=roundings_by_parts,
    remark="The matrix takes 57,600 bytes per drawing for the first convolution and 204,800 for the second: "
    "2.6 GB for 10,000 drawings, where the maps themselves take 31 MB and 184 MB.",
)

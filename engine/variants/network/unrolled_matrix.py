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

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import Between, Launch
from engine.geometry.block import Block, Limits, Refusal, blocks_along
from engine.geometry.layout import FLOAT_BYTES
from engine.image.form import DEFAULT_MAX_BYTES, bytes_text
from engine.tasks.network.operands import Weights
from engine.tasks.network.problem import FILTER_CELLS, FIRST, LAYERS, ForwardPass, Layer, LayerWork
from engine.variants.network.gemm_kernels import BLOCK, SIDE
from engine.variants.network.gemm_kernels import convolution as gemm_convolution
from engine.variants.network.passes import (
    CONNECTED,
    Step,
    filters_of,
    maps_after,
    maps_before,
    matrix,
    pool,
    stage,
)

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32, jit_for

THREADS = 256


def matrix_bytes(problem: ForwardPass, layer: Layer) -> int:
    """Return the bytes of X for a convolution of the whole batch."""
    outputs = layer.shape[1] * layer.shape[2]
    return problem.batch * outputs * (layer.multiply_adds // layer.values) * FLOAT_BYTES


def unroll_launch(problem: ForwardPass, number: int) -> Launch:
    """Return the launch that unrolls for convolution 1 or 2: x outputs of the batch, y input maps."""
    layer = LAYERS[2 * number - 2]
    outputs = problem.batch * layer.shape[1] * layer.shape[2]
    return Launch((blocks_along(outputs, THREADS), _channels(number), 1), (THREADS, 1, 1))


def _channels(number: int) -> int:
    return 1 if number == 1 else FIRST


def unsupported(problem: ForwardPass, weights: Weights, block: Block, limits: Limits) -> Refusal | None:
    """Return why a batch's matrices and layers together would fill the memory, or None."""
    matrices = sum(matrix_bytes(problem, LAYERS[number]) for number in (0, 2))
    needed = problem.input_bytes + problem.map_bytes + matrices
    if needed <= DEFAULT_MAX_BYTES:
        return None
    most = DEFAULT_MAX_BYTES // (needed // problem.batch)
    return Refusal(
        "batch-too-large",
        f"The largest batch is {most:,}",
        f"With both unrolled matrices {problem.size_text} take {bytes_text(needed)}, the limit is "
        f"{bytes_text(DEFAULT_MAX_BYTES)}: the largest batch is {most:,}.",
    )


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


def _matrix_of(problem: ForwardPass, number: int) -> Between:
    """Return the matrix X of convolution 1 or 2."""
    layer = LAYERS[2 * number - 2]
    rows = FILTER_CELLS * _channels(number)
    return Between(f"X of {layer.key}", (rows, problem.batch * layer.shape[1] * layer.shape[2]))


def _cells(problem: ForwardPass, number: int = 1) -> int:
    return matrix_bytes(problem, LAYERS[2 * number - 2]) // FLOAT_BYTES


def _convolution(number: int) -> tuple[Step, Step]:
    """Return the steps of convolution 1 or 2: X is stored once, and loaded instead of the maps."""
    at = 2 * number - 2

    def work(problem: ForwardPass) -> LayerWork:
        return LayerWork(loads=_cells(problem, number), stores=_cells(problem, number))

    unroll = Step(
        f"unroll for convolution-{number}",
        lambda problem: unroll_launch(problem, number),
        work,
        lambda problem: unroll_kernel(),
        lambda problem, weights: (
            maps_before(problem, number),
            LAYERS[at].shape[1],
            _matrix_of(problem, number),
        ),
    )
    product = gemm_convolution(number)._replace(
        kernel=lambda problem: product_kernel(),
        arguments=lambda problem, weights: (
            _matrix_of(problem, number),
            matrix(filters_of(weights, number)),
            maps_after(problem, f"convolution-{number}"),
        ),
    )
    return unroll, product


STEPS = (*_convolution(1), pool(1), *_convolution(2), pool(2), *CONNECTED)

VARIANT = stage(
    STEPS,
    key="network-unrolled",
    title="Explicit unrolled matrix",
    idea="The unrolled maps are written to global memory and then multiplied: what the implicit product "
    "spares.",
    unsupported=unsupported,
    picture_loads=_cells,
    remark="The matrix takes 57,600 bytes per drawing for the first convolution and 204,800 for the second: "
    "2.6 GB for 10,000 drawings, where the maps themselves take 31 MB and 184 MB.",
)

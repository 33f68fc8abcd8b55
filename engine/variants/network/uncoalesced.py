"""`network-uncoalesced`: `network-connected` in the report's own layout, the maps of a value side by side.

Idea
    Maps are (drawing, row, column, map) where all other stages have (drawing, map, row, column). Threads side
    by side still compute neighbouring columns of one map, so that they ask for values as far apart as there
    are maps: 32 floats, 128 bytes.
Who loads what
    As `network-connected`, element for element; but of each 32-byte sector that a warp asks for it uses 4
    bytes.
What it saves
    Nothing: it shows what coalescing gains, which the report thought possible and did not try (Reflection,
    4).
Limit
    Of the first convolution only the stores are apart, as a drawing has one channel.

Source: ECE408 final report "CUCUDA", Optimizations, 1: "Memory accesses were not coalesced because adjacent
threads in the thread block did not access adjacent elements in the memory".
"""

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import Between, DeviceKind, Launch, Operand, Pass
from engine.geometry.block import Block, Limits
from engine.geometry.refusal import Refusal
from engine.results.work import Work
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.variants import NetworkVariant
from engine.tasks.network.weights import Weights
from engine.variants.network import passes as one
from engine.variants.network.layer_kernels import (
    TILE,
    array_type,
    plan_of_layers,
    refuse_batch,
    roundings_by_parts,
    work_of_layers,
)


def plan(problem: ForwardPass, block: Block) -> tuple[Launch, ...]:
    """Return a launch for each layer."""
    return plan_of_layers(problem)


def work(problem: ForwardPass, block: Block) -> Work:
    """Return the work of all layers: that of `network-connected`."""
    return work_of_layers(problem)


def unsupported(problem: ForwardPass, weights: Weights, block: Block, limits: Limits) -> Refusal | None:
    """Return why the batch is too large for the grid, or None."""
    return refuse_batch(problem)


@kernel_factory
def convolution_kernel(of_drawings: bool):
    """Return the kernel of a convolution: maps, filters -> rectified results, the maps of a value together.

    The first convolution is `of_drawings`, (drawing, 1, row, column).
    """
    global cuda  # among a kernel's globals the simulator looks for it
    from engine.device.cuda_kernels import float32
    from engine.device.numba_cuda import cuda

    OF_DRAWINGS = of_drawings

    @cuda.jit
    def convolve_maps_together(maps, filters, results):
        drawing, own_map = cuda.blockIdx.x, cuda.blockIdx.y
        side = results.shape[1]
        across = (side + TILE - 1) // TILE
        tile_row = cuda.blockIdx.z // across
        row = tile_row * TILE + cuda.threadIdx.y
        column = (cuda.blockIdx.z - tile_row * across) * TILE + cuda.threadIdx.x
        if row >= side or column >= side:
            return
        total = float32(0.0)
        for channel in range(filters.shape[1]):
            partial = float32(0.0)
            for p in range(5):
                for q in range(5):
                    if OF_DRAWINGS:
                        value = maps[drawing, channel, row + p, column + q]
                    else:
                        value = maps[drawing, row + p, column + q, channel]
                    partial += value * filters[own_map, channel, p, q]
            total += partial
        # Rectified; NaN stays NaN, so that a value that nobody wrote is found.
        if total < float32(0.0):
            total = float32(0.0)
        results[drawing, row, column, own_map] = total

    return convolve_maps_together


@kernel_factory
def pool_kernel(linearises: bool):
    """Return the kernel of an average pool of 2 x 2, the maps of a value together; the second linearises."""
    global cuda
    from engine.device.cuda_kernels import float32
    from engine.device.numba_cuda import cuda

    LINEARISES = linearises

    @cuda.jit
    def pool_maps_together(maps, results):
        drawing, own_map = cuda.blockIdx.x, cuda.blockIdx.y
        side = maps.shape[1] // 2
        across = (side + TILE - 1) // TILE
        tile_row = cuda.blockIdx.z // across
        row = tile_row * TILE + cuda.threadIdx.y
        column = (cuda.blockIdx.z - tile_row * across) * TILE + cuda.threadIdx.x
        if row >= side or column >= side:
            return
        total = float32(0.0)
        for i in range(2):
            for j in range(2):
                total += maps[drawing, 2 * row + i, 2 * column + j, own_map]
        if LINEARISES:
            results[drawing, own_map, row, column] = total * float32(0.25)
        else:
            results[drawing, row, column, own_map] = total * float32(0.25)

    return pool_maps_together


def passes(problem: ForwardPass, weights: Weights, block: Block) -> tuple[Pass, ...]:
    """Return every layer in order."""
    launches = plan(problem, block)
    convolution_1, pool_1, convolution_2 = (
        Between(layer.key, (problem.batch, *layer.shape[1:], layer.shape[0])) for layer in problem.layers[:3]
    )
    # The linear vector, map after map as the hidden layer's weights are.
    pool_2 = one.maps_after(problem, "pool-2")
    convolved, pooled = (array_type(4),) * 3, (array_type(4),) * 2
    arguments_1 = (Operand.IMAGE, weights.convolution_1, convolution_1)
    arguments_2 = (pool_1, weights.convolution_2, convolution_2)
    return (
        Pass("convolution-1", convolution_kernel(True), convolved, launches[0], arguments_1),
        Pass("pool-1", pool_kernel(False), pooled, launches[1], (convolution_1, pool_1)),
        Pass("convolution-2", convolution_kernel(False), convolved, launches[2], arguments_2),
        Pass("pool-2", pool_kernel(True), pooled, launches[3], (convolution_2, pool_2)),
        one.hidden(problem, weights),
        one.output(problem, weights),
    )


VARIANT = NetworkVariant(
    key="network-uncoalesced",
    title="The report's layout, not coalesced",
    device=DeviceKind.CUDA,
    idea="As network-connected, but the maps of a value lie side by side, as in the report: neighbouring "
    "threads ask for values 32 apart. What coalescing gains.",
    prepare=one.prepare_layers(passes),
    plan=plan,
    work=work,
    unsupported=unsupported,
    passes=passes,
    roundings=roundings_by_parts,
)

"""`network-constant`: the first convolution's filters in constant memory; the second's do not fit.

Idea
    As `network-connected`, but the 3,200 bytes of the first filters lie in constant memory, which the host
    fills before the first launch, as cudaMemcpyToSymbol does. All threads of a warp compute outputs of one
    map, so they ask for the same weight at the same time: one read of the constant cache serves 32 threads.
Who loads what
    Each multiply-add of the first convolution loads a value from global memory and a weight from constant
    memory; the second convolution loads both from global memory.
What it saves
    Half of the first convolution's loads from global memory.
Limit
    Constant memory has 65,536 bytes. The second convolution's filters are 64 x 32 x 25 numbers of 4 bytes:
    204,800 bytes, three times as many. They stay in global memory.

Source: ECE408 final report "CUCUDA", Conclusion, 6 "Move filters into the constant memory. However, since we
were not sure whether the constant memory was large enough to fit all filters".
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import WEIGHTS, Launch, Operand
from engine.geometry.layout import FLOAT_BYTES
from engine.tasks.network.problem import FILTER_CELLS, FIRST, LAYERS, SECOND, ForwardPass, LayerWork
from engine.variants.network.layer_kernels import TILE, map_launch
from engine.variants.network.passes import CONNECTED, Step, convolution, maps_after, matrix, pool, stage

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.constant_memory import jit_with_constant
    from engine.device.numba_cuda import cuda, float32, types
    from engine.variants.emit.cuda_code import device_function

CONSTANT_BYTES = 65_536
"""Constant memory of every CUDA device."""


FILTER_BYTES = FIRST * FILTER_CELLS * FLOAT_BYTES, SECOND * FIRST * FILTER_CELLS * FLOAT_BYTES
"""Bytes of the filters of both convolutions: 3,200 and 204,800."""


@kernel_factory
def kernel():
    """Return the kernel of the first convolution; its filters are in constant memory."""
    COUNT = FIRST * FILTER_CELLS

    def load(code, filters, at):
        return (code.weights(filters, COUNT, FILTER_CELLS) + at).load()

    weight_at = device_function(types.float32, load)

    @jit_with_constant(WEIGHTS, COUNT)
    def convolve_constant(maps, filters, results):
        drawing, own_map = cuda.blockIdx.x, cuda.blockIdx.y
        side = results.shape[2]
        across = (side + TILE - 1) // TILE
        tile_row = cuda.blockIdx.z // across
        row = tile_row * TILE + cuda.threadIdx.y
        column = (cuda.blockIdx.z - tile_row * across) * TILE + cuda.threadIdx.x
        if row >= side or column >= side:
            return
        total = float32(0.0)
        for p in range(5):
            for q in range(5):
                weight = weight_at(filters, own_map * 25 + p * 5 + q)
                total += maps[drawing, 0, row + p, column + q] * weight
        if total < float32(0.0):
            total = float32(0.0)
        results[drawing, own_map, row, column] = total

    return convolve_constant


def _launch(problem: ForwardPass) -> Launch:
    launch = map_launch(problem.batch, LAYERS[0])
    return Launch(launch.grid, launch.block, constant_bytes=FILTER_BYTES[0])


def _work(problem: ForwardPass) -> LayerWork:
    first, adds = LAYERS[0], problem.batch * LAYERS[0].multiply_adds
    return LayerWork(adds, adds, problem.batch * first.values, constant_loads=adds)


IN_CONSTANT = Step(
    "convolution-1",
    _launch,
    _work,
    lambda problem: kernel(),
    lambda problem, weights: (
        Operand.IMAGE,
        matrix(weights.convolution_1),
        maps_after(problem, "convolution-1"),
    ),
    lambda weights: (WEIGHTS, weights.convolution_1.reshape(-1)),
)
STEPS = (IN_CONSTANT, pool(1), convolution(2), pool(2), *CONNECTED)

VARIANT = stage(
    STEPS,
    key="network-constant",
    title="Filters in constant memory",
    idea="The first convolution's filters lie in constant memory: one read serves the 32 threads of a warp.",
    remark="The second convolution's filters take 204,800 bytes (64 × 32 × 25 numbers of 4 bytes); constant "
    f"memory has {CONSTANT_BYTES:,}. They stay in global memory.",
)

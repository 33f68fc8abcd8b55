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

from typing import TYPE_CHECKING, Any

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import Between
from engine.tasks.network.operands import Weights
from engine.tasks.network.problem import LAYERS, ForwardPass
from engine.variants.network import passes as one
from engine.variants.network.layer_kernels import TILE
from engine.variants.network.passes import CONNECTED, Step, stage

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32


@kernel_factory
def convolution_kernel(of_drawings: bool):
    """Return the kernel of a convolution: maps, filters -> rectified results, the maps of a value together.

    The first convolution is `of_drawings`, (drawing, 1, row, column).
    """
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


def _maps_after(problem: ForwardPass, at: int) -> Between:
    """Return the array of a layer's values, the maps of a value together."""
    layer = LAYERS[at]
    return Between(layer.key, (problem.batch, *layer.shape[1:], layer.shape[0]))


def _convolution(number: int) -> Step:
    def arguments(problem: ForwardPass, weights: Weights) -> tuple[Any, ...]:
        before = one.maps_before(problem, 1) if number == 1 else _maps_after(problem, 1)
        return before, one.filters_of(weights, number), _maps_after(problem, 2 * number - 2)

    step = one.convolution(number)
    return step._replace(kernel=lambda problem: convolution_kernel(number == 1), arguments=arguments)


def _pool(number: int) -> Step:
    def arguments(problem: ForwardPass, weights: Weights) -> tuple[Any, ...]:
        at = 2 * number - 1
        # The linear vector, map after map as the hidden layer's weights are.
        after = _maps_after(problem, at) if number == 1 else one.maps_after(problem, "pool-2")
        return _maps_after(problem, at - 1), after

    step = one.pool(number)
    return step._replace(kernel=lambda problem: pool_kernel(number == 2), arguments=arguments)


STEPS = (_convolution(1), _pool(1), _convolution(2), _pool(2), *CONNECTED)


VARIANT = stage(
    STEPS,
    key="network-uncoalesced",
    title="The report's layout, not coalesced",
    idea="As network-connected, but the maps of a value lie side by side, as in the report: neighbouring "
    "threads ask for values 32 apart. What coalescing gains.",
)

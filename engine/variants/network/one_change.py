"""The stages that are `network-connected` but for one change, to see what it gains or costs."""

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, float32, jit_with_constant, types
from engine.device.launches import WEIGHTS, Operand
from engine.geometry.block import FLOAT_BYTES
from engine.tasks.network.problem import FILTER_CELLS, FIRST, LAYERS, LINEAR, SECOND, Layer, LayerWork
from engine.variants.emit.cuda_code import device_function
from engine.variants.network import steps
from engine.variants.network.steps import (
    AFTER,
    TILE,
    NetworkLaunch,
    convolution,
    pool,
    stage,
    values,
    weights_of,
)

LINEARISED_STORY = """
`network-linearised`: `network-connected` with the linearisation as a kernel of its own.

Idea
    The second pool stores maps, and another launch copies them into the linear vector, a thread per value:
    map after map, row after row.
Who loads what
    Each thread of that launch loads one average and stores it. All other layers are those of
    `network-connected`.
What it saves
    Nothing: it shows what the report saved when it put the linearisation into another kernel's store, a
    launch and 8 KB of loads and stores per drawing. *Time by layer* of the page Network has it as a part.
Limit
    Here the maps already lie in the vector's order, so that the launch moves every value to the same offset.

Source: ECE408 final report "CUCUDA", Optimizations, 2: "To compute linearize, we assigned each thread to a
single output element", and Conclusion, 4: "so that a kernel launch was saved".
"""


@kernel_factory
def linearise_kernel():
    """Return the kernel of the linearisation: maps -> vectors."""

    @cuda.jit
    def linearise(maps, results):
        output, drawing = cuda.grid(2)
        if output >= results.shape[1] or drawing >= results.shape[0]:
            return
        side = maps.shape[2]
        own_map = output // (side * side)
        offset = output - own_map * (side * side)
        row = offset // side
        results[drawing, output] = maps[drawing, own_map, row, offset - row * side]

    return linearise


VECTORS = values("linear", LINEAR)
LINEARISATION = NetworkLaunch(
    LAYERS[3],
    steps.value_launch,
    # A load and a store of each value of the linear vector.
    lambda batch, layer: LayerWork(loads=batch * LINEAR, stores=batch * LINEAR),
    linearise_kernel,
    (AFTER["pool-2"], VECTORS),
    "linearisation",
)


LINEARISED = stage(
    (convolution(1), pool(1), convolution(2), pool(2), LINEARISATION, steps.hidden(VECTORS), steps.OUTPUT),
    key="network-linearised",
    title="Linearisation by itself",
    idea="As network-connected, but the linearisation is a launch of its own, as it was at first in the "
    "report: what that launch costs.",
)


UNCOALESCED_STORY = """
`network-uncoalesced`: `network-connected` in the report's own layout, the maps of a value side by side.

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


@kernel_factory
def maps_together_kernel(of_drawings: bool):
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
        # Rectified; NaN stays NaN, so that a value that was never written is found.
        if total < float32(0.0):
            total = float32(0.0)
        results[drawing, row, column, own_map] = total

    return convolve_maps_together


@kernel_factory
def pool_together_kernel(linearises: bool):
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


def _together(at: int) -> steps.Argument:
    """Return the array of a layer's values, the maps of a value together."""
    layer = LAYERS[at]
    return values(layer.key, *layer.shape[1:], layer.shape[0])


def _convolution_together(number: int) -> NetworkLaunch:
    before = Operand.IMAGE if number == 1 else _together(1)
    return convolution(number)._replace(
        kernel=lambda: maps_together_kernel(number == 1),
        arguments=(before, weights_of(f"convolution_{number}"), _together(2 * number - 2)),
    )


def _pool_together(number: int) -> NetworkLaunch:
    # The linear vector, map after map as the hidden layer's weights are.
    after = _together(1) if number == 1 else AFTER["pool-2"]
    return pool(number)._replace(
        kernel=lambda: pool_together_kernel(number == 2), arguments=(_together(2 * number - 2), after)
    )


UNCOALESCED = stage(
    (
        _convolution_together(1),
        _pool_together(1),
        _convolution_together(2),
        _pool_together(2),
        *steps.CONNECTED_LAYERS,
    ),
    key="network-uncoalesced",
    title="The report's layout, not coalesced",
    idea="As network-connected, but the maps of a value lie side by side, as in the report: neighbouring "
    "threads ask for values 32 apart. What coalescing gains.",
)


CONSTANT_STORY = """
`network-constant`: the first convolution's filters in constant memory; the second's do not fit.

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
CONSTANT_BYTES = 65_536
"""Constant memory of every CUDA device."""


FILTER_BYTES = FIRST * FILTER_CELLS * FLOAT_BYTES, SECOND * FIRST * FILTER_CELLS * FLOAT_BYTES
"""Bytes of the filters of both convolutions: 3,200 and 204,800."""


@kernel_factory
def constant_kernel():
    """Return the kernel of the first convolution; its filters are in constant memory."""
    COUNT = FIRST * FILTER_CELLS

    def load(code, filters, at):
        return (code.weights(COUNT) + at).load()

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


def _constant_work(batch: int, layer: Layer) -> LayerWork:
    adds = batch * layer.multiply_adds
    return LayerWork(adds, adds, batch * layer.values, constant_loads=adds)


IN_CONSTANT = NetworkLaunch(
    LAYERS[0],
    lambda batch, layer: steps.map_launch(batch, layer)._replace(constant_bytes=FILTER_BYTES[0]),
    _constant_work,
    constant_kernel,
    (Operand.IMAGE, weights_of("convolution_1", steps.matrix), AFTER["convolution-1"]),
    constant=lambda weights: (WEIGHTS, weights.convolution_1.reshape(-1)),
)


CONSTANT = stage(
    (IN_CONSTANT, pool(1), convolution(2), pool(2), *steps.CONNECTED_LAYERS),
    key="network-constant",
    title="Filters in constant memory",
    idea="The first convolution's filters lie in constant memory: one read serves the 32 threads of a warp.",
    remark="The second convolution's filters take 204,800 bytes (64 × 32 × 25 numbers of 4 bytes); constant "
    f"memory has {CONSTANT_BYTES:,}. They stay in global memory.",
)

"""The steps that stages are made of: the report's kernels of a layer each, their arrays, their work.

A thread per output, in blocks of 16 x 16. Maps are (drawing, map, row, column). Neighbouring threads compute
neighbouring columns of one map, so they ask for neighbouring values and for one and the same weight. In the
report a value's maps lie together (column, map), so that neighbouring threads ask for values 32 apart: it
says itself that its accesses do not coalesce.

The linearisation has no kernel (but in `network-linearised`): a pool stores each average where the linear
vector has it, map after map, row after row.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, float32
from engine.device.launches import Between, Kernel, Launch, Operand, Pass
from engine.geometry.block import Block, blocks_along
from engine.results.problem import Work
from engine.tasks.network import problem as network
from engine.tasks.network.operands import Floats, Weights
from engine.tasks.network.problem import LAYERS, ForwardPass, Layer, LayerWork
from engine.tasks.network.task import NetworkVariant
from engine.variants.passes import Types, by_passes, made_pass

TILE = 16


def map_launch(batch: int, layer: Layer) -> Launch:
    """Return the launch of a thread per value of a layer of maps: x drawings, y maps, z tiles of a map."""
    maps, rows, columns = layer.shape
    tiles = blocks_along(rows, TILE) * blocks_along(columns, TILE)
    return Launch((batch, maps, tiles), (TILE, TILE, 1))


def value_launch(batch: int, layer: Layer) -> Launch:
    """Return the launch of a thread per value of a connected layer: x values, y drawings."""
    return Launch((blocks_along(layer.values, TILE), blocks_along(batch, TILE), 1), (TILE, TILE, 1))


def output_work(batch: int, layer: Layer) -> LayerWork:
    """Return the work of a thread per output or connected value: a value and a weight each multiply-add."""
    adds = batch * layer.multiply_adds
    return LayerWork(adds, 2 * adds, batch * layer.values)


@kernel_factory
def convolution_kernel():
    """Return the kernel of a convolution: maps, filters -> rectified results."""

    @cuda.jit
    def convolve(maps, filters, results):
        drawing, own_map = cuda.blockIdx.x, cuda.blockIdx.y
        side = results.shape[2]
        across = (side + TILE - 1) // TILE
        tile_row = cuda.blockIdx.z // across
        row = tile_row * TILE + cuda.threadIdx.y
        column = (cuda.blockIdx.z - tile_row * across) * TILE + cuda.threadIdx.x
        if row >= side or column >= side:
            return
        total = float32(0.0)
        for channel in range(maps.shape[1]):
            partial = float32(0.0)
            for p in range(5):
                for q in range(5):
                    partial += maps[drawing, channel, row + p, column + q] * filters[own_map, channel, p, q]
            total += partial
        # Rectified; NaN stays NaN, so that a value that was never written is found.
        if total < float32(0.0):
            total = float32(0.0)
        results[drawing, own_map, row, column] = total

    return convolve


@kernel_factory
def pool_kernel():
    """Return the kernel of an average pool of 2 x 2: maps -> results."""

    @cuda.jit
    def average_pool(maps, results):
        drawing, own_map = cuda.blockIdx.x, cuda.blockIdx.y
        side = results.shape[2]
        across = (side + TILE - 1) // TILE
        tile_row = cuda.blockIdx.z // across
        row = tile_row * TILE + cuda.threadIdx.y
        column = (cuda.blockIdx.z - tile_row * across) * TILE + cuda.threadIdx.x
        if row >= side or column >= side:
            return
        total = float32(0.0)
        for i in range(2):
            for j in range(2):
                total += maps[drawing, own_map, 2 * row + i, 2 * column + j]
        results[drawing, own_map, row, column] = total * float32(0.25)

    return average_pool


@kernel_factory
def fused_kernel():
    """Return the kernel of a convolution with its average pool: maps, filters -> averages."""

    @cuda.jit
    def convolve_and_pool(maps, filters, results):
        drawing, own_map = cuda.blockIdx.x, cuda.blockIdx.y
        side = results.shape[2]
        across = (side + TILE - 1) // TILE
        tile_row = cuda.blockIdx.z // across
        row = tile_row * TILE + cuda.threadIdx.y
        column = (cuda.blockIdx.z - tile_row * across) * TILE + cuda.threadIdx.x
        if row >= side or column >= side:
            return
        total_of_four = float32(0.0)
        for i in range(2):
            for j in range(2):
                total = float32(0.0)
                for channel in range(maps.shape[1]):
                    partial = float32(0.0)
                    for p in range(5):
                        for q in range(5):
                            value = maps[drawing, channel, 2 * row + i + p, 2 * column + j + q]
                            partial += value * filters[own_map, channel, p, q]
                    total += partial
                if total < float32(0.0):
                    total = float32(0.0)
                total_of_four += total
        results[drawing, own_map, row, column] = total_of_four * float32(0.25)

    return convolve_and_pool


@kernel_factory
def connected_kernel(rectifies: bool):
    """Return the kernel of a connected layer: values, weights -> results, rectified if it `rectifies`."""
    RECTIFIES = rectifies

    @cuda.jit
    def connect(values, weights, results):
        output, drawing = cuda.grid(2)
        if output >= results.shape[1] or drawing >= results.shape[0]:
            return
        total = float32(0.0)
        first = 0
        while first < values.shape[1]:
            partial = float32(0.0)
            for k in range(first, min(first + TILE, values.shape[1])):
                partial += values[drawing, k] * weights[k, output]
            total += partial
            first += TILE
        if RECTIFIES and total < float32(0.0):
            total = float32(0.0)
        results[drawing, output] = total

    return connect


def roundings_by_parts(terms: int) -> int:
    """Return the roundings of a product where sums are formed of parts: 25 cells of a map, or 16 values.

    A part of a convolution is a map's cells, that of a connected layer 16 values.
    """
    # A connected layer may have a multiple of 25 values before it, too.
    parts = (network.FILTER_CELLS, TILE) if terms % network.FILTER_CELLS == 0 else (TILE,)
    return max(min(part, terms) + blocks_along(terms, part) for part in parts)


Argument = Callable[[ForwardPass, Weights], Any]


class NetworkLaunch(NamedTuple):
    """A launch of a stage: its layer, how large it is for a batch of that, its work, its kernel.

    An argument that depends on the batch or on the weights is a function of both. Where the kernel has
    constant memory, `constant` gives its name and what is copied there.
    """

    layer: Layer
    launch: Callable[[int, Layer], Launch]
    work: Callable[[int, Layer], LayerWork]
    kernel: Callable[[], Kernel]
    arguments: tuple[Argument | Operand | int, ...]
    name: str = ""  # where it is not the layer's key
    constant: Callable[[Weights], tuple[str, Floats] | None] = lambda weights: None

    def made(self, problem: ForwardPass, weights: Weights) -> Pass:
        """Return the pass."""
        types: Types = {Operand.IMAGE: ("float32", 4), Operand.OUT: ("float32", 2)}
        arguments = tuple(one(problem, weights) if callable(one) else one for one in self.arguments)
        launch, name = self.launch(problem.batch, self.layer), self.name or self.layer.key
        return made_pass(self.kernel(), launch, arguments, types, self.constant(weights), name)


def values(key: str, *shape: int) -> Argument:
    """Return the array of values of that shape for each drawing of the batch."""
    return lambda problem, weights: Between(key, (problem.batch, *shape))


AFTER = {layer.key: values(layer.key, *layer.shape) for layer in LAYERS}
"""The values of each layer: (batch, maps, rows, columns), or (batch, values)."""
BEFORE: dict[int, Argument | Operand] = {1: Operand.IMAGE, 2: AFTER["pool-1"]}
"""The maps that convolutions 1 and 2 take."""
LINEARISED = values("pool-2", network.LINEAR)
"""The averages of the second pool as a vector for each drawing."""


def weights_of(layer: str, form: Callable[[Floats], Floats] = lambda own: own) -> Argument:
    """Return the weights of a layer: of "convolution_1" or "convolution_2" the filters, in another form."""
    return lambda problem, weights: form(getattr(weights, layer))


def convolution(number: int) -> NetworkLaunch:
    """Return convolution 1 or 2, a thread per output."""
    layer = LAYERS[2 * number - 2]
    arguments = BEFORE[number], weights_of(f"convolution_{number}"), AFTER[layer.key]
    return NetworkLaunch(layer, map_launch, output_work, convolution_kernel, arguments)


def pool(number: int) -> NetworkLaunch:
    """Return average pool 1 or 2, a thread per average; the second is also the linearisation."""
    before, layer = LAYERS[2 * number - 2 : 2 * number]

    def work(batch: int, layer: Layer) -> LayerWork:
        # Four loads and a store for each average.
        return LayerWork(4 * batch * layer.values, 4 * batch * layer.values, batch * layer.values)

    return NetworkLaunch(layer, map_launch, work, pool_kernel, (AFTER[before.key], AFTER[layer.key]))


def fused(number: int) -> NetworkLaunch:
    """Return convolution 1 or 2 with its pool, a thread per average: the four outputs are never stored."""
    layer, after = LAYERS[2 * number - 2 : 2 * number]

    def work(batch: int, after: Layer) -> LayerWork:
        adds = batch * layer.multiply_adds
        return LayerWork(adds, 2 * adds, batch * after.values)

    arguments = BEFORE[number], weights_of(f"convolution_{number}"), AFTER[after.key]
    return NetworkLaunch(after, map_launch, work, fused_kernel, arguments, f"{layer.key} + {after.key}")


def hidden(takes: Argument = LINEARISED) -> NetworkLaunch:
    """Return the hidden layer, a thread per value."""
    arguments = takes, weights_of("hidden"), AFTER["hidden"]
    return NetworkLaunch(LAYERS[4], value_launch, output_work, lambda: connected_kernel(True), arguments)


_SCORES = AFTER["hidden"], weights_of("output"), Operand.OUT
OUTPUT = NetworkLaunch(LAYERS[5], value_launch, output_work, lambda: connected_kernel(False), _SCORES)
"""The output layer, a thread per score."""
CONNECTED_LAYERS = (hidden(), OUTPUT)
"""The connected layers."""


def stage(
    steps: Sequence[NetworkLaunch],
    *,
    picture_loads: Callable[[ForwardPass], int] = lambda problem: problem.batch * LAYERS[0].multiply_adds,
    **traits: Any,
) -> NetworkVariant:
    """Return the stage that consists of these steps; what `traits` says is in the place of what they give.

    `picture_loads` is how often the first convolution loads from the drawings, by default for each
    multiply-add.
    """

    def passes(problem: ForwardPass, weights: Weights, block: Block) -> tuple[Pass, ...]:
        return tuple(step.made(problem, weights) for step in steps)

    def work(problem: ForwardPass, block: Block) -> Work:
        works = (step.work(problem.batch, step.layer) for step in steps)
        return network.network_work(problem, *works, picture_loads=picture_loads(problem))

    defaults: dict[str, Any] = {
        **by_passes(passes),
        "plan": lambda problem, block: tuple(step.launch(problem.batch, step.layer) for step in steps),
        "work": work,
        "roundings": roundings_by_parts,
    }
    return NetworkVariant(**{**defaults, **traits})


def chunks(batch: int, size: int) -> list[tuple[int, int]]:
    """Return the chunks of a batch as (first, past the last)."""
    return [(n * size, min(batch, (n + 1) * size)) for n in range(blocks_along(batch, size))]


def matrix(weights: np.ndarray) -> np.ndarray:
    """Return filters (m, c, 5, 5) as the matrix W of (m, c x 25)."""
    return np.ascontiguousarray(weights.reshape(len(weights), -1))

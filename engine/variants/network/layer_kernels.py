"""The report's kernels of one layer each, a thread per output, in blocks of 16 x 16; their models of work.

Maps are (drawing, map, row, column). Neighbouring threads compute neighbouring columns of one map, so they
ask for neighbouring values and for one and the same weight. In the report a value's maps lie together
(column, map), so that neighbouring threads ask for values 32 apart: it says itself that its accesses do not
coalesce.

The linearisation has no kernel (but in `network-linearised`): a pool stores each average where the linear
vector has it, map after map, row after row.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import Launch
from engine.geometry.block import Block, blocks_along
from engine.tasks.network.problem import FILTER_CELLS, Layer, LayerWork

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32

TILE = 16
BLOCK = Block(TILE, TILE)


def map_launch(batch: int, layer: Layer) -> Launch:
    """Return the launch of a thread per value of a layer of maps: x drawings, y maps, z tiles of a map."""
    maps, rows, columns = layer.shape
    tiles = blocks_along(rows, TILE) * blocks_along(columns, TILE)
    return Launch((batch, maps, tiles), (TILE, TILE, 1))


def value_launch(batch: int, values: int) -> Launch:
    """Return the launch of a thread per value of a connected layer: x values, y drawings."""
    return Launch((blocks_along(values, TILE), blocks_along(batch, TILE), 1), (TILE, TILE, 1))


def convolution_work(batch: int, layer: Layer) -> LayerWork:
    """Return the work of a thread per output: a value and a weight for each multiply-add."""
    adds = batch * layer.multiply_adds
    return LayerWork(adds, 2 * adds, batch * layer.values)


def pool_work(batch: int, layer: Layer) -> LayerWork:
    """Return the work of a thread per average: four loads, one store."""
    sums = 4 * batch * layer.values
    return LayerWork(sums, sums, batch * layer.values)


connected_work = convolution_work
"""The work of a thread per connected value is the same: a value and a weight for each multiply-add."""


def fused_work(batch: int, layer: Layer, pool: Layer) -> LayerWork:
    """Return the work of a thread per average that computes its four outputs: those are never stored."""
    adds = batch * layer.multiply_adds
    return LayerWork(adds, 2 * adds, batch * pool.values)


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
        # Rectified; NaN stays NaN, so that a value that nobody wrote is found.
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
    parts = (FILTER_CELLS, TILE) if terms % FILTER_CELLS == 0 else (TILE,)
    return max(min(part, terms) + blocks_along(terms, part) for part in parts)

"""Convolution as a product of matrices, Y = W X, in blocks of 25 x 25, and the layers around it.

Row m of W is map m's filters, one after another; column p of X has the cells that they cover at output p,
counted drawing after drawing over the whole batch. A phase is an input map: 25 columns of W, 25 rows of X.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import Launch
from engine.geometry.block import Block, blocks_along
from engine.tasks.network.problem import FILTER_CELLS, FIRST, LAYERS, ForwardPass, Layer, LayerWork
from engine.variants.network.passes import (
    CONNECTED,
    Step,
    filters_of,
    maps_after,
    maps_before,
    matrix,
    pool,
)

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32, jit_for

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
def kernel():
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


def convolution(number: int) -> Step:
    """Return convolution 1 or 2 as a product of matrices."""
    key, at = f"convolution-{number}", 2 * number - 2
    return Step(
        key,
        lambda problem: gemm_launch(problem.batch, LAYERS[at]),
        lambda problem: gemm_work(problem.batch, LAYERS[at]),
        lambda problem: kernel(),
        lambda problem, weights: (
            maps_before(problem, number),
            matrix(filters_of(weights, number)),
            maps_after(problem, key),
        ),
    )


def picture_loads(problem: ForwardPass) -> int:
    """Return how often cells of the drawings are loaded: once for each block of maps."""
    first = LAYERS[0]
    blocks = gemm_launch(problem.batch, first).grid[1]
    return blocks * problem.batch * first.multiply_adds // FIRST


STEPS = (convolution(1), pool(1), convolution(2), pool(2), *CONNECTED)

"""The kernel of `register-blocked` for 8-bit pictures and results: its tile stays bytes in shared memory.

The kernel for other types converts integers on their way into a float32 tile, so it has to wait for them, and
reads four bytes of shared memory per sample. Here 16 samples at a time are copied without waiting, a thread
reads four samples with each word and converts each for all its results. What is added up, and in which order,
is the same.

Which problems get it, `byte_tile_shape` says; `register_blocked.py` asks it. No variant of its own.
"""

from functools import lru_cache

from numba import types

from engine.device.constant_memory import jit_with_constant
from engine.device.kernel_cache import kept_on_disk
from engine.device.numba_cuda import cuda
from engine.geometry.border import Border
from engine.tasks.filtering.problem import Problem
from engine.variants.ir.cuda_code import WEIGHTS
from engine.variants.ir.device_function import SHARED_ALIGNMENT, waiter
from engine.variants.register_blocked.byte_accumulator import byte_accumulator
from engine.variants.register_blocked.byte_loader import byte_tile_loader
from engine.variants.register_blocked.byte_tile_shape import ByteTileShape
from engine.variants.register_blocked.result_storer import result_storer

uint8 = types.uint8

WARPS = 4
# By channels: for masks of up to so many rows and columns, the words of results in a row of a thread, and its
# rows: the fastest of what was tried (H200). Each row shares the input rows of the others, but all code has
# to stay in the instruction cache; larger masks, and pixels of two samples, take the kernel for all types.
SHAPES = {
    1: ((3, 2, 8), (5, 2, 6), (7, 2, 4)),
    3: ((3, 4, 4), (5, 2, 8)),
    4: ((5, 4, 4),),
}


def byte_tile_shape(problem: Problem) -> ByteTileShape | None:
    """Return the shape of a block's work, or None where the kernel for all types is to be used."""
    if (problem.dtype, problem.result_dtype) != ("uint8", "uint8"):
        return None
    ghost = problem.ghost_value
    if not (0 <= ghost <= 255 and float(ghost).is_integer()):
        return None
    left = problem.anchor[1] * problem.channels
    for most_cells, vectors, rows in SHAPES.get(problem.channels, ()):
        if max(problem.mask_shape) <= most_cells:
            return ByteTileShape(*problem.mask_shape, problem.channels, left, vectors, rows, WARPS)
    return None


# What the compiler must know: few of them are in use at a time.
@lru_cache(maxsize=64)
@kept_on_disk
def kernel(border: Border, shape: ByteTileShape):
    """Return the kernel for a border and a shape of a block's work."""
    load, wait = byte_tile_loader(shape, border.rule), waiter(pending=0)
    accumulate, store = byte_accumulator(shape), result_storer(shape.rows, shape.across, 1)
    CHANNELS, BEFORE = shape.channels, shape.before
    ROWS, ACROSS, OUT_ROWS, OUT_SAMPLES = shape.rows, shape.across, shape.out_rows, shape.out_samples
    TILE_SAMPLES, TILE_BYTES = shape.tile_samples, shape.shared_bytes

    @jit_with_constant(WEIGHTS, shape.weights)
    def correlate_byte_tiles(image, weights, width, anchor_row, anchor_column, ghost_value, offset, out):
        tile = cuda.shared.array(TILE_BYTES, uint8, SHARED_ALIGNMENT)
        lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
        samples = width * CHANNELS
        top = cuda.blockIdx.y * OUT_ROWS - anchor_row
        left = cuda.blockIdx.x * OUT_SAMPLES - BEFORE
        load(tile, image, samples, top, lane, warp, left, ghost_value)
        wait()
        # Nobody may read a cell before whoever copies it has it there.
        cuda.syncthreads()
        row = warp * ROWS
        results = accumulate(tile, row * TILE_SAMPLES, lane, weights, offset)
        sample = cuda.blockIdx.x * OUT_SAMPLES + lane * ACROSS
        store(out, cuda.blockIdx.y * OUT_ROWS + row, sample, samples, results)

    return correlate_byte_tiles

"""`dct-tiled`: 8 x 8 pixels in shared memory from the transform to the way back, sums of 8 instead of 64.

Idea
    A block of threads has whole blocks of 8 x 8 pixels, a thread per sample. The transform is done along rows
    and then along columns (two sums of 8 products), and the way back along columns and then along rows, with
    a barrier between each two. The coefficients never leave the multiprocessor but to be the result.
Who loads what
    Each thread loads its sample and its step of quantisation; the first 64 threads load the cosines. All else
    is in shared memory: two values per thread, and the cosines.
What it saves
    Against `dct-direct`: one load of the picture per sample instead of 64, 32 multiply-adds instead of 144,
    one launch instead of two.
Limit
    Each multiply-add reads two values from shared memory; threads of a warp that read down a column of
    cosines share a bank.

Source: COSC 407, "CUDA Memories and Performance Revisited", image compression and tiling; Obukhov, Kharlamov,
"Discrete Cosine Transform for 8x8 Blocks with CUDA" (NVIDIA, 2008).
"""

from dataclasses import replace
from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import MAX_GRID_Y, blocks_along, nearest_legal
from engine.geometry.layout import FLOAT_BYTES
from engine.geometry.refusal import Refusal
from engine.results.work import Work
from engine.variants.operations.dct_tables import (
    WHOLE,
    coefficients,
    dct_arguments,
    samples_of,
)
from engine.variants.operations.grid import Step, cuda_variant, refuse_launch
from engine.work.operations.compress import SIDE
from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32, jit_for


def shared_bytes(problem: OperationProblem, block: Block) -> int:
    """Return the bytes of two values for each thread, and of the cosines."""
    return (2 * block.threads + SIDE * SIDE) * FLOAT_BYTES


def unsupported(
    problem: OperationProblem, constant: Patch | None, block: Block, limits: Limits
) -> Refusal | None:
    """Return why the block is illegal, or no multiple of 8 x 8; or None."""
    refusal = refuse_launch(
        coefficients(problem)[0], block, limits, lambda candidate: shared_bytes(problem, candidate)
    )
    if refusal is None and block.x % SIDE == 0 and block.y % SIDE == 0:
        return None
    short = f"A block of {block} has no whole 8 × 8 pixels"
    own = Refusal("block-no-multiple", short, f"{short}; its sides must be multiples of 8.")
    return (refusal or own).nearest(_nearest(problem, block, limits))


def _nearest(problem: OperationProblem, block: Block, limits: Limits) -> Block | None:
    """Return the nearest legal block of whole 8 x 8 pixels: the nearest legal one, counted in these."""
    in_cells = replace(
        limits,
        max_threads=limits.max_threads // SIDE**2,
        max_block_x=limits.max_block_x // SIDE,
        max_block_y=limits.max_block_y // SIDE,
    )
    wanted = Block(round(block.x / SIDE), round(block.y / SIDE))
    least = Block(1, blocks_along(coefficients(problem)[0], MAX_GRID_Y * SIDE))
    found = nearest_legal(wanted, in_cells, lambda cells: shared_bytes(problem, _in_pixels(cells)), least)
    return None if found is None else _in_pixels(found)


def _in_pixels(cells: Block) -> Block:
    return Block(cells.x * SIDE, cells.y * SIDE)


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work, of all threads, those past the picture's whole blocks of 8 x 8 too.

    A thread stores its sample, and three values between the sums, in shared memory; each of its four sums
    reads 8 values and 8 cosines there.
    """
    launch = STEP.launch(problem, block)
    threads = launch.blocks * block.threads
    samples = samples_of(problem)
    return operation_work(
        problem,
        picture_loads=threads,
        other_loads=threads + launch.blocks * SIDE * SIDE,
        shared_stores=4 * threads + launch.blocks * SIDE * SIDE,
        shared_loads=4 * 16 * threads,
        flops=4 * 16 * samples,
    )


@kernel_factory
def kernel(block: Block):
    """Return the kernel for a block; any type of samples."""
    BLOCK_X, BLOCK_Y, whole = block.x, block.y, WHOLE

    @jit_for(block.threads)
    def dct_tiled(image, cosines, steps, middle, width, columns, out):
        a = cuda.shared.array((BLOCK_Y, BLOCK_X), float32)
        b = cuda.shared.array((BLOCK_Y, BLOCK_X), float32)
        table = cuda.shared.array((8, 8), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        half = out.shape[0] // 2
        # Place in the 8 x 8 pixels, and where they begin in the block of threads.
        i, j = ty % 8, tx % 8
        top, left = ty - i, tx - j
        thread = ty * BLOCK_X + tx
        if thread < 64:
            table[thread // 8, thread % 8] = cosines[thread // 8, thread % 8]
        sample = image[min(row, image.shape[0] - 1), min(column, width - 1), channel]
        a[ty, tx] = float32(sample) - middle
        step = steps[i, j]
        cuda.syncthreads()

        # Along rows, then along columns: coefficient (i, j).
        total = float32(0.0)
        for k in range(8):
            total += a[ty, left + k] * table[j, k]
        b[ty, tx] = total
        cuda.syncthreads()
        total = float32(0.0)
        for k in range(8):
            total += b[top + k, tx] * table[i, k]
        # In float32 the sum with `whole` has no fraction left.
        level = (total / step + whole) - whole
        a[ty, tx] = level * step
        cuda.syncthreads()

        # Back along columns, then along rows: sample (i, j).
        total = float32(0.0)
        for k in range(8):
            total += a[top + k, tx] * table[k, i]
        b[ty, tx] = total
        cuda.syncthreads()
        total = float32(0.0)
        for k in range(8):
            total += b[ty, left + k] * table[k, j]
        if row < half and column < columns:
            out[row, column, channel] = level
            out[half + row, column, channel] = total + middle

    return dct_tiled


STEP = Step(lambda problem, block: kernel(block), coefficients, dct_arguments, shared_bytes)

VARIANT = cuda_variant(
    STEP,
    work=work,
    unsupported=unsupported,
    key="dct-tiled",
    title="Tiles of 8 × 8",
    operation="compress",
    idea="Two sums of 8 instead of one of 64, there and back, without leaving shared memory.",
)

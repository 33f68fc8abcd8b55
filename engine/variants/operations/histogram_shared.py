"""`histogram-shared`: a partial histogram per block in shared memory, added up by few atomics.

Idea
    A block has bins of its own in shared memory. Each thread counts 16 samples, one below the other, there;
    after a barrier the threads add the block's counts to those in global memory, a bin each.
Who loads what
    Each sample is loaded once, by neighbours of a warp side by side. Its atomic is done in the shared memory
    of its own multiprocessor, which takes a few cycles, and waits for threads of its own block only.
What it saves
    Against `histogram-global`: atomics in global memory fall from one a sample to one a bin and block. Of
    32 x 8 threads a block has 4,096 samples of a channel: with 256 bins 16 times fewer.
Limit
    A block whose samples are all alike still takes turns at one bin, in its own shared memory.

Source: COSC 407, "CUDA Memories and Performance Revisited", histogram operations; the partial histograms are
the lecture's shared-memory tiles applied to them.
"""

from functools import lru_cache

from engine.device.kept_kernels import kept_on_disk
from engine.device.launches import Pass
from engine.geometry.block import Block
from engine.geometry.block_rules import blocks_along
from engine.tasks.operation.contract import Patch
from engine.tasks.operation.problem import OperationProblem
from engine.tasks.operation.work import operation_work
from engine.tasks.work import FLOAT_BYTES, Work
from engine.variants.operations.grid import Launches, cuda_variant, launch_over, pass_of
from engine.variants.operations.histogram_counts import clear_launch, clear_pass, cuda_bin

ROWS_PER_THREAD = 16


def rows_of(problem: OperationProblem) -> int:
    """Return the rows of threads."""
    return blocks_along(problem.height, ROWS_PER_THREAD)


def shared_bytes(problem: OperationProblem, block: Block) -> int:
    """Return the bytes of a block's bins."""
    return problem.whole("bins") * FLOAT_BYTES


def plan(problem: OperationProblem, block: Block) -> Launches:
    """Return two launches: clear the counts, count."""
    used = shared_bytes(problem, block)
    return (
        clear_launch(problem, block),
        launch_over(rows_of(problem), problem.width, problem.channels, block, used),
    )


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: an atomic in shared memory for each sample, one in global memory for each block's bin.

    Each block clears its bins, and reads them again to add them; NaN is not counted.
    """
    bins = problem.whole("bins")
    blocks = plan(problem, block)[1].blocks
    return operation_work(
        problem,
        picture_loads=problem.samples,
        flops=problem.samples + blocks * bins,
        result_loads=blocks * bins,
        stores=problem.values + blocks * bins,
        shared_loads=problem.samples + blocks * bins,
        shared_stores=problem.samples + blocks * bins,
    )


@lru_cache
@kept_on_disk
def kernel(dtype: str, bins: int, block: Block):
    """Return the counting kernel for a type of samples, a number of bins and a block."""
    global cuda  # among a kernel's globals the simulator looks for it
    from numba import int32

    from engine.device.numba_cuda import cuda

    bin_of = cuda_bin(dtype, bins)
    BINS, BLOCK_X, BLOCK_Y, ROWS = bins, block.x, block.y, ROWS_PER_THREAD

    @cuda.jit
    def count_in_shared_memory(image, width, out):
        counts = cuda.shared.array(BINS, int32)
        channel = cuda.blockIdx.z
        thread = cuda.threadIdx.y * BLOCK_X + cuda.threadIdx.x
        for place in range(thread, BINS, BLOCK_X * BLOCK_Y):
            counts[place] = 0
        # No thread may count before all bins are 0.
        cuda.syncthreads()

        column = cuda.blockIdx.x * BLOCK_X + cuda.threadIdx.x
        first = cuda.blockIdx.y * (BLOCK_Y * ROWS) + cuda.threadIdx.y
        if column < width:
            for step in range(ROWS):
                row = first + step * BLOCK_Y
                if row < image.shape[0]:
                    place = bin_of(image[row, column, channel])
                    if place >= 0:
                        cuda.atomic.add(counts, place, 1)
        # No thread may read a bin before all have counted.
        cuda.syncthreads()

        for place in range(thread, BINS, BLOCK_X * BLOCK_Y):
            cuda.atomic.add(out, (channel, place, 0), counts[place])

    return count_in_shared_memory


def passes(problem: OperationProblem, constant: Patch | None, block: Block) -> tuple[Pass, ...]:
    """Return both passes."""
    counting = kernel(problem.dtype, problem.whole("bins"), block)
    return clear_pass(problem, block), pass_of(problem, counting, plan(problem, block)[1], problem.width)


VARIANT = cuda_variant(
    passes,
    plan=plan,
    work=work,
    rows_of=rows_of,
    shared_bytes=shared_bytes,
    key="histogram-shared",
    title="Shared histograms",
    operation="histogram",
    idea="Each block counts into bins of its own in shared memory, and adds them to global memory once.",
)

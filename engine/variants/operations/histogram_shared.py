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

from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.grid import cuda_variant
from engine.variants.operations.histogram_counts import (
    clearing,
    counting,
)
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

COUNTING = counting()


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: an atomic in shared memory for each sample, one in global memory for each block's bin.

    Each block clears its bins, and reads them again to add them; NaN is not counted.
    """
    bins = problem.whole("bins")
    blocks = COUNTING.launch(problem, block).blocks
    return operation_work(
        problem,
        picture_loads=problem.samples,
        flops=problem.samples + blocks * bins,
        result_loads=blocks * bins,
        stores=problem.values + blocks * bins,
        shared_loads=problem.samples + blocks * bins,
        shared_stores=problem.samples + blocks * bins,
    )


VARIANT = cuda_variant(
    clearing(),
    COUNTING,
    work=work,
    key="histogram-shared",
    title="Shared histograms",
    operation="histogram",
    idea="Each block counts into bins of its own in shared memory, and adds them to global memory once.",
)

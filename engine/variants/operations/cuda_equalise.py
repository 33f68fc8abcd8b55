"""`cuda-equalise`: count by blocks, a scan of the counts, a look-up per sample.

Idea
    Four launches: clear, count (`histogram-shared`), one block per channel that makes running sums of the
    counts and levels of these, and a thread per sample that looks its level up.
Who loads what
    The scan: a thread per bin. In step 1, 2, 4, 8 ... each thread adds the sum that lies so many bins below
    its own, so that after 8 steps each of 256 threads has the sum of all bins up to its own. It stays in
    shared memory. The look-up loads each sample again and one of 256 levels, which L1 keeps.
What it saves
    Against one thread that adds 256 counts one after another: 8 steps instead of 256.
Limit
    The scan adds bins x log2(bins) times where bins would be enough: a block has the threads anyway. Between
    two steps all threads wait for one another, twice.

Source: COSC 407, "CUDA Memories and Performance Revisited", histogram operations. The scan is Hillis and
Steele's ("Data parallel algorithms", 1986).
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import Between, Launch
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.equalise_levels import KEPT, levels_dtype
from engine.variants.operations.grid import Step, cuda_variant
from engine.variants.operations.histogram_counts import (
    clearing,
    counting,
    cuda_bin,
)
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32, int64

_SUM_BYTES = 8


def _counts(problem: OperationProblem) -> Between:
    return Between("counts", (problem.channels, problem.whole("bins"), 1), "uint32")


def _levels(problem: OperationProblem) -> Between:
    return Between("levels", (problem.channels, problem.whole("bins"), 1), levels_dtype(problem))


def _scan_launch(problem: OperationProblem) -> Launch:
    bins = problem.whole("bins")
    return Launch((problem.channels, 1, 1), (bins, 1, 1), (bins + 1) * _SUM_BYTES)


COUNTING = counting(_counts)


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: that of `histogram-shared`, the scan, and a sample and a level for each look-up.

    A channel has samples in more than one bin; NaN is not counted and has no level.
    """
    bins, channels, samples = problem.whole("bins"), problem.channels, problem.samples
    of_blocks = COUNTING.launch(problem, block).blocks * bins
    steps = bins.bit_length() - 1
    # In each step a thread reads its own sum, and one below it if there is one.
    added = sum(bins - (1 << step) for step in range(steps))
    scan_loads, scan_stores = channels * (added + bins * (steps + 3)), channels * (bins * (steps + 1) + 2)
    return operation_work(
        problem,
        picture_loads=2 * samples,
        flops=samples + of_blocks + channels * (added + 2 * bins),
        other_loads=of_blocks + channels * bins + samples,
        other_stores=of_blocks + 2 * channels * bins,
        shared_loads=samples + of_blocks + scan_loads,
        shared_stores=samples + of_blocks + scan_stores,
    )


@kernel_factory
def levels_kernel(bins: int, white: int, is_float: bool):
    """Return the kernel that makes levels of counts, a block of `bins` threads per channel."""
    BINS, WHITE, IS_FLOAT, STAYS = bins, white, is_float, KEPT

    @cuda.jit
    def levels_by_scan(image, counts, levels):
        sums = cuda.shared.array(BINS, int64)
        darkest = cuda.shared.array(1, int64)
        index, channel = cuda.threadIdx.x, cuda.blockIdx.x
        own = int64(counts[channel, index, 0])
        sums[index] = own
        if index == 0:
            darkest[0] = 0
        # No thread may add a sum before it is stored.
        cuda.syncthreads()

        step = 1
        while step < BINS:
            below = int64(0)
            if index >= step:
                below = sums[index - step]
            # No thread may store a sum before all have read the one that was there.
            cuda.syncthreads()
            sums[index] = sums[index] + below
            cuda.syncthreads()
            step *= 2

        sum_of_all = sums[BINS - 1]
        up_to_own = sums[index]
        # The first bin that has any.
        if own > 0 and up_to_own == own:
            darkest[0] = own
        cuda.syncthreads()

        least = darkest[0]
        above, among = up_to_own - least, sum_of_all - least
        if among <= 0 or above < 0:
            levels[channel, index, 0] = STAYS
        elif IS_FLOAT:
            levels[channel, index, 0] = float32(above) / float32(among)
        else:
            levels[channel, index, 0] = (2 * WHITE * above + among) // (2 * among)

    return levels_by_scan


@kernel_factory
def look_up_kernel(dtype: str, bins: int):
    """Return the kernel that looks up each sample's level, for a type of samples and a number of bins."""
    bin_of = cuda_bin(dtype, bins)

    @cuda.jit
    def look_up(image, width, levels, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        sample = image[row, column, channel]
        index = bin_of(sample)
        result = sample
        if index >= 0:
            level = levels[channel, index, 0]
            if level >= 0:
                result = level
        out[row, column, channel] = result

    return look_up


VARIANT = cuda_variant(
    clearing(_counts),
    COUNTING,
    Step(
        lambda problem, block: levels_kernel(
            problem.whole("bins"), int(problem.full_scale), problem.is_float
        ),
        arguments=lambda problem, patch: (_counts(problem),),
        target=_levels,
        own_launch=_scan_launch,
    ),
    Step(
        lambda problem, block: look_up_kernel(problem.dtype, problem.whole("bins")),
        arguments=lambda problem, patch: (problem.width, _levels(problem)),
    ),
    work=work,
    key="cuda-equalise",
    title="Count and scan",
    operation="equalise",
    idea="Blocks count in shared memory, a thread per bin makes running sums in log2(bins) steps, a thread "
    "per sample looks its level up.",
)

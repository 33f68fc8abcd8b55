"""Histogram equalisation: levels are spread so that each occurs about as often as any other.

As a step of a chain it looks at samples that are known within a range. How many samples lie in a bin or below
it is known within two numbers: those whose whole range does, and those of which a part does. So each bin's
level has a range too; where no sample lies on both sides of a bin's end that is one number.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.compiled.late_names import njit
from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, float32, int64
from engine.device.launches import Between, Launch
from engine.geometry.block import Block
from engine.results.problem import Work
from engine.run.task import AnyJob
from engine.variants.operations import counts as histograms
from engine.variants.operations.kernels import CpuCode, OperationLaunch, cuda_variant
from engine.verify.closeness import UNIT_ROUNDOFF, Limits, Verification
from engine.verify.verification import Inputs, Region, affordable_regions, verify_regions
from engine.work.operations import contract
from engine.work.operations.contract import Floats, Range
from engine.work.problem import OperationProblem

# Both counts and their quotient are rounded once each.
ROUNDINGS = 3
KEPT = -1
"""Instead of a level: the sample stays as it is."""
_BAND_SAMPLES = 1 << 20
# Pixels that are compared at once, and what a sample costs the oracle, in multiply-adds.
_BAND_PIXELS, _COST = 1 << 16, 4
Counts = NDArray[np.int64]


def exact_levels(counts: np.ndarray, problem: OperationProblem) -> np.ndarray:
    """Return the new level of each bin, float64 (channels, bins): exact whole numbers for 8 and 16 bit.

    The samples below a bin and in it, less those of the darkest bin that has any, as a share of all less
    those. A channel with all samples in one bin has no such levels, NaN: it stays as it is.
    """
    levels = np.full(counts.shape, np.nan)
    for channel, of_channel in enumerate(counts.tolist()):
        darkest = next((count for count in of_channel if count), 0)
        among = sum(of_channel) - darkest
        below = -darkest
        for bin_, count in enumerate(of_channel):
            below += count
            if among and below >= 0:
                white = int(problem.full_scale)
                exact = (2 * white * below + among) // (2 * among)
                levels[channel, bin_] = below / among if problem.is_float else exact
    return levels


def looked_up(levels: Floats, bins: NDArray[np.int64], samples: np.ndarray) -> Floats:
    """Return the level of each sample's bin, float64; what has none stays: NaN, and samples of one bin."""
    by_bin = np.stack([own[bins[..., channel]] for channel, own in enumerate(levels)], axis=-1)
    level: Floats = np.where((bins < 0) | np.isnan(by_bin), samples.astype(np.float64), by_bin)
    return level


def verify(values: np.ndarray, job: AnyJob, checkpoint: contract.Checkpoint) -> Verification:
    """Count the whole picture by NumPy, and compare pixels with the levels that follow."""
    samples, problem = job.operands, job.problem
    levels = exact_levels(histograms.counted(samples, problem, lambda part: checkpoint(part / 2)), problem)

    def oracle(band: Region) -> tuple[Floats, Limits]:
        own = samples[band.slices]
        value = looked_up(levels, histograms.bins_of(own, problem.whole("bins")), own)
        rounded = contract.rounded(value, value, value, (1 + ROUNDINGS) * problem.is_float)
        return value, lambda: rounded.limits

    affordable = job.affordable or contract.AFFORDABLE
    return verify_regions(
        values,
        affordable_regions(
            problem.height, problem.width, (3, 3), _COST * problem.channels, affordable, job.seed
        ),
        _BAND_PIXELS,
        oracle,
        lambda part: checkpoint((1 + part) / 2),
        Inputs(samples, has_sums=False),
    )


def counted_levels(
    problem: OperationProblem, range_of: Callable[[NDArray[np.intp], NDArray[np.intp]], Range]
) -> Range:
    """Return the level of each bin, (channels, bins); NaN: the sample stays.

    `range_of` gives the picture's samples for rows and columns, from 0 to 1.
    """
    bins = problem.whole("bins")
    counts = np.zeros((3, problem.channels, bins), np.int64)
    rows, columns = max(1, _BAND_SAMPLES // (problem.width * problem.channels)), np.arange(problem.width)
    for top in range(0, problem.height, rows):
        ranges = range_of(np.arange(top, min(problem.height, top + rows)), columns)
        for of_part, part in zip(counts, ranges.parts, strict=True):
            places = histograms.bins_of(part, bins)
            for channel in range(problem.channels):
                own = places[..., channel]
                of_part[channel] += np.bincount(own[own >= 0], minlength=bins)
    # The highest values lie in the highest bins: the fewest are at or below a bin.
    value, most, fewest = np.cumsum(counts, axis=2)
    return Range(*(np.stack(one) for one in zip(*map(_of_channel, value, fewest, most), strict=True)))


def _of_channel(value: Counts, fewest: Counts, most: Counts) -> tuple[Floats, Floats, Floats]:
    total = int(value[-1])
    first = int(np.flatnonzero(most)[0]) if most[-1] else 0
    surely = int(np.flatnonzero(fewest)[0]) if fewest[-1] else 0
    darkest = int(value[np.flatnonzero(value)[0]]) if total else 0
    least, largest = (int(fewest[first]), int(most[first])) if first == surely else (0, int(most[surely]))
    if total == largest:
        # One bin, or perhaps one: then the samples stay as they are.
        stays = np.full(value.shape, np.nan)
        if least == largest:
            return stays, stays, stays
        return stays, np.zeros(value.shape), np.ones(value.shape)
    rounded = 2 * ROUNDINGS * UNIT_ROUNDOFF
    exact = (value - darkest) / (total - darkest)
    low = (fewest - largest) / (total - largest) * (1 - rounded)
    high = (most - least) / (total - least) * (1 + rounded)
    return np.where(exact < 0, np.nan, exact), np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0 + rounded)


def of_all(
    problem: OperationProblem, range_of: Callable[[NDArray[np.intp], NDArray[np.intp]], Range]
) -> Callable[[Range], tuple[Range, int]]:
    """Count all samples, which lie within ranges; return what gives some of them their levels."""
    levels = counted_levels(problem, range_of)

    def levelled(samples: Range) -> tuple[Range, int]:
        """Return the new levels of samples, and how many may lie in two bins."""
        places = [histograms.bins_of(part, problem.whole("bins")) for part in samples.parts]
        value, low, high = map(looked_up, levels.parts, places, samples.parts)
        undecided = int(np.count_nonzero(places[1] != places[2]))
        return Range(value, np.minimum(low, value), np.maximum(high, value)), undecided

    return levelled


def levels_dtype(problem: OperationProblem) -> str:
    """Return the type of the levels: whole numbers for 8 and 16 bit."""
    return "float32" if problem.is_float else "int32"


def levels_of(counts: np.ndarray, problem: OperationProblem) -> np.ndarray:
    """Return the level of each bin from the counts (channels, bins)."""
    counts = counts.astype(np.int64)
    below = np.cumsum(counts, axis=1)
    # The count of the first bin that has any: the least of the sums above 0.
    darkest = np.where(below > 0, below, np.iinfo(np.int64).max).min(axis=1, keepdims=True)
    above, among = below - darkest, below[:, -1:] - darkest
    divisor = np.maximum(among, 1)
    if problem.is_float:
        levels = above.astype(np.float32) / divisor.astype(np.float32)
    else:
        levels = (2 * int(problem.full_scale) * above + divisor) // (2 * divisor)
    return np.where((among > 0) & (above >= 0), levels, KEPT).astype(levels_dtype(problem))


@CpuCode
def look_up_code(is_float):
    """`cpu-equalise`: the counts of each core added up, 256 levels by NumPy, and all cores look them up.

    Limit
        The picture is read twice: once to count, once to look up. The levels of a channel stay in a cache.
    """
    bin_of = njit(histograms.bin_of_float if is_float else histograms.bin_of_whole)

    def look_up(image, out, top, bottom, worker, levels, scale):
        channels = levels.shape[0]
        for row in range(top, bottom):
            samples, results = image[row], out[row]
            for left in range(0, len(samples), channels):
                for channel in range(channels):
                    at = np.uintp(left + channel)
                    index = bin_of(samples[at], scale)
                    results[at] = samples[at]
                    if index >= 0:
                        level = levels[channel, np.uintp(index)]
                        if level >= 0:
                            results[at] = level

    return look_up


class Equalisation:
    """Counts, levels, look-ups, ready for one problem."""

    def __init__(self, problem: OperationProblem) -> None:
        self._problem, self._counts = problem, histograms.PartialHistograms(problem)
        self._shape = problem.channels, problem.whole("bins")
        nothing = np.zeros(self._shape, levels_dtype(problem))
        steps = 2 * problem.width * problem.channels
        self._scale = histograms.scale_of(problem)
        self._bands = look_up_code.bands(problem, steps, (nothing, self._scale), (problem.is_float,))

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Count on all cores, add up, and look up on all cores."""
        counts = np.empty((*self._shape, 1), np.uint32)
        self._counts.launch(image, counts)
        levels = levels_of(counts[..., 0], self._problem)
        self._bands.launch(image, out, arguments=(levels, self._scale))


CPU = look_up_code.variant(
    lambda problem, patch: Equalisation(problem),
    key="cpu-equalise",
    idea="Each core counts its rows, the counts give the levels, and each core looks its rows up.",
    # Each sample is read twice, counted, and written once.
    work=lambda problem, block: contract.operation_work(
        problem, picture_loads=2 * problem.samples, flops=problem.samples
    ),
)


_SUM_BYTES = 8


def _counts(problem: OperationProblem) -> Between:
    return Between("counts", (problem.channels, problem.whole("bins"), 1), "uint32")


def _levels(problem: OperationProblem) -> Between:
    return Between("levels", (problem.channels, problem.whole("bins"), 1), levels_dtype(problem))


COUNTING = histograms.counting(_counts)


def cuda_work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: that of `histogram-shared`, the scan, and a sample and a level for each look-up.

    A channel has samples in more than one bin; NaN is not counted and has no level.
    """
    bins, channels, samples = problem.whole("bins"), problem.channels, problem.samples
    of_blocks = COUNTING.launch(problem, block).blocks * bins
    steps = bins.bit_length() - 1
    # In each step a thread reads its own sum, and one below it if there is one.
    added = sum(bins - (1 << step) for step in range(steps))
    scan_loads, scan_stores = channels * (added + bins * (steps + 3)), channels * (bins * (steps + 1) + 2)
    return contract.operation_work(
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
    """`cuda-equalise`: count by blocks, a scan of the counts, a look-up per sample.

    Idea
        Four launches: clear, count (`histogram-shared`), one block per channel that makes running sums of the
        counts and levels of these, and a thread per sample that looks its level up.
    Who loads what
        The scan: a thread per bin. In step 1, 2, 4, 8 ... each thread adds the sum that lies so many bins
        below its own, so that after 8 steps each of 256 threads has the sum of all bins up to its own. It
        stays in shared memory. The look-up loads each sample again and one of 256 levels, which L1 keeps.
    What it saves
        Against one thread that adds 256 counts one after another: 8 steps instead of 256.
    Limit
        The scan adds bins x log2(bins) times where bins would be enough: a block has the threads anyway.
        Between two steps all threads wait for one another, twice.

    Source: COSC 407, "CUDA Memories and Performance Revisited", histogram operations. The scan is Hillis and
    Steele's ("Data parallel algorithms", 1986).
    """
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
    bin_of = histograms.cuda_bin(dtype, bins)

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


CUDA = cuda_variant(
    histograms.clearing(_counts),
    COUNTING,
    OperationLaunch(
        lambda problem, block: levels_kernel(
            problem.whole("bins"), int(problem.full_scale), problem.is_float
        ),
        arguments=lambda problem, patch: (_counts(problem),),
        target=_levels,
        own_launch=lambda problem: Launch(
            (problem.channels, 1, 1), (problem.whole("bins"), 1, 1), (problem.whole("bins") + 1) * _SUM_BYTES
        ),
    ),
    OperationLaunch(
        lambda problem, block: look_up_kernel(problem.dtype, problem.whole("bins")),
        arguments=lambda problem, patch: (problem.width, _levels(problem)),
    ),
    work=cuda_work,
    key="cuda-equalise",
    title="Count and scan",
    idea="Blocks count in shared memory, a thread per bin makes running sums in log2(bins) steps, a thread "
    "per sample looks its level up.",
)

EQUALISE = contract.Operation(
    key="equalise",
    title="Histogram equalisation",
    teaches="What a histogram is for: its running sums, a scan that all threads make together, give each bin "
    "a new level, so that a flat picture uses the whole scale.",
    parameters=(histograms.BINS,),
    refuse=histograms.refuse,
    verify=verify,
    proof="8 and 16 bit: equal; float32: two counts and their quotient, one rounding each.",
    of_all=of_all,
    variants=(CPU, CUDA),
)

"""What counts samples: which bin a sample is in, launches that clear and count, counts for each core."""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.compiled.late_names import njit
from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, int32
from engine.device.launches import Between, Operand
from engine.errors import BadValue
from engine.geometry.block import FLOAT_BYTES, Block, blocks_along
from engine.variants.operations.kernels import CpuCode, OperationLaunch
from engine.work.operations.contract import Checkpoint, Parameter
from engine.work.problem import OperationProblem, Value

_MOST_SAMPLES = 2**32 - 1
# Samples counted at once by the oracle: its whole numbers and floats of 64 bits take 24 bytes each.
_BAND_SAMPLES = 1 << 20
BINS = Parameter(
    "bins", "Bins",
    "Equal intervals from black to white; a power of two, so that no sample's bin depends on rounding. Of "
    "float32, what lies outside 0 to 1 is counted in the first or last bin.",
    256, choices=(4, 8, 16, 32, 64, 128, 256),
)  # fmt: skip


def bins_of(samples: np.ndarray, bins: int) -> np.ndarray:
    """Return the bin of each sample, exact: bins are a power of two; NaN has none, -1."""
    if samples.dtype.kind == "u":
        levels = int(np.iinfo(samples.dtype).max) + 1
        return samples.astype(np.int64) * bins // levels
    with np.errstate(invalid="ignore", over="ignore"):
        # Multiplied by a power of two, which rounds nothing; what lies outside 0 to 1 is in the last bins.
        scaled = np.clip(samples.astype(np.float64) * bins, 0, bins - 1)
        return np.where(np.isnan(samples), -1, np.floor(scaled)).astype(np.int64)


def refuse(samples: np.ndarray, parameters: dict[str, Value]) -> None:
    """Refuse more pixels than a count of 32 bits holds."""
    if samples.shape[0] * samples.shape[1] > _MOST_SAMPLES:
        what = f"a picture of {samples.shape[1]:,} × {samples.shape[0]:,}"
        raise BadValue(what, f"a count has 32 bits, at most {_MOST_SAMPLES:,}", "Take a part of it.")


def counted(samples: np.ndarray, problem: OperationProblem, checkpoint: Checkpoint) -> np.ndarray:
    """Return the counts of the whole picture, by NumPy: int64, (channels, bins)."""
    bins = problem.whole("bins")
    exact = np.zeros((problem.channels, bins), np.int64)
    rows = max(1, _BAND_SAMPLES // (problem.width * problem.channels))
    for top in range(0, problem.height, rows):
        checkpoint(top / problem.height)
        places = bins_of(samples[top : top + rows], bins)
        for channel, counts in enumerate(exact):
            own = places[..., channel]
            counts += np.bincount(own[own >= 0], minlength=bins)
    return exact


def bin_of_whole(sample: Any, shift: Any) -> Any:
    """Return the bin of a sample of 8 or 16 bit; indices are unsigned, as in `cpu.serial.sum_along`."""
    return np.uintp(sample) >> np.uintp(shift)


def bin_of_float(sample: Any, bins: Any) -> Any:
    """Return the bin of a float32 sample, -1 for NaN."""
    value = sample * np.float32(bins)
    if value >= np.float32(bins):
        return np.int64(bins - 1)
    if value >= np.float32(0.0):
        return np.int64(value)
    return np.int64(0) if value < np.float32(0.0) else np.int64(-1)


@CpuCode
def count_code(is_float):
    """`cpu-histogram`: a partial histogram for each core, added up in the end.

    Idea
        A core counts the samples of its rows into bins that no other core touches, so none waits; the last
        step adds up as many histograms as there are cores. `histogram-shared` does the same with blocks.
    Limit
        Two equal samples in a row write the same bin: the second has to wait for the first one's store.
    """
    bin_of = njit(bin_of_float if is_float else bin_of_whole)

    def count(image, out, top, bottom, worker, all_counts, channels, bins, scale):
        counts = all_counts[worker]
        for row in range(top, bottom):
            samples = image[row]
            for left in range(0, len(samples), channels):
                for channel in range(channels):
                    index = bin_of(samples[np.uintp(left + channel)], scale)
                    if index >= 0:
                        counts[np.uintp(channel * bins) + np.uintp(index)] += 1

    return count


def scale_of(problem: OperationProblem) -> int:
    """Return what the code for the CPU finds a bin by: the number of bins, or of bits to shift by."""
    bins = problem.whole("bins")
    return bins if problem.is_float else 8 * problem.itemsize - bins.bit_length() + 1


class PartialHistograms:
    """On the CPU: the counts of each worker, ready for one problem."""

    def __init__(self, problem: OperationProblem) -> None:
        bins, channels = problem.whole("bins"), problem.channels
        numbers = channels, bins, scale_of(problem)
        self._bands = count_code.bands(
            problem,
            2 * problem.width * channels,
            lambda workers: (np.zeros((workers, channels * bins), np.int64), *numbers),
            (problem.is_float,),
            target_of=lambda out: out[..., 0],
            dtype="uint32",
        )

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Count on all cores, and add the cores' counts up."""

        def add_up(counts: np.ndarray, *numbers: int) -> None:
            out[...] = counts.sum(axis=0).reshape(out.shape)
            counts.fill(0)

        self._bands.launch(image, out, collect=add_up)


@kernel_factory
def cuda_bin(dtype: str, bins: int):
    """Return the CUDA device function from a sample to its bin, -1 for NaN: a compile-time choice."""
    is_float = dtype == "float32"
    scale = bins if is_float else int(np.iinfo(dtype).bits) - bins.bit_length() + 1
    bin_by = cuda.jit(device=True, inline="always")(bin_of_float if is_float else bin_of_whole)

    def bin_of(sample):
        return bin_by(sample, scale)

    return cuda.jit(device=True, inline="always")(bin_of)


@kernel_factory
def clear_kernel():
    """Return the kernel that sets every count to 0."""

    @cuda.jit
    def clear_counts(image, bins, out):
        column, channel = cuda.grid(2)
        if column < bins and channel < out.shape[0]:
            out[channel, column, 0] = 0

    return clear_counts


Target = Callable[[OperationProblem], Operand | Between]


def clearing(target: Target = lambda problem: Operand.OUT) -> OperationLaunch:
    """Return the step that sets every count to 0."""
    return OperationLaunch(
        lambda problem, block: clear_kernel(),
        lambda problem: (problem.channels, problem.whole("bins"), 1),
        lambda problem, patch: (problem.whole("bins"),),
        target=target,
    )


ROWS_PER_THREAD = 16
"""Samples that a thread counts into the bins of its block, one below the other."""


def counting(target: Target = lambda problem: Operand.OUT) -> OperationLaunch:
    """Return the step that counts in shared memory, and adds each block's counts to those of `target`.

    A thread has 16 samples, a block a partial histogram.
    """
    return OperationLaunch(
        lambda problem, block: count_kernel(problem.dtype, problem.whole("bins"), block),
        lambda problem: (blocks_along(problem.height, ROWS_PER_THREAD), problem.width, problem.channels),
        shared_bytes=lambda problem, block: problem.whole("bins") * FLOAT_BYTES,
        target=target,
    )


@kernel_factory
def count_kernel(dtype: str, bins: int, block: Block):
    """`histogram-shared`: a partial histogram per block in shared memory, added up by few atomics.

    Idea
        A block has bins of its own in shared memory. Each thread counts 16 samples, one below the other,
        there; after a barrier the threads add the block's counts to those in global memory, a bin each.
    Who loads what
        Each sample is loaded once, by neighbours of a warp side by side. Its atomic is done in the shared
        memory of its own multiprocessor, which takes a few cycles, and waits for threads of its own block
        only.
    What it saves
        Against `histogram-global`: atomics in global memory fall from one a sample to one a bin and block. Of
        32 x 8 threads a block has 4,096 samples of a channel: with 256 bins 16 times fewer.
    Limit
        A block whose samples are all alike still takes turns at one bin, in its own shared memory.

    Source: COSC 407, "CUDA Memories and Performance Revisited", histogram operations; the partial histograms
    are the lecture's shared-memory tiles applied to them.
    """
    bin_of = cuda_bin(dtype, bins)
    BINS, BLOCK_X, BLOCK_Y, ROWS = bins, block.x, block.y, ROWS_PER_THREAD

    @cuda.jit
    def count_in_shared_memory(image, width, out):
        counts = cuda.shared.array(BINS, int32)
        channel = cuda.blockIdx.z
        thread = cuda.threadIdx.y * BLOCK_X + cuda.threadIdx.x
        for index in range(thread, BINS, BLOCK_X * BLOCK_Y):
            counts[index] = 0
        # No thread may count before all bins are 0.
        cuda.syncthreads()

        column = cuda.blockIdx.x * BLOCK_X + cuda.threadIdx.x
        first = cuda.blockIdx.y * (BLOCK_Y * ROWS) + cuda.threadIdx.y
        if column < width:
            for step in range(ROWS):
                row = first + step * BLOCK_Y
                if row < image.shape[0]:
                    index = bin_of(image[row, column, channel])
                    if index >= 0:
                        cuda.atomic.add(counts, index, 1)
        # No thread may read a bin before all have counted.
        cuda.syncthreads()

        for index in range(thread, BINS, BLOCK_X * BLOCK_Y):
            cuda.atomic.add(out, (channel, index, 0), counts[index])

    return count_in_shared_memory

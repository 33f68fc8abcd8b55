"""What counts samples: which bin a sample is in, launches that clear and count, counts for each core.

Source: COSC 407, "CUDA Memories and Performance Revisited", histogram operations; the partial histograms are
the lecture's shared-memory tiles applied to them.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.kernel_factory import kernel_factory
from engine.device.launches import Between, Operand
from engine.geometry.block import Block
from engine.geometry.block_rules import blocks_along
from engine.geometry.layout import FLOAT_BYTES
from engine.variants.operations.bands import Bands
from engine.variants.operations.grid import Step
from engine.work.operations.problem import OperationProblem

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, int32


def shift_of(problem: OperationProblem) -> int:
    """Return by how many bits a sample of 8 or 16 bit is shifted to the right for its bin."""
    bits = 8 * problem.itemsize
    return bits - problem.whole("bins").bit_length() + 1


@kernel_factory
def cuda_bin(dtype: str, bins: int):
    """Return the CUDA device function from a sample to its bin, -1 for NaN: a compile-time choice."""
    last = bins - 1
    if dtype == "float32":
        factor, zero = np.float32(bins), np.float32(0.0)

        def bin_of(sample):
            value = sample * factor
            if value >= factor:
                return last
            if value >= zero:
                return int(value)
            if value < zero:
                return 0
            return -1
    else:
        shift = int(np.iinfo(dtype).bits) - bins.bit_length() + 1

        def bin_of(sample):
            return int(sample) >> shift

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


def clearing(target: Target = lambda problem: Operand.OUT) -> Step:
    """Return the step that sets every count to 0."""
    return Step(
        lambda problem, block: clear_kernel(),
        lambda problem: (problem.channels, problem.whole("bins"), 1),
        lambda problem, patch: (problem.whole("bins"),),
        target=target,
    )


ROWS_PER_THREAD = 16
"""Samples that a thread counts into the bins of its block, one below the other."""


def counting(target: Target = lambda problem: Operand.OUT) -> Step:
    """Return the step that counts in shared memory, and adds each block's counts to those of `target`.

    A thread has 16 samples, a block a partial histogram.
    """
    return Step(
        lambda problem, block: count_kernel(problem.dtype, problem.whole("bins"), block),
        lambda problem: (blocks_along(problem.height, ROWS_PER_THREAD), problem.width, problem.channels),
        shared_bytes=lambda problem, block: problem.whole("bins") * FLOAT_BYTES,
        target=target,
    )


@kernel_factory
def count_kernel(dtype: str, bins: int, block: Block):
    """Return the counting kernel for a type of samples, a number of bins and a block."""
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


_WHOLE, _FLOATS = (
    MachineFunction("engine.variants.operations.histogram_code", name, error_model="numpy")
    for name in ("count_whole_numbers", "count_floats")
)


class PartialHistograms:
    """On the CPU: the counts of each worker, ready for one problem."""

    def __init__(self, problem: OperationProblem) -> None:
        bins, channels = problem.whole("bins"), problem.channels
        numbers = (channels, bins) if problem.is_float else (channels, bins, shift_of(problem))
        self._bands = Bands(
            problem,
            _FLOATS if problem.is_float else _WHOLE,
            2 * problem.width * channels,
            lambda workers: (np.zeros((workers, channels * bins), np.int64), *numbers),
            target_of=lambda out: out[..., 0],
            dtype="uint32",
        )

    def launch(self, image: np.ndarray, out: np.ndarray, stream: object = None) -> None:
        """Count on all cores, and add the cores' counts up."""

        def add_up(counts: np.ndarray, *numbers: int) -> None:
            out[...] = counts.sum(axis=0).reshape(out.shape)
            counts.fill(0)

        self._bands.launch(image, out, collect=add_up)

"""What the histograms share: which bin a sample is in, and the launch that clears the counts."""

from functools import lru_cache
from typing import Any

import numpy as np

from engine.device.kept_kernels import kept_on_disk
from engine.geometry.block import Block
from engine.tasks.operation.problem import OperationProblem
from engine.variants.operations.grid import launch_over, pass_of


def shift_of(problem: OperationProblem) -> int:
    """Return by how many bits a sample of 8 or 16 bit is shifted to the right for its bin."""
    bits = 8 * problem.itemsize
    return bits - problem.whole("bins").bit_length() + 1


@lru_cache
def cuda_bin(dtype: str, bins: int):
    """Return the CUDA device function from a sample to its bin, -1 for NaN: a compile-time choice."""
    from engine.device.numba_cuda import cuda

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


@lru_cache
@kept_on_disk
def clear_kernel():
    """Return the kernel that sets every count to 0."""
    global cuda  # among a kernel's globals the simulator looks for it
    from engine.device.numba_cuda import cuda

    @cuda.jit
    def clear_counts(image, bins, out):
        column, channel = cuda.grid(2)
        if column < bins and channel < out.shape[0]:
            out[channel, column, 0] = 0

    return clear_counts


def clear_launch(problem: OperationProblem, block: Block) -> Any:
    """Return the launch of a thread per count."""
    channels, bins, _ = problem.result_shape
    return launch_over(channels, bins, 1, block)


def clear_pass(problem: OperationProblem, block: Block) -> Any:
    """Return the pass that sets every count to 0."""
    return pass_of(problem, clear_kernel(), clear_launch(problem, block), problem.whole("bins"))

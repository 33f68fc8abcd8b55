"""What every CUDA variant does the same way: types of the arguments, compiling ahead, uploading the mask, launching."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numba.np.numpy_support import from_dtype

from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.numba_cuda import SIMULATED, cuda
from engine.mask.mask import Mask
from engine.problem import Problem
from engine.variants.contract import Launch

float32 = types.float32


def filter_signature(problem: Problem) -> tuple[Any, ...]:
    """Return the argument types of a filter kernel: image, weights, anchor row and column, ghost value, offset, out."""
    image = types.Array(from_dtype(np.dtype(problem.dtype)), 3, "C")
    weights = types.Array(types.float32, 2, "C")
    out = types.Array(types.float32, 3, "C")
    return (image, weights, types.int64, types.int64, types.float32, types.float32, out)


# Every device that Numba knows has 65,536 registers for a block. Blocks of up to this many threads have 128 a thread,
# more than the compiler takes by itself (61 to 96 for `tiled`).
UNLIMITED_THREADS = 512
REGISTERS = 65_536


def jit_for(threads: int) -> Callable[[Callable[..., None]], Any]:
    """Return the decorator of a kernel that wants many registers, for blocks of so many threads.

    Without a limit `tiled` could not be launched with blocks of 1024 threads. With one the compiler plans otherwise
    (4096 x 4096, 5 x 5, zero border, H200: 0.60 instead of 0.37 ms), so smaller blocks have none.
    """
    if SIMULATED or threads <= UNLIMITED_THREADS:
        return cuda.jit
    return cuda.jit(max_registers=max(16, REGISTERS // threads // 8 * 8))


class Kernel:
    """A compiled kernel with its launch and its mask on the device.

    Parameters
    ----------
    kernel
        The dispatcher that a kernel factory returns.
    launch : Launch
    signature : tuple
        Compiled ahead, so that the first launch costs no more than the others.
    mask : Mask
    arguments : tuple
        What stands between the weights and the output.
    """

    def __init__(
        self, kernel: Any, launch: Launch, signature: tuple[Any, ...], mask: Mask, arguments: tuple[Any, ...]
    ) -> None:
        with cuda_errors_in_words("compiling the kernel and uploading the mask"):
            if not SIMULATED:
                kernel.compile(signature)
            self._weights = cuda.to_device(np.array(mask.weights32))
        self._kernel = kernel
        self._launch = launch
        self._arguments = arguments

    def launch(self, image: Any, out: Any, stream: Any = 0) -> None:
        """Enqueue one filtering of a device array into another."""
        self._kernel[self._launch.grid, self._launch.block, stream](
            image, self._weights, *self._arguments, out
        )

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


# Every device that Numba knows has these for a block; the compiler would take up to 255 a thread.
REGISTERS = 65_536
MOST_REGISTERS = 255


def jit_for(threads: int) -> Callable[[Callable[..., None]], Any]:
    """Return the decorator of a kernel for blocks of up to so many threads: their registers must fit together.

    Without it the compiler gave `tiled` 70 registers, and blocks of 1024 threads could not be launched.
    """
    if SIMULATED:
        return cuda.jit
    most = min(MOST_REGISTERS, REGISTERS // threads // 8 * 8)
    return cuda.jit(max_registers=most)


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

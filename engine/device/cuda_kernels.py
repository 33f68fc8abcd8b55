"""What every CUDA variant does the same way: types of the arguments, compiling ahead, uploading the mask, launching."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numba import types
from numba.np.numpy_support import from_dtype

from engine.device.constant_memory import with_constant
from engine.device.cuda_faults import cuda_errors_in_words
from engine.device.cuda_pool import device_pool
from engine.device.cuda_rows import fill_bytes
from engine.device.device_kernels import for_current_device
from engine.device.launches import Operand, Pass
from engine.device.numba_cuda import SIMULATED, cuda
from engine.device.uploads import Upload, uploaded
from engine.geometry.block import Block
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem

float32 = types.float32
int64 = types.int64


SCRATCH = types.Array(types.float32, 3, "C")
"""The type of the values between two passes."""


def image_type(problem: Problem) -> Any:
    """Return the type of the picture as an argument of a kernel."""
    return types.Array(from_dtype(np.dtype(problem.dtype)), 3, "C")


def result_type(problem: Problem) -> Any:
    """Return the type of the result as an argument of a kernel."""
    return types.Array(from_dtype(np.dtype(problem.result_dtype)), 3, "C")


def filter_signature(problem: Problem) -> tuple[Any, ...]:
    """Return the argument types of a filter kernel, those of `filter_arguments`."""
    weights = types.Array(types.float32, 2, "C")
    numbers = (types.int64, types.int64, types.int64, types.float32, types.float32)
    return (image_type(problem), weights, *numbers, result_type(problem))


def filter_arguments(problem: Problem, mask: Mask) -> tuple[Any, ...]:
    """Return the arguments of a filter kernel: image, weights, width, anchor row and column, ghost value, offset, out.

    The width is an argument of its own, because rows on the device may be padded: one compiled kernel serves both
    layouts.
    """
    return (
        Operand.IMAGE,
        mask.weights32,
        problem.width,
        *problem.anchor,
        np.float32(problem.ghost_value),
        np.float32(mask.offset),
        Operand.OUT,
    )


# Every device that Numba knows has 65,536 registers for a block. Blocks of up to this many threads have 128 a thread,
# more than the compiler takes by itself (61 to 96 for `tiled`).
UNLIMITED_THREADS = 512
REGISTERS = 65_536


def jit_for(threads: int) -> Callable[[Callable[..., None]], Any]:
    """Return the decorator of a kernel that wants many registers, for blocks of so many threads.

    Without a limit `tiled` could not be launched with blocks of 1024 threads. With one the compiler plans otherwise
    (4096 x 4096, 5 x 5, zero border, H200: 0.60 instead of 0.37 ms), so smaller blocks have none.
    """
    if threads <= UNLIMITED_THREADS:
        return jit_within(None)
    return jit_within(max(16, REGISTERS // threads // 8 * 8))


def jit_within(registers: int | None) -> Callable[[Callable[..., None]], Any]:
    """Return the decorator of a kernel whose threads have at most so many registers; None leaves it to the compiler."""
    if SIMULATED or registers is None:
        return cuda.jit
    return cuda.jit(max_registers=registers)


def jit_for_blocks(threads: int, blocks: int) -> Callable[[Callable[..., None]], Any]:
    """Return the decorator of a kernel of which a multiprocessor is to hold so many blocks of at most so many threads at once.

    Told so, the compiler uses all registers that this leaves a thread. Left to itself it plans for more blocks: `split-float16` then
    had tensor-core products wait for one another (7 x 7 on 4096 x 4096: 133 instead of 184 registers, 70 us; H200).
    """
    if SIMULATED:
        return cuda.jit
    return cuda.jit(launch_bounds=(threads, blocks))


class PreparedPasses:
    """The passes of a CUDA variant, compiled ahead, with their arrays on the device.

    Parameters
    ----------
    passes : sequence of Pass
        Compiled ahead, so that the first launch costs no more than the others.
    """

    def __init__(self, passes: Sequence[Pass]) -> None:
        self._uploads: list[Upload] = []
        with cuda_errors_in_words("compiling the kernel and uploading the mask"):
            self._steps = [(_loaded(step), self._on_device(step.arguments)) for step in passes]
        self._scratch: Any = None
        self._needs_scratch = any(Operand.SCRATCH in _operands(step) for step in passes)

    def launch(self, image: Any, out: Any, stream: Any = 0) -> None:
        """Enqueue one filtering of a device array into another."""
        if self._needs_scratch and (self._scratch is None or self._scratch.shape != out.shape):
            with cuda_errors_in_words("allocating the values between two passes"):
                self._scratch = device_pool().take(out.shape, np.float32)
                device_pool().follow(self, self._scratch)
                # NaN: a first pass that skips a cell must not pass with what an earlier run left there.
                fill_bytes(self._scratch, 255)
        self._enqueue({Operand.IMAGE: image, Operand.SCRATCH: self._scratch, Operand.OUT: out}, stream)

    def _on_device(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return arguments as the kernel takes them: arrays (weights) lie on the device while this is there."""
        uploads = {
            place: uploaded(argument)
            for place, argument in enumerate(arguments)
            if isinstance(argument, np.ndarray)
        }
        self._uploads += uploads.values()
        return tuple(
            uploads[place].array if place in uploads else argument for place, argument in enumerate(arguments)
        )

    def _enqueue(self, arrays: dict[Operand, Any], stream: Any) -> None:
        for step, arguments in self._steps:
            values = (arrays[value] if isinstance(value, Operand) else value for value in arguments)
            step.kernel[step.launch.grid, step.launch.block, stream](*values)


class PreparedProduct(PreparedPasses):
    """The passes of a product of two matrices: its input is the pair (A, B)."""

    def launch(self, image: Any, out: Any, stream: Any = 0) -> None:
        """Enqueue one product of two device arrays into a third."""
        a, b = image
        self._enqueue({Operand.MATRIX_A: a, Operand.MATRIX_B: b, Operand.OUT: out}, stream)


def _loaded(step: Pass) -> Pass:
    """Return a pass for the selected device: its kernel compiled, and the values that it asks for in constant memory."""
    if SIMULATED:
        return step
    kernel = for_current_device(step.kernel)
    if step.constant is not None:
        return replace(step, kernel=with_constant(kernel, step.signature, *step.constant))
    kernel.compile(step.signature)
    return replace(step, kernel=kernel)


def _operands(step: Pass) -> set[Operand]:
    return {argument for argument in step.arguments if isinstance(argument, Operand)}


def prepare_passes(
    passes: Callable[[Problem, Mask, Block], tuple[Pass, ...]],
) -> Callable[[Problem, Mask, Block], PreparedPasses]:
    """Return the `prepare` of a variant that consists of these passes."""
    return lambda problem, mask, block: PreparedPasses(passes(problem, mask, block))

"""The arrays of a job's launches as a device would have them: their shapes and types, without memory."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import DTypeLike

from engine.device.backend import Backend, Buffers
from engine.device.launches import Between, Operand, Placeholder
from engine.geometry.layout import Layout
from engine.run.task import AnyJob
from engine.work.picture_problem import PictureProblem


class Memory(NamedTuple):
    """The shape of an array on a device, and the bytes of an element."""

    shape: tuple[int, ...]
    itemsize: int

    @property
    def elements(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class LaunchArrays:
    """The arrays that a job's launches are given: its operands, and its result."""

    operands: tuple[Memory, ...]
    out: Memory

    def of(self, argument: Placeholder | Between) -> Memory:
        """Return the array that stands in the place of an argument."""
        if isinstance(argument, Between):
            return Memory(argument.shape, np.dtype(argument.dtype).itemsize)
        if argument is Operand.OUT:
            return self.out
        if argument is Operand.SCRATCH:
            return Memory(self.out.shape, np.dtype(np.float32).itemsize)
        if argument is Operand.IMAGE:
            return self.operands[0]
        # A task with several operands has a placeholder for each, in their order.
        return self.operands[list(type(argument)).index(argument)]


class _ShapesOnly:
    """Stands in for a CUDA device: it allocates nothing, and says what it would have."""

    def allocate(
        self,
        image: np.ndarray,
        host_out: np.ndarray | None = None,
        layout: Layout = Layout.PITCHED,
        result_dtype: DTypeLike = np.float32,
    ) -> Buffers:
        def padded(shape: tuple[int, ...], dtype: DTypeLike) -> Memory:
            (rows, width, channels), itemsize = shape, np.dtype(dtype).itemsize
            return Memory((rows, layout.row_pixels(width, channels, itemsize), channels), itemsize)

        if host_out is None:
            out = padded(image.shape, result_dtype)
        else:
            out = padded(host_out.shape, host_out.dtype)
        return self._made((padded(image.shape, image.dtype),), out)

    def allocate_arrays(
        self, inputs: Sequence[np.ndarray], out_shape: tuple[int, ...], *, pinned: bool = False
    ) -> Buffers:
        operands = tuple(Memory(one.shape, np.dtype(np.float32).itemsize) for one in inputs)
        return self._made(operands, Memory(out_shape, np.dtype(np.float32).itemsize))

    def _made(self, operands: tuple[Memory, ...], out: Memory) -> Buffers:
        return Buffers(operands, out, np.empty(0))


def picture_arrays(problem: PictureProblem, layout: Layout = Layout.PITCHED) -> LaunchArrays:
    """Return the arrays of a problem with a picture, of which nothing else is known."""
    shape = problem.height, problem.width, problem.channels

    def array_of(wanted: tuple[int, ...], dtype: str) -> np.ndarray:
        return np.broadcast_to(np.zeros((), dtype), wanted)

    result = array_of(getattr(problem, "result_shape", shape), problem.result_dtype)
    made: Any = _ShapesOnly().allocate(array_of(shape, problem.dtype), result, layout)
    return LaunchArrays(made.image, made.out)


def launch_arrays(job: AnyJob) -> LaunchArrays:
    """Return the arrays of a job's launches on a CUDA device."""
    made: Any = job.task.allocate(cast(Backend, _ShapesOnly()), job)
    return LaunchArrays(made.image, made.out)

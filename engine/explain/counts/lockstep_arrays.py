"""Arrays and `cuda` as kernels know them, for threads in lockstep: each access is a request.

Arrays in global memory begin at address 0, as those of a driver begin at a multiple of 256. Without values
whatever is loaded is unknown. No Numba in here.
"""

import math
import sys
from collections.abc import Sequence
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np

from engine.explain.code.listing import SourceLine, short_path
from engine.explain.counts.accesses import Place
from engine.explain.counts.lockstep import Lockstep, Value
from engine.explain.counts.request_log import Key
from engine.explain.counts.unknown import UNKNOWN, depends_on_samples

MOST_BYTES = 16
"""Bytes that a thread loads or stores at once."""


class LockstepArray:
    """An array that all threads, or all threads of a block, share.

    Parameters
    ----------
    run : Lockstep
    name : str
    memory : str
        "global", "shared" or "constant".
    shape : tuple of int
    itemsize : int
    values : array, optional
        What it holds, without axes; of shared memory a row for each block.
    """

    def __init__(
        self,
        run: Lockstep,
        name: str,
        memory: str,
        shape: tuple[int, ...],
        itemsize: int,
        values: np.ndarray | None = None,
    ) -> None:
        self.run, self.name, self.memory, self.shape, self.itemsize = run, name, memory, shape, itemsize
        self.values = values
        self.pitches = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
        self.bytes = math.prod(shape) * itemsize
        self._keys = {kind: Key(memory, kind, name) for kind in ("loads", "stores", "copies", "atomics")}

    def ravel(self) -> "LockstepArray":
        """Return the same elements in one row."""
        return self.of_shape((math.prod(self.shape),))

    def of_shape(self, shape: tuple[int, ...]) -> "LockstepArray":
        """Return the same elements in another shape."""
        return LockstepArray(self.run, self.name, self.memory, shape, self.itemsize, self.values)

    def element(self, index: Any) -> Value:
        """Return the number of an element in row-major order."""
        if not isinstance(index, tuple):
            index = (index,)
        if len(index) != len(self.shape):
            raise IndexError(f"{self.name} has {len(self.shape)} axes, not {len(index)}")
        element: Value = 0
        for one, pitch in zip(index, self.pitches, strict=True):
            element = element + (one if pitch == 1 else one * pitch)
        if element is UNKNOWN:
            raise depends_on_samples("An address")
        return element

    def request(self, kind: str, element: Value, count: int = 1, itemsize: int = 0) -> None:
        """Take a request for `count` neighbours from an element on; `itemsize`: of other elements."""
        run = self.run
        run.known("Whether a thread asks for memory")
        size = itemsize or self.itemsize
        address = element * size
        for first in range(0, count * size, MOST_BYTES):
            at_once = min(MOST_BYTES, count * size - first)
            run.log.record(self._keys[kind], address + first, at_once, run.active, self.bytes)

    def load(self, element: Value, count: int = 1, kind: str = "loads") -> list[Value]:
        """Load neighbours at once."""
        self.request(kind, element, count)
        if self.values is None:
            return [UNKNOWN] * count
        return [self.values[self._there(element + k)] for k in range(count)]

    def store(self, element: Value, values: Sequence[Value], kind: str = "stores") -> None:
        """Store neighbours at once."""
        self.request(kind, element, len(values))
        if self.values is None:
            return
        lanes = self.run.active.lanes
        for k, value in enumerate(values):
            there = self._there(element + k)
            if not isinstance(there, tuple | np.ndarray):
                there = np.full(self.run.threads, there)
            stored = np.broadcast_to(value, lanes.shape)[lanes]
            where = tuple(axis[lanes] for axis in there) if isinstance(there, tuple) else there[lanes]
            self.values[where] = stored

    def _there(self, element: Value) -> Any:
        """Return where values lie; inactive threads, whose index may be any, get the first one."""
        if isinstance(element, np.ndarray):
            element = np.where(self.run.active.lanes, element, 0)
        if self.memory != "shared":
            return element
        return self.run.number_of_block, np.broadcast_to(element, self.run.threads)

    def __getitem__(self, index: Any) -> Value:
        self._note_place("loads", sys._getframe(1))
        return self.load(self.element(index))[0]

    def __setitem__(self, index: Any, value: Value) -> None:
        self._note_place("stores", sys._getframe(1))
        self.store(self.element(index), [value])

    def _note_place(self, kind: str, source: FrameType) -> None:
        """Note the line of the source that asks: lines of a kernel's functions are those of their files."""
        line = SourceLine(short_path(source.f_code.co_filename), source.f_lineno)
        self.run.log.record_place(self._keys[kind], Place(line, self.run.loop), self.run.active)


class LocalArray:
    """An array of each thread's own; its accesses are not counted: it may lie in registers."""

    def __init__(self, run: Lockstep, count: int) -> None:
        self._run, self._cells = run, [UNKNOWN] * count

    def __getitem__(self, index: Value) -> Value:
        if isinstance(index, np.ndarray) or index is UNKNOWN:
            raise depends_on_samples("The index of a local array")
        return self._cells[index]

    def __setitem__(self, index: Value, value: Value) -> None:
        if isinstance(index, np.ndarray) or index is UNKNOWN:
            raise depends_on_samples("The index of a local array")
        self._cells[index] = self._run.set(self._cells[index], value)


class _SharedMemory:
    """`cuda.shared`: an array for each call of `array`."""

    def __init__(self, run: Lockstep, names: Sequence[str], has_values: bool) -> None:
        self._run, self._names, self._has_values = run, iter(names), has_values

    def array(self, shape: Any, dtype: Any, alignment: int | None = None) -> LockstepArray:
        """Return an array of a block's own."""
        shape, kind = shape if isinstance(shape, tuple) else (shape,), np.dtype(str(dtype))
        values = None
        if self._has_values:
            values = np.zeros((self._run.blocks, math.prod(shape)), kind)
            if kind.kind == "f":
                values.fill(np.nan)
        return LockstepArray(self._run, next(self._names, "shared"), "shared", shape, kind.itemsize, values)


def cuda_of(run: Lockstep, shared_names: Sequence[str], has_values: bool) -> SimpleNamespace:
    """Return what stands for the module `cuda` in a kernel, with the names of its arrays in shared memory."""

    def grid(dimensions: int) -> Value:
        at = tuple(
            block * side + thread
            for block, side, thread in zip(run.block_index, run.block_dim, run.thread_index, strict=True)
        )
        return at[0] if dimensions == 1 else at[:dimensions]

    def add(array: LockstepArray, index: Any, value: Value) -> None:
        array.request("atomics", array.element(index))

    def axes(numbers: Sequence[Value]) -> SimpleNamespace:
        return SimpleNamespace(x=numbers[0], y=numbers[1], z=numbers[2])

    return SimpleNamespace(
        grid=grid,
        threadIdx=axes(run.thread_index),
        blockIdx=axes(run.block_index),
        blockDim=axes(run.block_dim),
        shared=_SharedMemory(run, shared_names, has_values),
        local=SimpleNamespace(array=lambda shape, dtype: LocalArray(run, shape)),
        atomic=SimpleNamespace(add=add),
        syncthreads=run.barrier,
        # The threads of a warp are in step anyway.
        syncwarp=lambda: None,
    )

"""What a device runs: launches, passes with their arguments, and a variant made ready. No Numba in here."""

import math
import threading
from collections.abc import Callable
from enum import Enum, StrEnum
from typing import Any, NamedTuple, Protocol

import numpy as np

from engine.geometry.block import Block, blocks_along

DeviceArray = Any
"""An array in a device's memory. Numba, whose it is, has no types."""
Stream = Any
"""A CUDA stream of Numba's, or a `Handle`."""
Signature = tuple[Any, ...]
"""The Numba types of a kernel's arguments."""
WEIGHTS = "haloscope_weights"
"""The name of the mask's weights in constant memory (`CudaCode.weights`)."""

# Every device that Numba knows has so many registers per block. Blocks of up to 512 threads have 128 per
# thread, more than the compiler takes by itself (61 to 96 for `tiled`).
UNLIMITED_THREADS, REGISTERS = 512, 65_536


def registers_for(threads: int) -> int | None:
    """Return the most registers per thread for blocks of `threads` threads; None: no limit."""
    return None if threads <= UNLIMITED_THREADS else max(16, REGISTERS // threads // 8 * 8)


ADDRESS = 4
"""Which of `array_parameters` is the address."""


def array_parameters(address: object, values: Any) -> list[Any]:
    """Return the parameters of a kernel that Numba passes for an array: its size, address and strides."""
    # No owner and no parent, as nothing counts references.
    return [0, 0, values.size, values.dtype.itemsize, address, *values.shape, *values.strides]


class Handle(NamedTuple):
    """A stream by its handle: another library's, or one that lasts as long as what holds it."""

    handle: int

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the protocol's version and the handle, as libraries lend streams to each other."""
        return 0, self.handle


class DeviceKind(StrEnum):
    """What a variant is written for."""

    CPU = "cpu"
    CUDA = "cuda"


class Launch(NamedTuple):
    """One kernel launch: grid and block in (x, y, z), static shared and constant memory in bytes."""

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int = 0
    constant_bytes: int = 0
    # Results of a block in columns and rows of a picture, samples where it has all channels; None: no such.
    tile: Block | None = None
    results: int = 0  # of all blocks

    @classmethod
    def of_threads(
        cls,
        rows: int,
        columns: int,
        layers: int,
        block: Block,
        shared_bytes: int = 0,
        tile: Block | None = None,
    ) -> "Launch":
        """Return the launch of blocks over rows and columns, x along columns, y along rows, z along layers.

        Each block has a tile of these, by default one result for each of its threads.
        """
        tile = tile or block
        grid = (blocks_along(columns, tile.x), blocks_along(rows, tile.y), layers)
        return cls(grid, (block.x, block.y, 1), shared_bytes, tile=tile, results=rows * columns * layers)

    @property
    def blocks(self) -> int:
        """Blocks in the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        """Threads of all blocks."""
        return self.blocks * self.block[0] * self.block[1] * self.block[2]

    @property
    def idle_threads(self) -> float | None:
        """The part of all threads that computes no result; where a thread has several, of their results."""
        if self.tile is None:
            return None
        results_of_thread = max(1, self.tile.threads * self.blocks / self.threads)
        return 1 - self.results / (results_of_thread * self.threads)


class Prepared(Protocol):
    """A variant made ready for one problem, mask and block."""

    def launch(self, image: DeviceArray, out: DeviceArray, stream: object = None) -> None:
        """Enqueue (CUDA) or do (CPU) one filtering of arrays (H, W or more, C) on the variant's own device.

        `image` is of the problem's dtype, `out` of its `result_dtype`; every sample of that is written. On
        CUDA rows may be padded: samples past the problem's width are undefined and must not change a result.
        """


class Placeholder(Enum):
    """What stands among a pass's arguments for an array that it is given when it is launched."""

    @property
    def number(self) -> int:
        """Which array of a launch it is: operands have a placeholder each, in their order."""
        return list(type(self)).index(self)


class Operand(Placeholder):
    """The arrays that most variants are launched with."""

    IMAGE = "the picture"
    SCRATCH = "float32 values between two passes, of the result's shape"
    OUT = "the result"

    @property
    def number(self) -> int:
        """Which array of a launch it is; the result is the last one."""
        return -1 if self is Operand.OUT else super().number


class Between(NamedTuple):
    """Values between two passes, of a shape of their own; of one name they are the same memory."""

    name: str
    shape: tuple[int, ...]
    dtype: str = "float32"


class HostStep(NamedTuple):
    """A step between passes that the host computes, item after item along the first axis of its arrays."""

    name: str
    takes: Between
    gives: Between | Operand
    compute: Callable[[np.ndarray, np.ndarray], None]  # of one item: values, results


class Kernel(Protocol):
    """A CUDA kernel as `cuda.jit` makes it."""

    @property
    def py_func(self) -> Callable[..., None]:
        """The Python function."""

    @property
    def targetoptions(self) -> dict[str, Any]:
        """What `cuda.jit` was called with, and what it takes for the rest."""

    def __hash__(self) -> int: ...


class Pass(NamedTuple):
    """One kernel of a CUDA variant with all its arguments.

    `arguments` are in the kernel's order: a `Placeholder`, values `Between` two passes, an array (uploaded
    once), or a number. `constant` has the name of an array in the kernel's constant memory, and its float32
    values at each launch. `part` is what is timed by itself with this pass in it; empty: the pass alone.
    """

    name: str
    kernel: Kernel
    signature: Signature
    launch: Launch
    arguments: tuple[Any, ...]
    constant: tuple[str, np.ndarray] | None = None
    part: str = ""


class DeviceView(NamedTuple):
    """An array of a device: where it begins, its shape and its type. Its samples lie one after another."""

    address: int
    shape: tuple[int, ...]
    dtype: np.dtype

    @property
    def size(self) -> int:
        """Number of samples."""
        return math.prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one index to the next, along each axis."""
        behind = (self.shape[axis + 1 :] for axis in range(len(self.shape)))
        return tuple(self.dtype.itemsize * math.prod(sides) for sides in behind)

    @property
    def __cuda_array_interface__(self) -> dict[str, object]:
        facts = {"shape": self.shape, "typestr": self.dtype.str, "data": (self.address, False)}
        return facts | {"version": 3, "strides": None}


def address_of(array: DeviceArray) -> int:
    """Return where a device array begins: of a `DeviceView` or of Numba's own."""
    return array.address if isinstance(array, DeviceView) else int(array.device_ctypes_pointer.value)


def view_of(array: DeviceArray) -> DeviceView:
    """Return what a device array is, without holding its memory."""
    return DeviceView(address_of(array), array.shape, array.dtype)


# A capture takes 0.1 to 2 ms. Reentrant: what a capture launches may take it too.
CAPTURE_LOCK = threading.RLock()
"""Held to capture launches, to wait for a context, and to use the default stream or that of a backend.

While a thread captures launches into a graph, no thread may wait for the context or use the default stream,
which waits for the others: that call fails, and the capture is lost, in every mode of capture (CUDA
Programming Guide, "Prohibited and unhandled operations" of stream capture). The stream of a backend is
shared, and another thread's work there would be captured too, so its runs and copies take the lock as well;
work on a thread's own stream does not. The lock is not fair (a thread waited for at most four turns of 1 ms):
a fair one would be Python code, and Ctrl+C between its lines could leave the device locked for ever.
"""

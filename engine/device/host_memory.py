"""Memory of the host that is used again, and where results on the CPU begin in it. No Numba in here."""

import ctypes
import math
import sys
import threading
import weakref
from collections.abc import Callable, Iterable
from contextlib import ExitStack, suppress
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import DTypeLike

Buffer = TypeVar("Buffer")

# Up to here any buffer serves.
_ANY_USE_BYTES = 1 << 16


class UnusedBuffers(Generic[Buffer]):
    """Unused buffers, the oldest first, kept for the next need of one as large.

    `size_of` gives the bytes of one. At most `most` are kept, and none serves a need that is `most_times`
    smaller. `release` is called with each that is dropped, and frees what does not go by itself. Each step is
    one operation of a dictionary: any thread may call, and a finalizer between any two lines of one in here.
    """

    def __init__(
        self,
        size_of: Callable[[Buffer], int],
        most: float = math.inf,
        release: Callable[[Buffer], None] = lambda buffer: None,
        most_times: float = 2.0,
    ) -> None:
        self._size_of, self._most, self._release, self._most_times = size_of, most, release, most_times
        self._kept: dict[int, Buffer] = {}

    def take(self, size: int) -> Buffer | None:
        """Return the smallest one of at least so many bytes, and not too many; None if there is none."""
        for buffer in sorted(self._kept.values(), key=self._size_of):
            fits = size <= self._size_of(buffer) <= max(self._most_times * size, _ANY_USE_BYTES)
            # Another thread may have been faster.
            if fits and (taken := self._kept.pop(id(buffer), None)) is not None:
                return taken
        return None

    def keep(self, buffers: Iterable[Buffer], most_bytes: float) -> None:
        """Keep buffers for others, and at most so many bytes in all: the oldest go."""
        for buffer in buffers:
            self._kept[id(buffer)] = buffer
        self.trim(most_bytes)

    def trim(self, most_bytes: float) -> None:
        """Drop the oldest until the rest is few and small enough."""
        kept = list(self._kept.values())
        while kept and (len(kept) > self._most or sum(map(self._size_of, kept)) > most_bytes):
            if (oldest := self._kept.pop(id(kept.pop(0)), None)) is not None:
                self._release(oldest)


PAGE_BYTES = 4096
# NumPy's large arrays all begin at the same offset in a page. With rows of whole pages a result is then
# written at the low address bits at which the picture is read, and both compete for the few cache lines of
# these bits: `cpu-parallel` takes 1.33 ms instead of 1.13 (5 x 5 on 2048 x 2048 float32). 256 bytes to 3 KB
# are equally good, also with rows of half or a quarter of a page.
ANTI_ALIAS_BYTES = 1536
# NumPy's own arrays begin at such addresses, so no sample lies across one.
ALIGNMENT_BYTES = 16

# Smaller arrays begin anywhere in a page.
PLACED_FROM_BYTES = 128 << 10
# The system gives and takes smaller memory without new pages: 64 MB of these take 30 ms.
REUSED_FROM_BYTES = 1 << 20
MOST_REUSED, MOST_REUSED_BYTES = 32, 512 << 20
_reused: UnusedBuffers[np.ndarray] = UnusedBuffers(lambda memory: memory.nbytes, MOST_REUSED)


class _Lent:
    """Memory of a result; it serves other results when no array refers to it any more."""

    def __init__(self, memory: np.ndarray) -> None:
        self.__array_interface__: dict[str, object] = memory.__array_interface__
        weakref.finalize(self, _reused.keep, [memory], MOST_REUSED_BYTES).atexit = False


def reused_result(image: np.ndarray, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return an array as `empty_result` does, in memory of an earlier result that is no longer referenced.

    Every view of an array refers to what it was made from, here to a `_Lent`.
    """
    size = math.prod(shape) * np.dtype(dtype).itemsize + PAGE_BYTES
    if size < PLACED_FROM_BYTES:
        return np.empty(shape, dtype)
    return placed_result(reused_array((size,), np.uint8), image, shape, dtype)


def reused_array(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return an uninitialised array, in memory of an earlier one that is no longer referenced."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < REUSED_FROM_BYTES:
        return np.empty(shape, dtype)
    memory = _reused.take(size)
    lent = np.asarray(_Lent(np.empty(size, np.uint8) if memory is None else memory))
    return lent[:size].view(dtype).reshape(shape)


def trim_reused() -> None:
    """Keep no memory of earlier results: for an idle process, or one that is to make something large.

    The C library too keeps what was freed: after a few previews of 24 megapixels 65 MB.
    """
    _reused.trim(0)
    if sys.platform == "linux":
        # musl has none, and keeps nothing.
        with suppress(AttributeError):
            ctypes.CDLL(None).malloc_trim(0)


def empty_result(image: np.ndarray, shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Return an uninitialised array that begins ANTI_ALIAS_BYTES after the picture it is computed from."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    return placed_result(np.empty(size + PAGE_BYTES, np.uint8), image, shape, dtype)


def placed_result(
    memory: np.ndarray, image: np.ndarray, shape: tuple[int, ...], dtype: DTypeLike
) -> np.ndarray:
    """Return such an array within `memory`, bytes that are at least PAGE_BYTES more than it takes."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    wanted = (image.ctypes.data + ANTI_ALIAS_BYTES) // ALIGNMENT_BYTES * ALIGNMENT_BYTES
    first = (wanted - memory.ctypes.data) % PAGE_BYTES
    return memory[first : first + size].view(dtype).reshape(shape)


class PictureMemory:
    """Counts bytes. Called on: any thread.

    Pictures wait while others take more than `most_bytes` together, but a single one has whatever it needs.
    """

    def __init__(self, most_bytes: float = math.inf) -> None:
        self._most_bytes, self._lent_bytes, self._changed = most_bytes, 0, threading.Condition()

    def enter(self, size: int, loan: ExitStack) -> None:
        """Wait until a picture that takes so many bytes may begin; the end of `loan` gives them back.

        Nothing may refer to its arrays any more by then.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: not self._lent_bytes or self._lent_bytes + size <= self._most_bytes
            )
            self._lent_bytes += size
        loan.callback(self.leave, size)

    def leave(self, size: int) -> None:
        """End a picture."""
        with self._changed:
            self._lent_bytes -= size
            self._changed.notify_all()

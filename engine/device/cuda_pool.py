"""Memory that is kept between runs: a preview or a repeated run allocates nothing on the device.

An array belongs to an object (the buffers of a run, a prepared variant); when that is dropped, the array
waits here for the next run of the same shape and type. The contents are undefined, as those of fresh memory.
What is kept is bounded, goes first when memory runs out, and is freed at the end of the program.
"""

import atexit
import math
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from engine.device.cuda_presence import SIMULATED
from engine.device.numba_cuda import cuda

MOST_ARRAYS = 24
SIMULATED_BYTES = 1 << 20
MOST_PINNED_BYTES = 1 << 30
# At most a quarter of a device's memory: the rest is for other programs, and for larger pictures.
DEVICE_SHARE = 4

Key = tuple[tuple[int, ...], np.dtype]


class Pool:
    """Arrays of one kind of memory; at most `most_bytes` of unused ones are kept.

    `allocate` makes an array of a shape and dtype, and raises where there is no memory left.
    """

    def __init__(self, allocate: Callable[[tuple[int, ...], np.dtype], Any], most_bytes: int) -> None:
        self._allocate = allocate
        self._most_bytes = most_bytes
        # Unused, the oldest first.
        self._kept: list[tuple[Key, Any]] = []
        # An owner may be dropped at any line of any thread, also while the lock is held.
        self._returned: deque[tuple[Key, Any]] = deque()
        self._lock = threading.Lock()

    def take(self, shape: tuple[int, ...], dtype: DTypeLike) -> Any:
        """Return an array that was kept, or a fresh one; `follow` names its owner."""
        key = tuple(shape), np.dtype(dtype)
        with self._lock:
            self._tidy()
            array = next((array for kept, array in reversed(self._kept) if kept == key), None)
            if array is not None:
                self._kept = [item for item in self._kept if item[1] is not array]
        return self._fresh(key) if array is None else array

    def follow(self, owner: object, *arrays: Any) -> None:
        """Keep arrays for the next run once `owner` is dropped; no work on them may be under way then."""
        for array in arrays:
            finalizer = weakref.finalize(owner, self._give_back, (tuple(array.shape), array.dtype), array)
            finalizer.atexit = False

    def release(self) -> None:
        """Free the unused arrays."""
        with self._lock:
            self._returned.clear()
            self._kept.clear()

    @property
    def kept_bytes(self) -> int:
        """Bytes of the unused arrays."""
        with self._lock:
            self._tidy()
            return sum(_size(key) for key, _ in self._kept)

    def _fresh(self, key: Key) -> Any:
        try:
            return self._allocate(*key)
        except Exception:  # "out of memory" has many types
            if not self.kept_bytes:
                raise
        self.release()
        return self._allocate(*key)

    def _give_back(self, key: Key, array: Any) -> None:
        if _size(key) > self._most_bytes:
            return
        self._returned.append((key, array))
        # Otherwise `take` tidies the next time.
        if self._lock.acquire(blocking=False):
            try:
                self._tidy()
            finally:
                self._lock.release()

    def _tidy(self) -> None:
        """Keep the arrays that were returned, and free the oldest beyond the limits."""
        while self._returned:
            self._kept.append(self._returned.popleft())
        total = sum(_size(key) for key, _ in self._kept)
        while self._kept and (total > self._most_bytes or len(self._kept) > MOST_ARRAYS):
            total -= _size(self._kept.pop(0)[0])


def _size(key: Key) -> int:
    return math.prod(key[0]) * key[1].itemsize


_pools: dict[str, Pool] = {}


def device_pool() -> Pool:
    """Return the pool of the device that is selected."""
    name = "simulator" if SIMULATED else f"cuda:{cuda.get_current_device().id}"
    if name not in _pools:
        total = 0 if SIMULATED else cuda.current_context().get_memory_info()[1]
        _pools[name] = Pool(cuda.device_array, SIMULATED_BYTES if SIMULATED else total // DEVICE_SHARE)
    return _pools[name]


def pinned_pool() -> Pool:
    """Return the pool of page-locked memory of the host."""
    return _pools.setdefault("pinned", Pool(cuda.pinned_array, MOST_PINNED_BYTES))


@atexit.register
def release_kept_memory() -> None:
    """Free everything that is kept, on devices and page-locked on the host."""
    for pool in _pools.values():
        pool.release()

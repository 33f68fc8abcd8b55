"""Arrays in shared memory: made in one process, looked at in another, never copied through the pipe.

Called on: any thread of any process. A block stays attached until `forget`; it vanishes from the system with `unlink`.
"""

import itertools
import math
import os
import shutil
import sys
import threading
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np

from engine.errors import EngineError
from engine.host.segment_names import name_of, new_prefix
from engine.host.shared_array import SharedArray


class _Block(SharedMemory):
    """A block whose arrays may outlive its name.

    NumPy views keep the memory mapped; closing while one exists raises BufferError, which at the end of the
    program would be printed for each block. The mapping goes with the last view or with the process.
    """

    def __del__(self) -> None:
        with suppress(BufferError, OSError):
            self.close()


_attached: dict[str, _Block] = {}
_made: set[str] = set()
_spare: list[_Block] = []
_prefix = new_prefix()
_numbers = itertools.count(1)
_lock = threading.Lock()
_ALIGNMENT = 64
# The results before the shown one and of a run in between: more would only hold memory.
_SPARE_BLOCKS = 3
# Of what is in use, a quarter is kept as spares. A result is larger than its picture, so that alone would keep none of
# the only picture's: those of 3840 x 2160 RGB (144 MB) are kept all the same, because fresh memory made previews of
# 1920 x 1080 take 33 instead of 18 ms, of 3840 x 2160 100 instead of 50.
_SPARE_SHARE = 0.25
_SPARE_BYTES = 160 << 20
# Where Linux has the blocks as files; elsewhere they cannot be listed.
_FOLDER = Path("/dev/shm")


class NotEnoughSharedMemory(EngineError):
    """The system has less shared memory free than a picture needs."""


def use_prefix(prefix: str) -> None:
    """Begin the names of this process's blocks so, before it makes any."""
    global _prefix
    _prefix = prefix


def create(*arrays: tuple[tuple[int, ...], str]) -> tuple[SharedArray, ...]:
    """Give one block that holds uninitialised arrays of these (shape, dtype), each on a 64-byte boundary.

    A spare block is used again where one fits: touching 35 MB of fresh shared memory for the first time took 20 of the
    36 ms of a 1920 x 1080 preview.

    Raises
    ------
    NotEnoughSharedMemory
        Touching memory that the system cannot give would kill the process, so it is asked for beforehand.
    """
    offsets, size = [], 0
    for shape, dtype in arrays:
        offsets.append(size)
        size += -(-int(np.prod(shape)) * np.dtype(dtype).itemsize // _ALIGNMENT) * _ALIGNMENT
    block = _take_spare(size)
    if block is None:
        block = _make(max(size, 1))
    with _lock:
        _attached[block.name] = block
    return tuple(
        SharedArray(block.name, tuple(shape), np.dtype(dtype).name, first_byte)
        for (shape, dtype), first_byte in zip(arrays, offsets, strict=True)
    )


def attach(array: SharedArray) -> np.ndarray:
    """Return a view of an array in shared memory; its block stays attached until `forget`."""
    with _lock:
        block = _attached.get(array.name)
        if block is None:
            block = _attached[array.name] = _Block(name=array.name)
    return np.ndarray(array.shape, array.dtype, buffer=block.buf, offset=array.first_byte)


def recycle(*names: str) -> None:
    """Take blocks back that nobody looks at any longer: those that this process made serve the next `create`."""
    forget(*(name for name in names if name not in _made))
    with _lock:
        _spare.extend(_attached.pop(name) for name in names if name in _made and name in _attached)
        in_use = sum(block.size for block in _attached.values())
    _keep_spares(max(int(_SPARE_SHARE * in_use), _SPARE_BYTES))


def _take_spare(size: int) -> _Block | None:
    """Return a spare block that is large enough without wasting more than half of itself."""
    with _lock:
        for block in _spare:
            if size <= block.size <= max(2 * size, 1 << 16):
                _spare.remove(block)
                return block
    return None


def _keep_spares(most_bytes: int) -> None:
    """Remove the oldest spare blocks until the rest is few and small enough."""
    while True:
        with _lock:
            if len(_spare) <= _SPARE_BLOCKS and sum(block.size for block in _spare) <= most_bytes:
                return
            oldest = _spare.pop(0)
        _made.discard(oldest.name)
        _close(oldest)
        _remove_name(oldest.name)


def _make(size: int) -> _Block:
    if size > _free_bytes():
        _keep_spares(0)
        _require(size)
    while True:
        # A name that somebody has left behind is passed over, and stays.
        with suppress(FileExistsError):
            block = _Block(name_of(_prefix, next(_numbers)), create=True, size=size)
            _made.add(block.name)
            return block


def _close(block: _Block) -> None:
    with suppress(BufferError):
        block.close()


def _remove_name(name: str) -> None:
    """Remove a block from the system without looking into it: one whose maker was killed at its start is empty.

    On Windows a block goes with the last process that has it attached.
    """
    if sys.platform == "win32":
        return
    from _posixshmem import shm_unlink  # type: ignore[import-not-found]

    # What Python keeps to remove at the program's end; an empty block is not there yet, and is to be.
    resource_tracker.register(f"/{name}", "shared_memory")
    resource_tracker.unregister(f"/{name}", "shared_memory")
    with suppress(FileNotFoundError):
        shm_unlink(f"/{name}")


def forget(*names: str) -> None:
    """Detach blocks here; views that still exist keep their memory until they go."""
    for name in names:
        with _lock:
            block = _attached.pop(name, None)
        if block is not None:
            _close(block)


def unlink(*names: str) -> None:
    """Detach blocks and remove their names from the system; unknown names are passed over."""
    forget(*names)
    for name in names:
        _made.discard(name)
        _remove_name(name)


def left_by(prefix: str, last: int) -> list[str]:
    """Return the names that begin so: those that there are, or where they cannot be listed the first `last`."""
    if _FOLDER.is_dir():
        return [name for name in os.listdir(_FOLDER) if name.startswith(f"{prefix}-")]
    return [name_of(prefix, number) for number in range(1, last + 1)]


def _free_bytes() -> float:
    return shutil.disk_usage(_FOLDER).free if _FOLDER.is_dir() else math.inf


def _require(size: int) -> None:
    free = _free_bytes()
    if size > free:
        raise NotEnoughSharedMemory(
            f"{size:,} bytes of shared memory",
            f"the system has {free:,} free in {_FOLDER}",
            "Use a smaller picture, or give /dev/shm more room (in a container: --shm-size=2g).",
        )

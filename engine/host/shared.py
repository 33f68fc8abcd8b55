"""Arrays in shared memory: made in one process, looked at in another, never copied through the pipe.

Called on: any thread of any process. A block stays attached until `forget`; it vanishes from the system with `unlink`.
"""

import itertools
import os
import shutil
import sys
import threading
from contextlib import suppress
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np

from engine.errors import EngineError
from engine.host.protocol import SharedArray


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
_numbers = itertools.count(1)
_lock = threading.Lock()
_ALIGNMENT = 64
# The results before the shown one and of a run in between: more would only hold memory.
_SPARE_BLOCKS = 3


class NotEnoughSharedMemory(EngineError):
    """The system has less shared memory free than a picture needs."""


def name_of(pid: int, number: int) -> str:
    """Return the name of a process's n-th block: what a killed process leaves can be found by counting."""
    return f"haloscope-{pid}-{number}"


def number_of(name: str) -> int:
    """Return n of a process's n-th block."""
    return int(name.rpartition("-")[2])


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
        _require(size)
        block = _Block(name_of(os.getpid(), next(_numbers)), create=True, size=max(size, 1))
        _made.add(block.name)
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
    for name in names:
        with _lock:
            block = _attached.pop(name, None) if name in _made else None
            if block is None:
                continue
            _spare.append(block)
            oldest = _spare.pop(0) if len(_spare) > _SPARE_BLOCKS else None
        if oldest is not None:
            _remove(oldest)


def _take_spare(size: int) -> _Block | None:
    """Return a spare block that is large enough without wasting more than half of itself."""
    with _lock:
        for block in _spare:
            if size <= block.size <= max(2 * size, 1 << 16):
                _spare.remove(block)
                return block
    return None


def _remove(block: _Block) -> None:
    _made.discard(block.name)
    with suppress(FileNotFoundError):
        block.unlink()
    with suppress(BufferError):
        block.close()


def forget(*names: str) -> None:
    """Detach blocks here; views that still exist keep their memory until they go."""
    for name in names:
        with _lock:
            block = _attached.pop(name, None)
        if block is not None:
            with suppress(BufferError):
                block.close()


def unlink(*names: str) -> None:
    """Detach blocks and remove their names from the system; unknown names are passed over."""
    for name in names:
        with _lock:
            block = _attached.pop(name, None)
        with suppress(FileNotFoundError):
            _remove(block or _Block(name=name))


def _require(size: int) -> None:
    folder = Path("/dev/shm")
    if sys.platform != "linux" or not folder.is_dir():
        return
    free = shutil.disk_usage(folder).free
    if size > free:
        raise NotEnoughSharedMemory(
            f"{size:,} bytes of shared memory",
            f"the system has {free:,} free in /dev/shm",
            "Use a smaller picture, or give /dev/shm more room (in a container: --shm-size=2g).",
        )

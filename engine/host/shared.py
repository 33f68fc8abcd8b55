"""Arrays in shared memory: made in one process, looked at in another, never copied through the pipe.

Called on: any thread of any process. A block stays attached until `forget`; it vanishes from the system with `unlink`.
"""

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
_lock = threading.Lock()
_ALIGNMENT = 64


class NotEnoughSharedMemory(EngineError):
    """The system has less shared memory free than a picture needs."""


def create(*arrays: tuple[tuple[int, ...], str]) -> tuple[SharedArray, ...]:
    """Make one block that holds uninitialised arrays of these (shape, dtype), each on a 64-byte boundary.

    Raises
    ------
    NotEnoughSharedMemory
        Touching memory that the system cannot give would kill the process, so it is asked for beforehand.
    """
    offsets, size = [], 0
    for shape, dtype in arrays:
        offsets.append(size)
        size += -(-int(np.prod(shape)) * np.dtype(dtype).itemsize // _ALIGNMENT) * _ALIGNMENT
    _require(size)
    block = _Block(create=True, size=max(size, 1))
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
            block = block or _Block(name=name)
            block.unlink()
        if block is not None:
            with suppress(BufferError):
                block.close()


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

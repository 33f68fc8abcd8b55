"""Arrays in shared memory: made in one process, read in another, never copied through the pipe.

Called on: any thread of any process. A segment stays attached until `forget`, and in the system until
`unlink`. Its name has a random part per client, the number of its host, and its own number: no two programs
use the same names, and all that a killed host has left can be found. The name of a process's n-th segment is
its prefix and n, as the prefix of a client's n-th host is. macOS takes names of 31 characters with
the leading slash: that leaves six digits for segments, and four for hosts.
"""

import itertools
import math
import os
import re
import secrets
import shutil
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from multiprocessing import resource_tracker, shared_memory
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import numpy as np

from engine.device.host_memory import UnusedBuffers, trim_reused
from engine.errors import EngineError
from engine.host.request import SharedArray


class _Segment(SharedMemory):
    """A segment whose arrays may outlive its name.

    NumPy views keep the memory mapped; closing while one exists raises BufferError, which at the end of the
    program would be printed for each segment. The mapping goes with the last view or with the process.
    """

    def close(self) -> None:
        with suppress(BufferError, OSError):
            super().close()


def new_prefix() -> str:
    """Return a random beginning of the names of a client, or of a process that has no client."""
    return f"haloscope-{secrets.token_hex(4)}"


def own_prefix() -> str:
    """Return how the names of this process's segments begin."""
    return _prefix


_attached: dict[str, _Segment] = {}
_made: set[str] = set()
_uses: dict[str, int] = {}
_prefix = new_prefix()
_numbers = itertools.count(1)
_lock = threading.Lock()
_kept_elsewhere: list[Callable[[], None]] = []
_ALIGNMENT = 64
# While previews follow each other, the previous result's segment is written next, up to 3840 x 2160 RGB (144
# MB): fresh memory made previews of 1920 x 1080 take 33 instead of 18 ms, of 3840 x 2160 100 instead of 50.
_BUSY_UNUSED_BYTES = 160 << 20
_FOLDER = Path("/dev/shm")  # where Linux has the segments as files; elsewhere they cannot be listed


class NotEnoughSharedMemory(EngineError):
    """The system has less shared memory free than a picture needs."""


def use_prefix(prefix: str) -> None:
    """Set how the names of this process's segments begin, before it makes any."""
    global _prefix
    _prefix = prefix


def create(*arrays: tuple[tuple[int, ...], str]) -> tuple[SharedArray, ...]:
    """Return uninitialised arrays of these (shape, dtype) in one segment, each on a 64-byte boundary.

    An unused segment is taken where one fits: the first touch of 35 MB of fresh shared memory took 20 of the
    36 ms of a 1920 x 1080 preview. Where too little is free, `NotEnoughSharedMemory` is raised before the
    memory is touched, which would kill the process.
    """
    offsets, size = [], 0
    for shape, dtype in arrays:
        offsets.append(size)
        size += -(-int(np.prod(shape)) * np.dtype(dtype).itemsize // _ALIGNMENT) * _ALIGNMENT
    segment = _unused.take(size) or _make(max(size, 1))
    with _lock:
        _attached[segment.name] = segment
        _uses[segment.name] = _uses.get(segment.name, 0) + 1
    return tuple(
        SharedArray(segment.name, tuple(shape), np.dtype(dtype).name, first_byte)
        for (shape, dtype), first_byte in zip(arrays, offsets, strict=True)
    )


def uses(array: SharedArray) -> int:
    """Return how often this process has given the segment to new arrays: older results are of others."""
    with _lock:
        return _uses.get(array.name, 0)


def attach(array: SharedArray) -> np.ndarray:
    """Return a view of an array in shared memory; its segment stays attached until `forget`."""
    with _lock:
        segment = _attached.get(array.name)
        if segment is None:
            segment = _attached[array.name] = _Segment(name=array.name)
    # Its base is a view that keeps the memory mapped; the one of np.ndarray(buffer=...) does not.
    assert segment.buf is not None
    count = int(np.prod(array.shape))
    return np.frombuffer(segment.buf, array.dtype, count, array.first_byte).reshape(array.shape)


def recycle(*names: str) -> None:
    """Release segments that are no longer used; this process's own are kept unused for `create`."""
    forget(*(name for name in names if name not in _made))
    with _lock:
        made = [_attached.pop(name) for name in names if name in _made and name in _attached]
    _unused.keep(made, _BUSY_UNUSED_BYTES)


def trim_unused() -> None:
    """Drop unused segments and memory of results: for a process that is idle, or begins something large."""
    for drop in _kept_elsewhere:
        drop()
    _unused.trim(0)
    trim_reused()


def keep_until_trimmed(drop: Callable[[], None]) -> None:
    """Have `trim_unused` call this too, which lets go of what is kept elsewhere."""
    _kept_elsewhere.append(drop)


def _remove(segment: _Segment) -> None:
    _made.discard(segment.name)
    _uses.pop(segment.name, None)
    segment.close()
    _remove_name(segment.name)


# The previous result and that of a run in between: more would only hold memory. Results of one picture are
# of one size; in the segment of another picture they took up to twice their memory.
_unused: UnusedBuffers[_Segment] = UnusedBuffers(lambda segment: segment.size, 3, _remove, most_times=1.25)


def _make(size: int) -> _Segment:
    if size > _free_bytes():
        _unused.trim(0)
    free = _free_bytes()
    if size > free:
        raise NotEnoughSharedMemory(
            f"{size:,} bytes of shared memory",
            f"the system has {free:,} free in {_FOLDER}",
            "Use a smaller picture, or give /dev/shm more room (in a container: --shm-size=2g).",
        )
    while True:
        # A name that is taken is skipped, and stays.
        with suppress(FileExistsError):
            segment = _Segment(f"{_prefix}-{next(_numbers)}", create=True, size=size)
            _made.add(segment.name)
            return segment


def _remove_name(name: str) -> None:
    """Remove a segment from the system without mapping it: one whose maker was killed at its start is empty.

    On Windows a segment goes with the last process that has it attached.
    """
    if sys.platform == "win32":
        return
    # Python removes what is registered here at the program's end; an empty segment is not registered yet.
    resource_tracker.register(f"/{name}", "shared_memory")
    resource_tracker.unregister(f"/{name}", "shared_memory")
    with suppress(FileNotFoundError):
        shared_memory._posixshmem.shm_unlink(f"/{name}")  # type: ignore[attr-defined]


def forget(*names: str) -> None:
    """Detach segments here; views that still exist keep their memory until they go."""
    for name in names:
        with _lock:
            segment = _attached.pop(name, None)
        if segment is not None:
            segment.close()


def unlink(*names: str) -> None:
    """Detach segments and remove their names from the system; unknown names are passed over."""
    forget(*names)
    for name in names:
        _made.discard(name)
        _remove_name(name)


def unlink_left(prefixes: Iterable[str]) -> None:
    """Remove the memory of processes that were killed together with those that Python has for that."""
    for prefix in prefixes:
        if re.fullmatch(r"haloscope-[0-9a-f]{8}", prefix):
            unlink(*left_by(prefix, 0))


def left_by(prefix: str, last: int) -> list[str]:
    """Return the existing names with this prefix; where they cannot be listed, the first `last` names."""
    if _FOLDER.is_dir():
        return [name for name in os.listdir(_FOLDER) if name.startswith(f"{prefix}-")]
    return [f"{prefix}-{number}" for number in range(1, last + 1)]


def _free_bytes() -> float:
    return shutil.disk_usage(_FOLDER).free if _FOLDER.is_dir() else math.inf


# Where segments cannot be listed they are counted: a host has at most two that it has not handed over yet,
# and three unused ones; the rest is a reserve.
_NOT_HANDED_OVER = 8


class HandedSegments:
    """The segments that a client uses, each with the host that made it, which its name begins with.

    A released segment belongs to its maker again, which reuses it. What a host owned when it ended is
    removed: the names of all segments of this client's hosts begin with `prefix`, so those of a killed host
    are found too.
    """

    def __init__(self) -> None:
        self.prefix = new_prefix()
        self._hosts = itertools.count(1)
        self._lock = threading.Lock()
        self._in_use: set[str] = set()
        self._newest: dict[str, int] = {}

    def prefix_of_next_host(self) -> str:
        """Return the prefix of the next host's segment names."""
        return f"{self.prefix}-{next(self._hosts)}"

    def hand_over(self, names: tuple[str, ...]) -> None:
        """Note that a host has handed segments over."""
        with self._lock:
            self._in_use.update(names)
            for maker, _, number in (name.rpartition("-") for name in names):
                self._newest[maker] = max(self._newest.get(maker, 0), int(number))

    def give_back(self, names: tuple[str, ...], living: str | None) -> tuple[str, ...]:
        """Release segments; remove those of no `living` maker, and return those that were handed over.

        A name that was not, or that was released before, may be in use by its maker again: it is only
        detached here.
        """
        forget(*names)
        with self._lock:
            handed = tuple(name for name in names if name in self._in_use)
            self._in_use.difference_update(handed)
        unlink(*(name for name in handed if name.rpartition("-")[0] != living))
        return handed

    def maker_ended(self, maker: str) -> None:
        """Remove what a host owned when it ended; what is still used stays."""
        with self._lock:
            last = self._newest.pop(maker, 0) + _NOT_HANDED_OVER
            in_use = set(self._in_use)
        unlink(*(name for name in left_by(maker, last) if name not in in_use))

    def remove_all(self) -> None:
        """Remove every segment that is still used."""
        with self._lock:
            names, self._in_use = self._in_use, set()
        unlink(*names)

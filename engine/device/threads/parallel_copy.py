"""Copies of the host's memory by several threads: one core reads and writes 10 GB/s, eight of them 50."""

from collections import defaultdict

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.core_count import launch_cores
from engine.device.threads.thread_pool import TASK, SharedCall

PIECE_BYTES = 128 << 10
# More cores copy no faster (H100 machine).
MOST_WORKERS = 8

_COPY = MachineFunction("engine.device.threads.thread_code", "copy_pieces", error_model="numpy")
# By the number of threads that take part; each is used by one thread at a time.
_calls: defaultdict[int, list[SharedCall]] = defaultdict(list)


def copy_array(source: np.ndarray, target: np.ndarray) -> None:
    """Copy an array into another one of its shape and type."""
    if source.flags.c_contiguous and target.flags.c_contiguous:
        copy_bytes(source.ctypes.data, target.ctypes.data, source.nbytes)
    else:
        np.copyto(target, source)


def copy_bytes(source: int, target: int, size: int) -> None:
    """Copy so many bytes from one address to another, which do not overlap."""
    workers = max(1, min(launch_cores(), MOST_WORKERS, size // PIECE_BYTES))
    try:
        call = _calls[workers].pop()
    except IndexError:
        call = SharedCall(_COPY, (0, 0, 0, PIECE_BYTES, TASK), workers)
    call.call.put(2, size)
    call.launch(source, target)
    _calls[workers].append(call)

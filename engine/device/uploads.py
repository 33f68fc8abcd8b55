"""Small arrays on the device that kernels read: uploaded once, the same one for the same contents.

Bands of a picture, repeated runs with one mask, and undone edits need the same weights. An upload goes
through the default stream, so it waits for all work under way on the device, and all other work waits for it.
"""

import atexit
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np

from engine.device.capture_lock import CAPTURE_LOCK
from engine.device.cuda_pool import Pool, device_pool

MOST_KEPT = 16

Contents = tuple[tuple[int, ...], str, bytes]


class Upload:
    """A read-only array on the device; its memory is used again when this is dropped."""

    def __init__(self, array: Any) -> None:
        self.array = array


# For each device, the latest last.
_kept: "weakref.WeakKeyDictionary[Pool, OrderedDict[Contents, Upload]]" = weakref.WeakKeyDictionary()


def uploaded(values: np.ndarray) -> Upload:
    """Return an array of the selected device with a copy of these values; keep it while kernels read it."""
    # A copy: simulated arrays of one element share the host's memory.
    host = np.array(values, order="C")
    pool = device_pool()
    kept = _kept.setdefault(pool, OrderedDict())
    contents = host.shape, host.dtype.str, host.tobytes()
    found = kept.pop(contents, None)
    if found is None:
        array = pool.take(host.shape, host.dtype)
        with CAPTURE_LOCK:
            array.copy_to_device(host)
        found = Upload(array)
        pool.follow(found, array)
    kept[contents] = found
    if len(kept) > MOST_KEPT:
        kept.popitem(last=False)
    return found


# Before the pools free their memory at the end of the program: registered later, called earlier.
atexit.register(_kept.clear)

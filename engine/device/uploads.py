"""Small arrays on the device that kernels read: uploaded once, the same one for the same contents.

Bands of a picture, runs again with one mask, and edits that a person takes back ask for the same weights. An upload goes
through the default stream, so it waits for all that is under way on the device, and everything else waits for it.
"""

import atexit
import weakref
from collections import OrderedDict
from typing import Any

import numpy as np

from engine.device.capture_lock import WHOLE_DEVICE
from engine.device.cuda_pool import Pool, device_pool

MOST_KEPT = 16

Contents = tuple[tuple[int, ...], str, bytes]


class Upload:
    """An array on the device with its contents, lent: its memory is used again when nobody has this any longer.

    Attributes
    ----------
    array : device array
        Nobody writes into it.
    """

    def __init__(self, array: Any) -> None:
        self.array = array


# Of each device, the latest last.
_kept: "weakref.WeakKeyDictionary[Pool, OrderedDict[Contents, Upload]]" = weakref.WeakKeyDictionary()


def uploaded(values: np.ndarray) -> Upload:
    """Return an array of the selected device with these values; whoever launches kernels with it keeps it as long.

    Parameters
    ----------
    values : ndarray
        Of any shape and type; a copy of it is what is remembered.
    """
    # A copy: simulated arrays of one element share the host's memory.
    host = np.array(values, order="C")
    pool = device_pool()
    kept = _kept.setdefault(pool, OrderedDict())
    contents = host.shape, host.dtype.str, host.tobytes()
    found = kept.pop(contents, None) or _upload(pool, host)
    kept[contents] = found
    if len(kept) > MOST_KEPT:
        kept.popitem(last=False)
    return found


def _upload(pool: Pool, host: np.ndarray) -> Upload:
    array = pool.take(host.shape, host.dtype)
    with WHOLE_DEVICE:
        array.copy_to_device(host)
    upload = Upload(array)
    pool.follow(upload, array)
    return upload


# Before the pools give their memory back at the end of the program: registered later, called earlier.
atexit.register(_kept.clear)

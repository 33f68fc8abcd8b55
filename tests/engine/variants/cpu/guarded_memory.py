"""Arrays beside a page that may not be touched: reading or writing past one ends the process."""

import ctypes
import mmap
import sys

import numpy as np

PROT_NONE = 0


def guarded(array, *, at_end):
    """Return a copy of an array that ends where such a page begins, or begins where one ends."""
    if sys.platform == "win32":
        return array.copy()
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    page = mmap.PAGESIZE
    taken = -(-array.nbytes // page) * page
    memory = mmap.mmap(-1, page + taken + page)
    begin = page + (taken - array.nbytes if at_end else 0)
    copy = np.frombuffer(memory, array.dtype, array.size, begin).reshape(array.shape)
    copy[...] = array
    first = np.frombuffer(memory, np.uint8).ctypes.data
    for guard in (first, first + page + taken):
        if libc.mprotect(guard, page, PROT_NONE):
            raise OSError(ctypes.get_errno(), "mprotect")
    return copy

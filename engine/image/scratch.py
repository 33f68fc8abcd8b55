"""Memory of a decoder that is given back band by band, while the picture is made of it."""

import errno
import math
import mmap
from collections.abc import Iterator
from contextlib import suppress

import numpy as np
from numpy.typing import DTypeLike

# Bands of 1 MB stay in a core's cache, and what a conversion to float64 takes of them stays small.
_BAND_BYTES = 2**20


class Scratch:
    """An array of zeros (`array`) in memory of its own, of which parts can be given back to the system.

    An array of NumPy's is given back as a whole: while a second one is made of it, both are held. Pages are
    small here even where NumPy asks for huge ones, so that an array that is filled column by column grows as
    it is filled. `huge_pages` asks for them all the same: what is timed has the memory that NumPy gives.
    Of `memory` there is a byte more. Raises MemoryError where the system has not that much.
    """

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike, *, huge_pages: bool = False) -> None:
        count = math.prod(shape)
        try:
            self.memory = _private_memory(
                count * np.dtype(dtype).itemsize + 1, "MADV_HUGEPAGE" if huge_pages else "MADV_NOHUGEPAGE"
            )
        except OSError as error:
            if error.errno != errno.ENOMEM:
                raise
            raise MemoryError from error
        self.array: np.ndarray = np.frombuffer(self.memory, dtype, count).reshape(shape)
        self._begin = self.array.ctypes.data

    def give_back(self, part: np.ndarray) -> None:
        """Give back the whole pages of a contiguous part of the array; its values are lost."""
        if not hasattr(mmap, "MADV_DONTNEED"):
            return
        begin = part.ctypes.data - self._begin
        # Inwards: what lies beside it in the first and the last page may still be needed.
        first = -(-begin // mmap.PAGESIZE) * mmap.PAGESIZE
        last = (begin + part.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
        if last > first:
            self.memory.madvise(mmap.MADV_DONTNEED, first, last - first)


def bands(rows: int, row_bytes: int) -> Iterator[slice]:
    """Cut rows into bands of about 1 MB; `row_bytes` is the size of a row before or after its conversion."""
    step = max(1, _BAND_BYTES // max(1, row_bytes))
    for begin in range(0, rows, step):
        yield slice(begin, min(rows, begin + step))


def bands_of(array: np.ndarray) -> Iterator[slice]:
    """Cut the rows of an array into bands of about 1 MB."""
    return bands(len(array), array.nbytes // max(1, len(array)))


def _private_memory(size: int, pages: str) -> mmap.mmap:
    if not hasattr(mmap, "MAP_PRIVATE"):
        return mmap.mmap(-1, size)
    # Shared memory would not be given back by MADV_DONTNEED.
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if hasattr(mmap, pages):
        # A kernel without huge pages refuses to be asked about them.
        with suppress(OSError):
            memory.madvise(getattr(mmap, pages))
    return memory

"""What serves a warp's request: sectors and lines of global memory, wavefronts of shared memory.

Many requests at once: an array of shape (requests, 32) has an address for each thread of a warp, another
says which threads are active. No Numba in here.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.explain.accesses import BANKS, LINE_BYTES, SECTOR_BYTES, WARP, WORD_BYTES

Numbers = NDArray[np.int64]
Flags = NDArray[np.bool_]


class Lines(NamedTuple):
    """What requests to global memory take, each of them; `numbers` are those of its sectors.

    `numbers` has the different sectors of all requests, and `owners` whose they are.
    """

    sectors: Numbers
    transactions: Numbers
    numbers: Numbers
    owners: Numbers


def sectors_of(addresses: Numbers, active: Flags, size: int) -> Lines:
    """Return the sectors and lines that requests touch; `size` bytes from each address on, at most 32."""
    sectors = addresses // SECTOR_BYTES
    last = (addresses + (size - 1)) // SECTOR_BYTES
    if not np.array_equal(sectors, last):
        sectors, active = np.hstack([sectors, last]), np.hstack([active, active])
    different, sectors = _different(sectors, active)
    lines, _ = _different(sectors // (LINE_BYTES // SECTOR_BYTES), sectors >= 0)
    owners, columns = np.nonzero(different)
    return Lines(different.sum(1), lines.sum(1), sectors[owners, columns], owners)


def _different(numbers: Numbers, active: Flags) -> tuple[Flags, Numbers]:
    """Return where in each row a number stands for the first time, and the rows, sorted where need be.

    Numbers of threads that are not active are -1.
    """
    if not active.all():
        numbers = np.where(active, numbers, -1)
    steps = np.diff(numbers, axis=1)
    unsorted = (steps < 0).any(1)
    if unsorted.any():
        numbers = numbers.copy()
        numbers[unsorted] = np.sort(numbers[unsorted], axis=1)
        steps[unsorted] = np.diff(numbers[unsorted], axis=1)
    first = np.empty(numbers.shape, bool)
    first[:, 0] = True
    np.not_equal(steps, 0, out=first[:, 1:])
    first &= numbers >= 0
    return first, numbers


def wavefronts_of(addresses: Numbers, active: Flags, size: int) -> Numbers:
    """Return the wavefronts of requests to shared memory, `size` bytes from each address on.

    Up to 4 bytes a warp is served together; of 8 bytes each half of it, of 16 each quarter.
    """
    words_each = max(1, size // WORD_BYTES)
    words = addresses // WORD_BYTES
    if words_each > 1:
        words = (words[..., None] + np.arange(words_each)).reshape(-1, WARP)
        active = np.repeat(active, words_each, axis=-1).reshape(-1, WARP)
    first, words = _different(words, active)
    rows, columns = np.nonzero(first)
    in_banks = np.bincount(rows * BANKS + words[rows, columns] % BANKS, minlength=len(words) * BANKS)
    return in_banks.reshape(-1, words_each, BANKS).max(2).sum(1)


def words_of(addresses: Numbers, active: Flags, size: int) -> Numbers:
    """Return the different addresses of requests to constant memory, which are served one by one."""
    first, _ = _different(addresses // WORD_BYTES, active)
    return first.sum(1)

"""What serves a warp's request: sectors and lines of global memory, wavefronts of shared memory.

Many requests at once: an array of shape (requests, 32) has an address for each thread of a warp, another
says which threads are active, at least one of each request. No Numba in here.
"""

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from engine.explain.counts.accesses import BANKS, LINE_BYTES, SECTOR_BYTES, WARP, WORD_BYTES

Numbers = NDArray[np.signedinteger[Any]]
Flags = NDArray[np.bool_]
S = TypeVar("S", bound=np.generic)

# Shifts, since dividing takes ten times as long.
_SECTOR, _LINE, _WORD = (size.bit_length() - 1 for size in (SECTOR_BYTES, LINE_BYTES, WORD_BYTES))


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
    lanes, takes_part = _by_lanes(addresses), _by_lanes(active)
    sectors = lanes >> _SECTOR
    if (lanes & (size - 1)).any():
        # Not aligned: an access may lie in two sectors.
        sectors = np.vstack([sectors, (lanes + (size - 1)) >> _SECTOR])
        takes_part = np.vstack([takes_part, takes_part])
    different, sectors = _different(sectors, takes_part)
    lines, _ = _different(sectors >> (_LINE - _SECTOR))
    _, owners = np.nonzero(different)
    return Lines(_how_many(different), _how_many(lines), sectors[different], owners)


def wavefronts_of(addresses: Numbers, active: Flags, size: int) -> Numbers:
    """Return the wavefronts of requests to shared memory, `size` bytes from each address on.

    Up to 4 bytes a warp is served together; of 8 bytes each half of it, of 16 each quarter.
    """
    words_each = max(1, size >> _WORD)
    words = addresses >> _WORD
    if words_each > 1:
        words = (words[..., None] + np.arange(words_each)).reshape(-1, WARP)
        active = np.repeat(active, words_each, axis=-1).reshape(-1, WARP)
    different, words = _different(_by_lanes(words), _by_lanes(active))
    if (words[-1] - words[0] < BANKS).all() and (words[0] >= 0).all():
        # Neighbours lie in different banks.
        fronts = different.any(0).astype(np.int64)
    else:
        _, requests = np.nonzero(different)
        banks = requests * BANKS + words[different] % BANKS
        in_banks = np.bincount(banks, minlength=words.shape[1] * BANKS)
        fronts = in_banks.reshape(-1, BANKS).max(1)
    of_requests: Numbers = fronts.reshape(-1, words_each).sum(1)
    return of_requests


def words_of(addresses: Numbers, active: Flags) -> Numbers:
    """Return the different words of requests to constant memory, which are served one by one."""
    different, _ = _different(_by_lanes(addresses >> _WORD), _by_lanes(active))
    return _how_many(different)


def _by_lanes(of_requests: NDArray[S]) -> NDArray[S]:
    """Return arrays a row for each thread: NumPy adds up whole rows four times as fast."""
    return np.ascontiguousarray(of_requests.T)


def _different(numbers: Numbers, active: Flags | None = None) -> tuple[Flags, Numbers]:
    """Return where in each column a number stands for the first time, and the columns sorted.

    Numbers of threads that are not active become -1, and stand nowhere for the first time.
    """
    if active is not None and not active.all():
        numbers = np.where(active, numbers, -1)
    steps = numbers[1:] - numbers[:-1]
    if steps.min() < 0:
        unsorted = (steps < 0).any(0)
        numbers = numbers.copy()
        numbers[:, unsorted] = np.sort(numbers[:, unsorted], axis=0)
        steps = numbers[1:] - numbers[:-1]
    different = np.empty(numbers.shape, bool)
    different[0] = numbers[0] >= 0
    np.not_equal(steps, 0, out=different[1:])
    return different, numbers


def _how_many(flags: Flags) -> Numbers:
    found: Numbers = flags.view(np.uint8).sum(0, dtype=np.uint8).astype(np.int64)
    return found

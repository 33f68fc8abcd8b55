"""Memory of a launch: arrays in global and constant memory, shared memory of blocks, local of threads.

Addresses are 64-bit numbers as on a device. Each array lies in 2^40 addresses of its own, so that a wrong
index never meets another array; windows above stand for shared and local memory where a generic address
points there. No address is used before it is checked.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.ptx.active import Active
from engine.ptx.hazards import Hazards
from engine.ptx.module import Instruction, PtxError
from engine.ptx.types import Values

ARRAY_SHIFT = 40
SHARED_WINDOW, LOCAL_WINDOW = 1 << 60, 1 << 61
# What a load outside of every array gives, byte by byte: NaN as a float32.
OUTSIDE_BYTE = 0xFF


@dataclass(eq=False)
class Array:
    """An array that a kernel is launched with.

    Parameters
    ----------
    name : str
        What findings call it.
    values : ndarray
        Contiguous; the kernel reads and writes it in place.
    is_output : bool
        Whether its contents count as not written before the kernel writes them.
    around : ndarray, optional
        Contiguous memory that the values are a part of, and that the kernel may reach into.
    """

    name: str
    values: np.ndarray
    is_output: bool = False
    around: np.ndarray | None = None

    def __post_init__(self) -> None:
        if not self.values.flags.c_contiguous:
            raise ValueError(f"{self.name} is not contiguous")


@dataclass(eq=False)
class Segment:
    """A stretch of memory: an array, or the shared or local memory of all blocks or threads that run.

    `owner_bytes` is what one owner (block, thread) has, and `stride` how far their parts lie apart.
    """

    name: str
    space: str  # "global", "const", "shared" or "local"
    data: np.ndarray  # uint8
    base: int
    owner_bytes: int
    stride: int = 0
    granule: int = 0  # the places that `hazards` knows are 2 to this bytes long
    hazards: Hazards | None = None
    array: np.ndarray | None = None  # with its own type, of one that the kernel is launched with

    def view(self, dtype: np.dtype) -> np.ndarray:
        """Return its bytes as values of a type; what is left over at its end is not seen."""
        return self.data[: len(self.data) // dtype.itemsize * dtype.itemsize].view(dtype)

    def watch(self, place_bytes: int, *, is_written: bool = False, tracks_reads: bool = True) -> None:
        """Check accesses to it from now on, in places of so many bytes."""
        self.granule, places = place_bytes.bit_length() - 1, len(self.data) // place_bytes
        is_global = self.space == "global"
        self.hazards = Hazards(places, is_written, among_blocks=is_global, tracks_reads=tracks_reads)

    def contains(self, offsets: Values, size: int) -> Values:
        """Return which offsets, as uint64, lie within with `size` bytes behind them."""
        room = self.owner_bytes - size
        return offsets <= np.uint64(room) if room >= 0 else np.zeros(np.shape(offsets), bool)


class Access(NamedTuple):
    """An access of threads that are at one place to one segment of memory."""

    instruction: Instruction
    effect: str  # "read", "write", "copy", "update" or, without a look at what was there, "swap"
    size: int  # in bytes, of each thread
    segment: Segment
    offsets: Values  # within the memory of each thread's owner, uint64
    flat: Values  # within the segment's data, int64
    active: Active
    at: NDArray[np.intp] | None  # which of the threads that are together these are; None: all


def refuse_more(size: int, most: int, what: str) -> None:
    """Refuse a launch that takes more than a device has."""
    if size > most:
        raise PtxError("the launch", f"it has {size:,} bytes {what}; {most:,} are possible")

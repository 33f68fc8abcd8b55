"""What a picture will be once it is decoded, and the limit on its memory.

Both are known from the header alone, before anything is allocated.
"""

import errno
import math
import mmap
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike

from engine.image.faults import Refused


@dataclass(frozen=True, slots=True)
class Form:
    """Size and type of the samples of a picture.

    `height` and `width` are rows and columns as the file stores them, `channels` is 1 (grey) or 3 (RGB),
    `dtype` uint8, uint16 or float32.
    """

    height: int
    width: int
    channels: int
    has_alpha: bool
    dtype: np.dtype

    @classmethod
    def of_samples(cls, height: int, width: int, samples: int, dtype: np.dtype) -> Self:
        """Return the form of a picture of 1 to 4 samples per pixel: grey or RGB, with or without alpha."""
        return cls(height, width, 1 if samples < 3 else 3, samples in (2, 4), dtype)

    @property
    def plane_shape(self) -> tuple[int, int]:
        """Shape of one channel, and of the alpha."""
        return self.height, self.width

    @property
    def colour_shape(self) -> tuple[int, ...]:
        """Shape of the pixels without alpha: grey has no third axis."""
        return self.plane_shape if self.channels == 1 else (*self.plane_shape, self.channels)

    @property
    def pixel_count(self) -> int:
        """Rows times columns."""
        return self.height * self.width

    @property
    def values(self) -> int:
        """Number of samples of all channels, alpha counted."""
        return self.pixel_count * (self.channels + self.has_alpha)

    @property
    def decoded_bytes(self) -> int:
        """Memory of the decoded picture, bytes."""
        return self.values * self.dtype.itemsize


# 4 GiB hold 35,000 x 40,000 RGB at 8 bit: beyond every camera, within the memory of most machines.
DEFAULT_MAX_BYTES = 4 * 2**30

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
RAISE_LIMIT = "Open a smaller picture or a part of it, or raise the limit (max_bytes, --max-bytes)."


class Budget(NamedTuple):
    """How much memory a picture may take, and what will be done with it.

    `work_bytes` returns the most memory that what follows takes at any time, the decoded picture counted,
    bytes; `work` says what follows, in words before the picture's size ("filtering and saving"); `remedy` is
    what a person can do about a picture that takes more.
    """

    max_bytes: int
    work_bytes: Callable[[Form], int] | None = None
    work: str = ""
    remedy: str = RAISE_LIMIT

    def check(self, form: Form, decoder_bytes: int = 0) -> None:
        """Raise `Refused`, with both sizes, for a picture that has no pixels or takes more than the limit.

        `decoder_bytes` is the most that its decoder holds beside the decoded picture. What stays below some
        10 MB, or is given back as fast as the picture grows, is not counted.
        """
        if form.width < 1 or form.height < 1:
            raise Refused(f"its header says {form.width} × {form.height} pixels")
        pixels = f"{form.width:,} × {form.height:,} pixels"
        needs = [
            (form.decoded_bytes, f"its {pixels} take"),
            (form.decoded_bytes + decoder_bytes, f"decoding its {pixels} takes"),
        ]
        if self.work_bytes is not None:
            needs.append((self.work_bytes(form), f"{self.work} its {pixels} takes"))
        for needed_bytes, words in needs:
            if needed_bytes > self.max_bytes:
                sizes = f"{bytes_text(needed_bytes)}, the limit is {bytes_text(self.max_bytes)}"
                raise Refused(f"{words} {sizes}", self.remedy)


def check_long_enough(form: Form, byte_count: int, least_bytes: int, what: str = "it has") -> None:
    """Raise `Refused` for a file, or compressed pixels, too short to hold the picture."""
    if byte_count < least_bytes:
        raise Refused(
            f"{what} {byte_count:,} bytes, its {form.width:,} × {form.height:,} pixels take "
            f"{least_bytes:,} at least: it was cut short or its header is damaged"
        )


def bytes_text(count: int) -> str:
    """Write a number of bytes as people read it: "820 bytes", "4.0 GiB"."""
    if count < 1024:
        return f"{count} bytes"
    power = min((count.bit_length() - 1) // 10, len(_UNITS))
    return f"{count / 1024**power:,.1f} {_UNITS[power - 1]}"


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

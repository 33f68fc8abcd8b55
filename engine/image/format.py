"""What the program knows of a picture format (each is in `engine.image.formats`), and its decoder works with.

What a picture will be once it is decoded (`Form`), and the limit on its memory (`Budget`), are known from the
header alone, before anything is allocated. Every decoder puts its rows onto a `Canvas`, on which they are
stored upright.
"""

import errno
import math
import mmap
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import BinaryIO, NamedTuple, Self

import numpy as np
from numpy.typing import DTypeLike

from engine.image.convert import bands_of
from engine.image.faults import Refused
from engine.image.metadata import NO_METADATA, Metadata
from engine.process import bytes_text


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

    def check_long_enough(self, byte_count: int, least_bytes: int, what: str = "it has") -> None:
        """Raise `Refused` for a file, or compressed pixels, too short to hold the picture."""
        if byte_count < least_bytes:
            pixels = f"its {self.width:,} × {self.height:,} pixels take {least_bytes:,} at least"
            why = "it was cut short or its header is damaged"
            raise Refused(f"{what} {byte_count:,} bytes, {pixels}: {why}")


MOST_CHANNELS = 4

Allocate = Callable[[Form], tuple[np.ndarray, np.ndarray | None]]
"""Returns the arrays of an upright picture: (H, W) or (H, W, 3), and (H, W) for its alpha, C contiguous."""


# 4 GiB hold 35,000 x 40,000 RGB at 8 bit: beyond every camera, within the memory of most machines.
DEFAULT_MAX_BYTES = 4 * 2**30

RAISE_LIMIT = "Open a smaller picture or a part of it, or raise the limit (max_bytes, --max-bytes)."


class Budget(NamedTuple):
    """How much memory a picture may take, which memory that is, and what will be done with it.

    `work_bytes` returns the most memory that what follows takes at any time, the decoded picture counted,
    bytes; `work` says what follows, in words before the picture's size ("filtering and saving"); `remedy` is
    what a person can do about a picture that takes more. `allocate` is called once, after all checks.
    """

    max_bytes: int
    work_bytes: Callable[[Form], int] | None = None
    work: str = ""
    remedy: str = RAISE_LIMIT
    allocate: Allocate | None = None

    def check(self, form: Form, decoder_bytes: int = 0) -> None:
        """Raise `Refused`, with both sizes, for a picture that has no pixels or takes more than the limit.

        `decoder_bytes` is the most that its decoder holds beside the decoded picture. What stays below some
        10 MB, or is given back as fast as the picture grows, is not counted.
        """
        if form.width < 1 or form.height < 1:
            raise Refused(f"its header says {form.width} × {form.height} pixels")
        pixels = f"{form.width:,} × {form.height:,} pixels"
        decoded, decoding = form.decoded_bytes, form.decoded_bytes + decoder_bytes
        needs = [(decoded, f"its {pixels} take"), (decoding, f"decoding its {pixels} takes")]
        if self.work_bytes is not None:
            needs.append((self.work_bytes(form), f"{self.work} its {pixels} takes"))
        for needed_bytes, words in needs:
            if needed_bytes > self.max_bytes:
                sizes = f"{bytes_text(needed_bytes)}, the limit is {bytes_text(self.max_bytes)}"
                raise Refused(f"{words} {sizes}", self.remedy)

    def canvas(self, form: Form, orientation: int = 1) -> "Canvas":
        """Return what the rows of a picture are put onto, in the memory of whoever opens it."""
        return Canvas(form, orientation, self.allocate)

    def canvas_of(self, samples: np.ndarray, orientation: int = 1) -> "Canvas":
        """Return the canvas of a picture that a decoder has put into an array of its own."""
        height, width, channels = (*samples.shape, 1)[:3]
        canvas = self.canvas(Form.of_samples(height, width, channels, samples.dtype), orientation)
        canvas.put_all(samples)
        return canvas


class Scratch:
    """An array of zeros (`array`) in memory of its own, of which parts can be given back to the system.

    An array of NumPy's is given back as a whole: while a second one is made of it, both are held. Pages are
    small here even where NumPy asks for huge ones, so that an array that is filled column by column grows as
    it is filled. `huge_pages` asks for them all the same: what is timed has the memory that NumPy gives.
    Of `memory` there is a byte more. Raises MemoryError where the system has not that much.
    """

    def __init__(self, shape: tuple[int, ...], dtype: DTypeLike, *, huge_pages: bool = False) -> None:
        count = math.prod(shape)
        # Shared memory would not be given back by MADV_DONTNEED.
        private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
        try:
            self.memory = mmap.mmap(-1, count * np.dtype(dtype).itemsize + 1, **private)
        except OSError as error:
            if error.errno != errno.ENOMEM:
                raise
            raise MemoryError from error
        # A kernel without huge pages refuses advice about them.
        if advice := getattr(mmap, "MADV_HUGEPAGE" if huge_pages else "MADV_NOHUGEPAGE", None):
            with suppress(OSError):
                self.memory.madvise(advice)
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


# EXIF orientations in which rows of the file are columns of the upright picture.
_TURNED = (5, 6, 7, 8)


class Canvas:
    """Upright `pixels` and `alpha` of a picture, filled band by band.

    `form` is that of the picture as the file stores it, `orientation` that of EXIF (1 to 8; any other number
    counts as 1). `allocate` is called once, with the form of the upright picture.
    """

    def __init__(self, form: Form, orientation: int = 1, allocate: Allocate | None = None) -> None:
        self._form = form
        is_turned = orientation in _TURNED
        upright = replace(form, height=form.width, width=form.height) if is_turned else form
        # Bands of a rotated picture are columns: with NumPy's huge pages the first would take all memory.
        make: Callable[..., np.ndarray] = (lambda *how: Scratch(*how).array) if is_turned else np.empty
        if allocate is not None:
            self.pixels, self.alpha = allocate(upright)
        else:
            self.pixels = make(upright.colour_shape, form.dtype)
            self.alpha = make(upright.plane_shape, form.dtype) if form.has_alpha else None
        self._pixels = _as_stored(self.pixels, orientation)
        self._alpha = None if self.alpha is None else _as_stored(self.alpha, orientation)

    def put_samples(self, rows: slice, samples: np.ndarray) -> None:
        """Put some rows whose pixels are the colours and then, where the picture has it, the alpha."""
        if self._alpha is None:
            self._pixels[rows] = samples.reshape(self._pixels[rows].shape)
        else:
            self._pixels[rows] = samples[..., 0] if self._form.channels == 1 else samples[..., :-1]
            self._alpha[rows] = samples[..., -1]

    def decode_into(self, decode: Callable[[np.ndarray], object]) -> None:
        """Let a decoder fill an array with all samples of the file, and put them in their place.

        The array has shape (H, W) or (H, W, S): the colours and then, where the picture has it, the alpha.
        Where that is how the picture lies in memory, the array is the picture itself.
        """
        if self.alpha is None and self._pixels.flags.c_contiguous:
            decode(self.pixels)
            return
        plane, count = self._form.plane_shape, self._form.channels + self._form.has_alpha
        scratch = Scratch(plane if count == 1 else (*plane, count), self._form.dtype)
        decode(scratch.array)
        self.put_all(scratch.array, done=scratch.give_back)

    def put_all(
        self,
        samples: np.ndarray,
        convert: Callable[[np.ndarray], np.ndarray] = np.asarray,
        done: Callable[[np.ndarray], None] = lambda rows: None,
    ) -> None:
        """Put all rows, band by band; `done` is called with those that are not read again."""
        for rows in bands_of(samples):
            self.put_samples(rows, convert(samples[rows]))
            done(samples[rows])


def _as_stored(image: np.ndarray, orientation: int) -> np.ndarray:
    """View an upright image as a file of an EXIF orientation stores it."""
    # The standard names the edges where row 0 and column 0 belong.
    if orientation in (3, 4, 7, 8):
        image = np.flip(image, 0)
    if orientation in (2, 3, 6, 7):
        image = np.flip(image, 1)
    return image.swapaxes(0, 1) if orientation in _TURNED else image


class Decoded(NamedTuple):
    """What a decoder returns: the upright picture, sentences for the person, other metadata."""

    canvas: Canvas
    icc_profile: bytes | None = None
    notes: tuple[str, ...] = ()
    metadata: Metadata = NO_METADATA


DEFAULT_QUALITY = 95
"""That of lossy files if no other one is chosen."""


@dataclass(frozen=True, slots=True)
class Format:
    """One picture format."""

    title: str  # its name for people, and in `Picture.format`
    suffixes: tuple[str, ...]  # what its file names end in, in lower case
    signatures: tuple[bytes, ...]  # each a beginning of its files; "?" stands for any byte
    decode: Callable[[BinaryIO, Budget], Decoded]
    """Decodes a file from its start, after its form was checked by the budget. It raises `Refused` or
    `Unsupported`; errors of libraries pass through."""
    unsupported: tuple[tuple[str, str], ...] = ()
    """Regular expressions for what its library says of intact files that it cannot read, and their kinds."""
    encode: Callable[..., bytes | memoryview] | None = None
    """Encodes a picture with a quality of 1 to 100. None: such files are not written."""
    reads_once: bool = False
    """Whether its encoder reads each row once, and calls a third argument, `done`, with those it has read."""
    saved_suffixes: tuple[str, ...] = ()  # those that choose it for saving; the first one is offered
    dtypes: tuple[type, ...] = ()  # the sample types that it saves
    has_quality: bool = False  # whether the quality changes its files; others are exact
    # What it cannot keep is left out with a sentence.
    keeps_alpha: bool = True
    keeps_grey: bool = True
    keeps_profile: bool = True
    most_exif_bytes: int = 0
    """The most EXIF data that it holds; 0: neither that nor a resolution. What it does not is named."""
    max_side: int | None = None  # the most pixels on a side that its header can hold
    encoder_bytes: int = 0  # memory that its encoder takes beside the picture and the file, bytes per pixel
    encoder_copies: int = 0  # copies of the picture that its encoder makes

    def holds(self, dtype: object, side: int = 1) -> bool:
        """Return whether a picture of this sample type and longer side can be saved in it."""
        return dtype in self.dtypes and (self.max_side is None or side <= self.max_side)

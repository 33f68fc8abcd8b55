"""What the program knows of a picture format: each in `engine.image.formats` states it once.

Every decoder puts its rows onto a `Canvas`, on which they are stored upright.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import BinaryIO, NamedTuple

import numpy as np

from engine.image.form import Budget, Form, Scratch, bands
from engine.image.metadata import NO_METADATA, Metadata

Allocate = Callable[[Form], tuple[np.ndarray, np.ndarray | None]]
"""Returns the arrays of an upright picture: (H, W) or (H, W, 3), and (H, W) for its alpha, C contiguous."""

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
        # Bands of a rotated picture are columns: with NumPy's huge pages the first would take all its memory.
        self.pixels, self.alpha = allocate(upright) if allocate else _arrays(upright, small_pages=is_turned)
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
        form = self._form
        count = form.channels + form.has_alpha
        scratch = Scratch(form.plane_shape if count == 1 else (*form.plane_shape, count), form.dtype)
        decode(scratch.array)
        for rows in bands(form.height, form.decoded_bytes // form.height):
            self.put_samples(rows, scratch.array[rows])
            scratch.give_back(scratch.array[rows])


def canvas_of(samples: np.ndarray, orientation: int, allocate: Allocate | None) -> Canvas:
    """Return the canvas of a picture that a decoder has put into an array of its own."""
    height, width, *channels = samples.shape
    form = Form.of_samples(height, width, channels[0] if channels else 1, samples.dtype)
    canvas = Canvas(form, orientation, allocate)
    for rows in bands(height, form.decoded_bytes // height):
        canvas.put_samples(rows, samples[rows])
    return canvas


def _arrays(form: Form, *, small_pages: bool) -> tuple[np.ndarray, np.ndarray | None]:
    shapes = (form.colour_shape, form.plane_shape)[: 1 + form.has_alpha]
    made = [Scratch(one, form.dtype).array if small_pages else np.empty(one, form.dtype) for one in shapes]
    return made[0], made[1] if form.has_alpha else None


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
"""That of files with losses where nobody chooses another one."""


@dataclass(frozen=True, slots=True)
class Format:
    """One picture format."""

    title: str
    """Its name for people, and in `Picture.format`."""
    suffixes: tuple[str, ...]
    """What its file names end in, in lower case."""
    signatures: tuple[bytes, ...]
    """Each a beginning of its files; "?" stands for any byte."""
    decode: Callable[[BinaryIO, Budget, Allocate | None], Decoded]
    """Decodes a file from its start, after its form was checked by the budget. It raises `Refused` or
    `Unsupported`; errors of libraries pass through."""
    unsupported: tuple[tuple[str, str], ...] = ()
    """Regular expressions for what its library says of intact files that it cannot read, and their kinds."""
    encode: Callable[..., bytes | memoryview] | None = None
    """Encodes a picture with a quality of 1 to 100. None: such files are not written."""
    reads_once: bool = False
    """Whether its encoder reads each row once, and calls a third argument, `done`, with those it has read."""
    saved_suffixes: tuple[str, ...] = ()
    """The suffixes that choose it for saving; the first one is offered."""
    dtypes: tuple[type, ...] = ()
    """The sample types that it saves."""
    has_quality: bool = False
    """Whether the quality changes its files; others are exact."""
    keeps_alpha: bool = True
    keeps_grey: bool = True
    keeps_profile: bool = True
    """What it cannot keep is left out with a sentence."""
    most_exif_bytes: int = 0
    """The most EXIF data that it holds; 0: neither that nor a resolution. What it does not is named."""
    max_side: int | None = None
    """The most pixels on a side that its header can hold."""
    encoder_bytes: int = 0
    """Memory that its encoder takes beside the picture and the file, bytes per pixel."""
    encoder_copies: int = 0
    """Copies of the picture that its encoder makes."""

    def holds(self, dtype: object, side: int = 1) -> bool:
        """Return whether a picture of this sample type and longer side can be saved in it."""
        return dtype in self.dtypes and (self.max_side is None or side <= self.max_side)

"""The decoded picture while it grows: every decoder puts its rows here, and they come to lie upright."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.image.form import Form
from engine.image.scratch import Scratch, bands

Allocate = Callable[[Form], tuple[NDArray[Any], NDArray[Any] | None]]
"""Gives the arrays of an upright picture: (H, W) or (H, W, 3), and (H, W) for its alpha, C contiguous."""

# EXIF orientations in which rows of the file are columns of the upright picture.
_TURNED = (5, 6, 7, 8)


class Canvas:
    """Pixels and alpha of a picture, filled band by band.

    Parameters
    ----------
    form : Form
        As the file stores the picture.
    orientation : int
        EXIF orientation, 1 to 8; any other number counts as 1.
    allocate : callable of (Form), optional
        Gives the arrays to decode into; asked once, with the form of the upright picture.

    Attributes
    ----------
    pixels : ndarray of shape (H, W) or (H, W, 3), dtype of the form
        Upright.
    alpha : ndarray of shape (H, W) or None
    """

    def __init__(self, form: Form, orientation: int = 1, allocate: Allocate | None = None) -> None:
        self._form = form
        turned = orientation in _TURNED
        upright = replace(form, height=form.width, width=form.height) if turned else form
        if allocate is None:
            allocate = _small_pages if turned else _arrays
        self.pixels, self.alpha = allocate(upright)
        self._pixels = _as_stored(self.pixels, orientation)
        self._alpha = None if self.alpha is None else _as_stored(self.alpha, orientation)
        self._is_plain = self.alpha is None and self._pixels.flags.c_contiguous

    def put(self, rows: slice, pixels: NDArray[Any], alpha: NDArray[Any] | None = None) -> None:
        """Put some rows, as the file stores them, in their place."""
        self._pixels[rows] = pixels
        if self._alpha is not None:
            self._alpha[rows] = alpha

    def put_samples(self, rows: slice, samples: NDArray[Any]) -> None:
        """Put some rows whose pixels are the colours and then, where the picture has it, the alpha."""
        if self.alpha is not None:
            self.put(
                rows, samples[..., 0] if self._form.channels == 1 else samples[..., :-1], samples[..., -1]
            )
        else:
            self.put(rows, samples.reshape(self._pixels[rows].shape))

    def decode_into(self, decode: Callable[[NDArray[Any]], object]) -> None:
        """Let a decoder fill an array with all samples of the file, and put them in their places.

        Parameters
        ----------
        decode : callable of (ndarray)
            Fills an array of shape (H, W) or (H, W, S): the colours and then, where the picture has it, the
            alpha. Where that is how the picture lies in memory, it is the picture itself.
        """
        if self._is_plain:
            decode(self.pixels)
            return
        form = self._form
        count = form.channels + form.has_alpha
        of_samples = (form.height, form.width) if count == 1 else (form.height, form.width, count)
        scratch = Scratch(of_samples, form.dtype)
        decode(scratch.array)
        for rows in bands(form.height, form.decoded_bytes // form.height):
            self.put_samples(rows, scratch.array[rows])
            scratch.give_back(scratch.array[rows])


def _arrays(form: Form) -> tuple[NDArray[Any], NDArray[Any] | None]:
    alpha = np.empty(form.plane_shape, form.dtype) if form.has_alpha else None
    return np.empty(form.colour_shape, form.dtype), alpha


def _small_pages(form: Form) -> tuple[NDArray[Any], NDArray[Any] | None]:
    # Bands of a turned picture are columns: with NumPy's huge pages the first would take all its memory.
    alpha = Scratch(form.plane_shape, form.dtype).array if form.has_alpha else None
    return Scratch(form.colour_shape, form.dtype).array, alpha


def _as_stored(image: NDArray[Any], orientation: int) -> NDArray[Any]:
    """View an upright image as a file of an EXIF orientation stores it."""
    # The standard names the edges where row 0 and column 0 belong; all but two mirrors is an exchange.
    if orientation in (3, 4, 7, 8):
        image = np.flip(image, 0)
    if orientation in (2, 3, 6, 7):
        image = np.flip(image, 1)
    return image.swapaxes(0, 1) if orientation in _TURNED else image


@dataclass(frozen=True, eq=False, slots=True)
class Decoded:
    """What a decoder returns.

    Parameters
    ----------
    canvas : Canvas
        Pixels and alpha, upright, in one of our dtypes.
    icc_profile : bytes, optional
    notes : tuple of str
        Sentences for the person.
    metadata : tuple of str
        What else the file holds that no picture here carries: "EXIF data", "resolution (DPI)".
    """

    canvas: Canvas
    icc_profile: bytes | None = None
    notes: tuple[str, ...] = ()
    metadata: tuple[str, ...] = ()

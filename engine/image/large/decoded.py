"""A picture of a format that is not read in parts, decoded as a whole: its levels are read from memory."""

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from engine.cores import cores
from engine.image.form import Form
from engine.image.halving import halved
from engine.image.large.source import LargePicture, Storage
from engine.image.open import open_image

# The second level has a quarter of the columns: what a tile between the two is made of is read at once.
_HALVINGS = 2
_LEAST_SIDE = 256
_SIDE = 512


class DecodedPicture(LargePicture):
    """A picture in memory, with levels from a quarter of its size on.

    Parameters
    ----------
    path : str or path-like
    remedy : str
        What a person can do about one that passes the limit, for the error.
    """

    def __init__(self, path: str | os.PathLike[str], remedy: str) -> None:
        picture = open_image(path, work_bytes=decoded_bytes, work="showing", remedy=remedy)
        samples = picture.pixels if picture.pixels.ndim == 3 else picture.pixels[..., np.newaxis]
        self.path, self.format = Path(path), picture.format or ""
        self.dtype, self.has_alpha = samples.dtype, picture.alpha is not None
        self.channels = samples.shape[2] + self.has_alpha
        self.icc_profile, self.notes, self.metadata = picture.icc_profile, picture.notes, picture.metadata
        self.chunk = _SIDE, _SIDE
        self.storage = Storage("decoded", self.chunk)
        planes = (samples,) if picture.alpha is None else (samples, picture.alpha[..., np.newaxis])
        self._levels: list[tuple[np.ndarray, ...]] = [planes]
        while max(self._levels[-1][0].shape[:2]) > _LEAST_SIDE:
            halvings = _HALVINGS if len(self._levels) == 1 else 1
            self._levels.append(tuple(_reduced(plane, halvings) for plane in self._levels[-1]))
        self.levels = tuple(planes[0].shape[:2] for planes in self._levels)

    def fill(self, level: int, rows: slice, columns: slice, out: np.ndarray) -> None:
        """Read the pixels of a rectangle into an array."""
        np.concatenate([plane[rows, columns] for plane in self._levels[level]], axis=2, out=out)

    def close(self) -> None:
        """Leave the memory to whoever still reads."""


def decoded_bytes(form: Form) -> int:
    """Return the memory of such a picture, bytes: a sixteenth, and a third of that, is in the levels."""
    return form.decoded_bytes + form.decoded_bytes // 12


def _reduced(plane: np.ndarray, halvings: int) -> np.ndarray:
    """Return a picture halved so many times, band by band: halves of a whole one take twice its memory."""
    step = 1 << halvings
    height, width = (-(-side // step) for side in plane.shape[:2])
    out = np.empty((height, width, plane.shape[2]), plane.dtype)
    band = max(1, (1 << 20) // max(1, plane[0].nbytes * step))

    def reduce(top: int) -> None:
        part = plane[top * step : (top + band) * step]
        for _ in range(halvings):
            part = halved(part)
        out[top : top + band] = part

    with ThreadPoolExecutor(cores()) as threads:
        list(threads.map(reduce, range(0, height, band)))
    return out

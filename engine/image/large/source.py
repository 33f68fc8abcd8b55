"""LargePicture: a picture that stays in its file; rectangles of its levels are read when asked for."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from engine.image.canvas import Canvas
from engine.image.faults import errors_in_words
from engine.image.large.storage import Storage
from engine.image.metadata import NO_METADATA, Metadata

MOST_CHANNELS = 4


class LargePicture(ABC):
    """A picture in a file, open for reading. Close it, or use it as a context manager.

    Called on: any thread, several at once.

    Attributes
    ----------
    path : Path
        The file or the folder.
    format : str
        The title of its format: "BigTIFF, tiled".
    levels : tuple of (int, int)
        Rows and columns of each level, the full size first, then ever smaller ones; one where the file has no
        pyramid.
    channels : int
        Samples per pixel, 1 to 4.
    dtype : dtype
        uint8, uint16 or float32, in the machine's byte order.
    chunk : (int, int)
        Rows and columns that the file stores together: what reading a single pixel of full size costs.
    segment_bytes : int
        What decoding one takes, where it holds more than what is read of it; else 0.
    cache_bytes : int
        How much of what is decoded is kept for what is read next; may be changed.
    has_alpha : bool
        Whether the last channel is the opacity.
    icc_profile : bytes or None
        The colour profile.
    storage : Storage
        How it is stored, for a result of the same kind.
    notes : tuple of str
        Sentences for the person: what was special about the file.
    metadata : Metadata
        EXIF data and resolution, of a picture that was decoded as a whole.
    """

    path: Path
    format: str
    levels: tuple[tuple[int, int], ...]
    channels: int
    dtype: np.dtype
    chunk: tuple[int, int]
    segment_bytes: int = 0
    cache_bytes: int = 0
    storage: Storage
    has_alpha: bool = False
    icc_profile: bytes | None = None
    notes: tuple[str, ...] = ()
    metadata: Metadata = NO_METADATA

    @property
    def height(self) -> int:
        """Rows in full size."""
        return self.levels[0][0]

    @property
    def width(self) -> int:
        """Columns in full size."""
        return self.levels[0][1]

    def read(self, level: int, rows: slice, columns: slice) -> np.ndarray:
        """Return the pixels of a rectangle, as `read_into` reads them: H x W x C, C-contiguous."""
        out = np.empty((rows.stop - rows.start, columns.stop - columns.start, self.channels), self.dtype)
        self.read_into(level, rows, columns, out)
        return out

    def read_into(self, level: int, rows: slice, columns: slice, out: np.ndarray) -> None:
        """Read the pixels of a rectangle, which lies within the level, into an array of its shape and type.

        Raises
        ------
        ImageReadError
            A part of the file is missing, damaged, or of a codec that is not there.
        """
        with self._errors_in_words():
            self.fill(level, rows, columns, out)

    @abstractmethod
    def fill(self, level: int, rows: slice, columns: slice, out: np.ndarray) -> None:
        """Read as `read_into`, with errors as decoders raise them."""

    def decode_onto(self, canvas: Canvas) -> None:
        """Put all pixels of full size onto a canvas, with errors as of `fill`."""
        whole = slice(0, self.height), slice(0, self.width)
        canvas.decode_into(lambda out: self.fill(0, *whole, out.reshape(*out.shape[:2], self.channels)))

    def _errors_in_words(self) -> AbstractContextManager[None]:
        """Translate whatever is raised while the file is read into `ImageReadError`."""
        return errors_in_words(str(self.path), doing="read")

    @abstractmethod
    def close(self) -> None:
        """Close the file; nothing is read after that."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

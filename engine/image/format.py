"""What the program knows of a picture format: each in `engine.image.formats` states it once."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO

from engine.image.canvas import Allocate, Decoded
from engine.image.form import Budget

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

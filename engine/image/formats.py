"""The picture formats, one entry each, for opening, saving, `batch`, file dialogs, help texts and refusals.

What only looks like a picture is in `sniff`.
"""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from engine.image.avif import read_avif
from engine.image.bmp import read_bmp
from engine.image.budget import Budget
from engine.image.canvas import Allocate, Decoded
from engine.image.encode import (
    MOST_JPEG_EXIF_BYTES,
    encode_avif,
    encode_jpeg,
    encode_jpegxl,
    encode_png,
    encode_tiff,
    encode_webp,
)
from engine.image.gif import read_gif
from engine.image.jpeg_pixels import read_jpeg
from engine.image.jpegxl import read_jpegxl
from engine.image.npy import MAGIC as NPY_MAGIC
from engine.image.npy import ZIP_MAGIC, encode_npy, read_npy
from engine.image.pillow import BMP_UNSUPPORTED
from engine.image.png import read_png
from engine.image.pnm import SIGNATURES as PNM_SIGNATURES
from engine.image.pnm import encode_pnm, read_pnm
from engine.image.tiff import TIFF_UNSUPPORTED, read_tiff
from engine.image.webp import read_webp


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
    damaged: bytes = b""
    """A regular expression that fits the beginning of its files after a transfer in text mode."""
    unsupported: tuple[tuple[str, str], ...] = ()
    """Regular expressions for what its library says of intact files that it cannot read, and their kinds."""
    encode: Callable[..., bytes | memoryview] | None = None
    """Encodes a picture with a quality of 1 to 100. None: such files are not written."""
    reads_once: bool = False
    """Whether its encoder reads each row once, and calls a third argument, `done`, with those it has read."""
    saved_suffixes: tuple[str, ...] = ()
    """The suffixes that choose it for saving; the first one is offered."""
    dtypes: tuple[type[Any], ...] = ()
    """The sample types that it saves."""
    most_bits: int = 32
    """How many bits of a sample it keeps: deeper ones are rounded, with a sentence."""
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


FORMATS: tuple[Format, ...] = (
    Format(
        "PNG",
        suffixes=(".png", ".apng"),
        signatures=(b"\x89PNG\r\n\x1a\n",),
        decode=read_png,
        damaged=rb".{0,2}PNG|.{12}IHDR",
        encode=encode_png,
        reads_once=True,
        saved_suffixes=(".png",),
        dtypes=(np.uint8, np.uint16),
        most_exif_bytes=2**31 - 1,
        encoder_copies=1,  # the differences of its rows
    ),
    Format(
        "JPEG",
        suffixes=(".jpg", ".jpeg", ".jpe", ".jfif", ".mpo"),
        signatures=(b"\xff\xd8\xff",),
        decode=read_jpeg,
        encode=encode_jpeg,
        saved_suffixes=(".jpg", ".jpeg"),
        dtypes=(np.uint8,),
        has_quality=True,
        keeps_alpha=False,
        most_exif_bytes=MOST_JPEG_EXIF_BYTES,
        max_side=65_500,
        encoder_bytes=4,  # libjpeg's buffer, of up to twice the file
    ),
    Format(
        "TIFF",
        suffixes=(".tif", ".tiff"),
        signatures=(b"II*\x00", b"MM\x00*", b"II+\x00", b"MM\x00+"),
        decode=read_tiff,
        unsupported=TIFF_UNSUPPORTED,
        encode=encode_tiff,
        saved_suffixes=(".tif", ".tiff"),
        dtypes=(np.uint8, np.uint16, np.float32),
        most_exif_bytes=2**31 - 1,
    ),
    Format(
        "BMP",
        suffixes=(".bmp", ".dib"),
        signatures=(b"BM",),
        decode=read_bmp,
        unsupported=BMP_UNSUPPORTED,
    ),
    Format(
        "WebP",
        suffixes=(".webp",),
        signatures=(b"RIFF????WEBP",),
        decode=read_webp,
        encode=encode_webp,
        saved_suffixes=(".webp",),
        dtypes=(np.uint8,),
        has_quality=True,
        keeps_grey=False,
        most_exif_bytes=2**31 - 1,
        max_side=16_383,
        encoder_bytes=16,  # Pillow's image, and what libwebp compares (measured: 15)
    ),
    Format(
        "GIF",
        suffixes=(".gif",),
        signatures=(b"GIF87a", b"GIF89a"),
        decode=read_gif,
    ),
    Format(
        "JPEG XL",
        suffixes=(".jxl",),
        signatures=(b"\xff\x0a", b"\x00\x00\x00\x0cJXL \r\n\x87\n"),
        decode=read_jpegxl,
        encode=encode_jpegxl,
        saved_suffixes=(".jxl",),
        dtypes=(np.uint8, np.uint16, np.float32),
        has_quality=True,
        keeps_profile=False,
        most_exif_bytes=2**31 - 1,
        encoder_bytes=64,  # measured: 42 to 62
    ),
    Format(
        "AVIF",
        suffixes=(".avif", ".avifs"),
        signatures=(b"????ftypavif", b"????ftypavis"),
        decode=read_avif,
        encode=encode_avif,
        saved_suffixes=(".avif",),
        dtypes=(np.uint8, np.uint16),
        most_bits=12,
        has_quality=True,
        keeps_grey=False,
        most_exif_bytes=2**31 - 1,
        max_side=32_768,
        encoder_bytes=64,  # measured: 46 of 8 bit, 60 of 16
    ),
    Format(
        "PNM",
        suffixes=(".pnm", ".pgm", ".ppm", ".pbm", ".pam"),
        signatures=PNM_SIGNATURES,
        decode=read_pnm,
        encode=encode_pnm,
        saved_suffixes=(".pnm", ".pgm", ".ppm", ".pam"),
        dtypes=(np.uint8, np.uint16),
        keeps_profile=False,
        encoder_copies=1,
    ),
    Format(
        "NumPy",
        suffixes=(".npy", ".npz"),
        signatures=(NPY_MAGIC, ZIP_MAGIC),
        decode=read_npy,
        encode=encode_npy,
        saved_suffixes=(".npy",),
        dtypes=(np.uint8, np.uint16, np.float32),
        keeps_profile=False,
        encoder_copies=1,
    ),
)


def saved_formats() -> tuple[Format, ...]:
    """Return the formats that can be written."""
    return tuple(known for known in FORMATS if known.encode is not None)


def offered_suffixes() -> tuple[str, ...]:
    """Return the suffix of each format that can be written."""
    return tuple(known.saved_suffixes[0] for known in saved_formats())


def format_to_save(path: str | os.PathLike[str]) -> Format | None:
    """Return the format that the suffix of a path chooses for saving; None where there is none."""
    suffix = Path(path).suffix.lower()
    return next((known for known in saved_formats() if suffix in known.saved_suffixes), None)


def formats_for(dtype: object, side: int = 1) -> tuple[Format, ...]:
    """Return the formats that can save a picture of this sample type and longer side."""
    return tuple(known for known in saved_formats() if known.holds(dtype, side))


def opened_suffixes() -> tuple[str, ...]:
    """Return the suffixes of all formats."""
    return tuple(suffix for known in FORMATS for suffix in known.suffixes)


def titles(formats: Iterable[Format] | None = None, word: str = "or") -> str:
    """Return the titles of formats, by default of all, as in a sentence: "PNG, JPEG or TIFF"."""
    return in_words((known.title for known in (FORMATS if formats is None else formats)), word)


def in_words(names: Iterable[str], word: str = "or") -> str:
    """Join names as in a sentence: "a, b or c"."""
    *first, last = tuple(names) or ("",)
    return f"{', '.join(first)} {word} {last}" if first else last


def quality_words() -> str:
    """Say which formats a quality is for."""
    lossy = [known for known in saved_formats() if known.has_quality]
    exact = [known for known in saved_formats() if not known.has_quality]
    return f"{titles(lossy, 'and')}; {titles(exact, 'and')} are exact"

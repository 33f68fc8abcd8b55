"""Opening a picture file: cheap checks first. Its first bytes say what it is, the extension is a hint."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from engine.errors import BadValue, UnknownName
from engine.files.atomic_write import path_text
from engine.files.reading import ASSETS, open_file, why_unreadable
from engine.image import formats
from engine.image.convert import profile_fits
from engine.image.faults import Refused, errors_in_words
from engine.image.format import DEFAULT_MAX_BYTES, RAISE_LIMIT, Allocate, Budget, Form, Format
from engine.image.formats import opened_suffixes
from engine.image.picture import Picture
from engine.process import bytes_text


class Sample(NamedTuple):
    """A stable key for commands and sessions, a title, a sentence on what it shows, its rows and columns."""

    key: str
    title: str
    sentence: str
    side: int = 256


# The order in which they are offered; the first is the one that the window opens with.
SAMPLES: tuple[Sample, ...] = (
    Sample("astronaut", "Astronaut", "A colour photograph by NASA: skin, fabric and sharp edges.", 512),
    Sample("camera", "Camera", "A grey photograph of a man with a camera: fine grass and a smooth sky.", 512),
    Sample("gradient-16", "16-bit gradient", "A 16-bit ramp whose waves are lost at 8 bit."),
    Sample("zone-plate", "Zone plate", "Rings of every frequency: shows what a filter lets through."),
    Sample("step-edges", "Step edges", "Edges of every angle and several heights: for edge masks."),
    Sample("impulse", "Impulse", "One white pixel: the filtered picture is the mask itself.", 63),
    Sample("checkerboard", "Checkerboard", "Squares of 1, 2, 4 and 8 pixels: for blur and borders."),
    Sample("noise", "Noise", "Grey with noise and single black and white pixels: for smoothing."),
)


def sample_path(key: str) -> Path:
    """Return the file of a sample; `UnknownName` lists those that there are."""
    known = [sample.key for sample in SAMPLES]
    if key not in known:
        raise UnknownName(f"There is no sample picture {key!r}", "", f"Choose one of: {', '.join(known)}.")
    return ASSETS / "samples" / f"{key}.png"


def open_sample(key: str) -> Picture:
    """Open a sample picture; errors as of `sample_path` and `open_image`."""
    return open_image(sample_path(key))


# Enough for every signature below (DICOM's lies at 128) and to tell text from other data.
HEAD_BYTES = 512

# Offset, bytes, what it looks like. Only what people are likely to try.
_OTHERS: tuple[tuple[int, bytes, str], ...] = (
    (0, b"%PDF", "a PDF document"),
    (0, b"8BPS", "a Photoshop document"),
    (0, b"\x00\x00\x00\x0cjP  ", "a JPEG 2000 picture"),
    (0, b"\x76\x2f\x31\x01", "an OpenEXR picture"),
    (0, b"#?RADIANCE", "a Radiance HDR picture"),
    (0, b"qoif", "a QOI picture"),
    (0, b"\x00\x00\x01\x00", "an icon (ICO)"),
    (0, b"SIMPLE  =", "a FITS file"),
    (128, b"DICM", "a DICOM file"),
    (0, b"\x89HDF", "an HDF5 file"),
    (0, b"\x1f\x8b", "a gzip archive"),
    (0, b"7z\xbc\xaf", "a 7-Zip archive"),
    (0, b"\x7fELF", "a program"),
    (0, b"MZ", "a program"),
    (0, b"ID3", "a sound file"),
    (0, b"OggS", "a sound or video file"),
    (0, b"RIFF", "a sound or video file"),
    (0, b"\x1aE\xdf\xa3", "a video"),
    # The "ftyp" box (ISO base media) is the same container for pictures and films.
    *((4, b"ftyp" + brand, "a HEIC picture") for brand in (b"heic", b"heix", b"mif1", b"msf1")),
    (4, b"ftypavis", "a sequence of AVIF pictures"),
    (4, b"ftyp", "a video"),
)


def format_of(head: bytes) -> Format:
    """Return the format of a file that begins with `head`, its first `HEAD_BYTES` bytes or fewer.

    Raises Refused where it is none of `FORMATS`; the reason says what the file looks like.
    """
    if not head:
        raise Refused("it holds zero bytes", "Get the file again: nothing of it arrived.")
    begun = False
    for known in formats.FORMATS:
        for signature in known.signatures:
            # As far as both reach; "?" fits whatever is there.
            if all(wanted in (byte, ord("?")) for wanted, byte in zip(signature, head, strict=False)):
                if len(head) >= len(signature):
                    return known
                begun |= len(head) > len(signature) - len(signature.lstrip(b"?"))
    if begun:
        raise Refused(f"it ends after {len(head)} bytes, before the picture begins")
    raise Refused(
        f"it is not a picture that this program reads; it looks like {_looks_like(head)}",
        f"Save it as {formats.titles()}, and open that.",
    )


def _looks_like(head: bytes) -> str:
    for offset, signature, name in _OTHERS:
        if head.startswith(signature, offset):
            return name
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<svg", b"<?xml")):
        return "an SVG drawing" if b"<svg" in text else "an XML document"
    if text.startswith((b"<!doctype html", b"<html")):
        return "a web page"
    # "ignore" because a character may be cut in two where the head ends.
    decoded = head.decode("utf-8", errors="ignore")
    is_whole = len(head) - len(decoded.encode()) < 4
    is_text = is_whole and all(one.isprintable() or one in "\t\r\n\f" for one in decoded)
    return "text" if is_text else "unknown data"


def open_image(
    path: str | os.PathLike[str],
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
    work_bytes: Callable[[Form], int] | None = None,
    work: str = "working with",
    remedy: str = RAISE_LIMIT,
    allocate: Allocate | None = None,
) -> Picture:
    """Open a file of one of the formats in `engine.image.formats.FORMATS` as a picture.

    The depth of the file is kept (8 bit, 16 bit, 32-bit float; other depths become the next of these that
    holds them). Palettes, CMYK, Lab and YCbCr become RGB, premultiplied alpha becomes straight, and the EXIF
    orientation is applied. An animation or a file of several pages gives its first picture.
    `Picture.notes` has a sentence on each of these changes.

    Parameters
    ----------
    path : str or path-like
        The file. Its first bytes decide what it is, not its extension.
    max_bytes : int
        Limit on the bytes of the file and on the memory that decoding takes, checked before it is taken.
    work_bytes : callable of (Form) -> int, optional
        The most memory that what is to be done with the picture takes, bytes; held to the same limit at once.
    work : str
        What that is, in words before the picture's size ("filtering and saving").
    remedy : str
        What a person can do about a picture that passes the limit, for the error.
    allocate : callable of (Form), optional
        Returns the arrays that the picture is decoded into, pixels and alpha (None without), after all checks
        of its header; they become those of the picture. Called once, with the form of the upright picture.

    Returns
    -------
    Picture

    Raises
    ------
    ImageReadError
        There is no such file, it cannot be read, is not a picture of these formats, is damaged or cut
        short, or passes the limit.
    """
    name = path_text(path)
    limit: object = max_bytes
    if not isinstance(limit, int | float | np.number):
        what, why = f"max_bytes {max_bytes!r}", "it is not a number of bytes"
        raise BadValue(what, why, "Give one such as 8 * 2**30.")
    path = Path(name)
    with errors_in_words(name):
        file = open_regular_file(path, max_bytes, remedy)
    with file:
        with errors_in_words(name):
            known = format_of(file.read(HEAD_BYTES))
            file.seek(0)
        with errors_in_words(name, known.title, known.unsupported):
            decoded = known.decode(file, Budget(max_bytes, work_bytes, work, remedy, allocate))
            pixels, profile, suffix = decoded.canvas.pixels, decoded.icc_profile or None, path.suffix.lower()
            notes = [*decoded.notes, *value_notes(pixels)]
            if suffix in opened_suffixes() and suffix not in known.suffixes:
                notes.insert(0, f"It is named {suffix} but is a {known.title} file.")
            if profile and not profile_fits(profile, 1 if pixels.ndim == 2 else 3):
                model = "a grey picture" if pixels.ndim == 2 else "RGB"
                why = f"is not one for {model}, as the picture is now, and was left out"
                profile, notes = None, [*notes, f"Its colour profile {why}."]
            more = profile, path, known.title, tuple(notes), decoded.metadata
            return Picture(pixels, decoded.canvas.alpha, *more)


def open_regular_file(path: Path, max_bytes: int, remedy: str) -> BinaryIO:
    """Open a file for reading; Refused where it is none, may not be read, or is larger than the limit."""
    try:
        file = open_file(path)
    except (OSError, ValueError) as error:
        raise Refused(*why_unreadable(error)) from error
    size = os.fstat(file.fileno()).st_size
    if size > max_bytes:
        file.close()
        raise Refused(f"the file has {bytes_text(size)}, the limit is {bytes_text(max_bytes)}", remedy)
    return file


def value_notes(pixels: np.ndarray) -> Sequence[str]:
    """Sentences on values that are not numbers; a filter spreads each over a whole mask."""
    if pixels.dtype != np.float32:
        return []
    counts = {"NaN": np.count_nonzero(np.isnan(pixels)), "infinite": np.count_nonzero(np.isinf(pixels))}
    if counts["NaN"] == pixels.size:
        return ["All of its values are NaN: there is nothing to see."]
    return [f"{n:,} {'value is' if n == 1 else 'values are'} {kind}." for kind, n in counts.items() if n]

"""Opening a picture file. The steps stand in the order in which they protect: cheap ones first."""

import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from engine.files.atomic_write import path_text
from engine.image.budget import DEFAULT_MAX_BYTES, Budget, bytes_text
from engine.image.canvas import Allocate
from engine.image.decoded import Decoded
from engine.image.faults import Refused, told_in_words
from engine.image.form import Form
from engine.image.icc import profile_fits
from engine.image.picture import Picture
from engine.image.pillow import read_with_pillow
from engine.image.png import read_png
from engine.image.sniff import HEAD_BYTES, format_of
from engine.image.tiff import read_tiff
from engine.image.webp import read_webp

_EXTENSIONS: dict[str, tuple[str, ...]] = {
    "PNG": (".png", ".apng"),
    "JPEG": (".jpg", ".jpeg", ".jpe", ".jfif", ".mpo"),
    "TIFF": (".tif", ".tiff"),
    "BMP": (".bmp", ".dib"),
    "WebP": (".webp",),
    "GIF": (".gif",),
}
OPENED_EXTENSIONS: tuple[str, ...] = tuple(extension for known in _EXTENSIONS.values() for extension in known)


def open_image(
    path: str | os.PathLike[str],
    *,
    max_bytes: int = DEFAULT_MAX_BYTES,
    work_bytes: Callable[[Form], int] | None = None,
    work: str = "working with",
    allocate: Allocate | None = None,
) -> Picture:
    """Open a PNG, JPEG, TIFF, BMP, WebP or GIF file as a picture.

    The depth of the file is kept (8 bit, 16 bit, 32-bit float; other depths become the next of these that
    holds them). Palettes, CMYK, Lab and YCbCr become RGB, premultiplied alpha becomes straight, and the EXIF
    orientation is applied. Of an animation or a file of several pages the first picture is opened. What a
    person should know of all this stands in `Picture.notes`.

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
    allocate : callable of (Form), optional
        Gives the arrays that the picture is decoded into, pixels and alpha (None without), after all checks
        of its header; they become those of the picture. Asked once, with the form of the upright picture.

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
    with told_in_words(name, "file"):
        file = _open_regular_file(Path(path), max_bytes)
    with file:
        with told_in_words(name, "file"):
            format_name = format_of(file.read(HEAD_BYTES))
            file.seek(0)
        with told_in_words(name, format_name):
            budget = Budget(max_bytes, work_bytes, work)
            return _picture(_read(file, format_name, budget, allocate), Path(path), format_name)


def _open_regular_file(path: Path, max_bytes: int) -> BinaryIO:
    try:
        # Asked before opening: opening a pipe would wait for ever.
        facts = path.stat()
        if stat.S_ISDIR(facts.st_mode):
            raise Refused("it is a folder", "Choose a picture file in it.")
        if not stat.S_ISREG(facts.st_mode):
            raise Refused("it is a device or a pipe, not a file", "Choose a picture file.")
        if facts.st_size > max_bytes:
            sizes = f"the file has {bytes_text(facts.st_size)}, the limit is {bytes_text(max_bytes)}"
            raise Refused(sizes, "Open a smaller picture, or raise the limit (max_bytes, --max-bytes).")
        return path.open("rb")
    except FileNotFoundError as error:
        raise Refused("there is no such file", "Check the name and the folder.") from error
    except NotADirectoryError as error:
        raise Refused("part of its path is a file, not a folder", "Check the name and the folder.") from error
    except PermissionError as error:
        raise Refused(
            "you may not read it", "Change its permissions, or copy it to a place of yours."
        ) from error
    except OSError as error:
        raise Refused(error.strerror or str(error), "Check the name and the disk.") from error
    except ValueError as error:  # a NUL in the path
        raise Refused("it is not a possible path", "Check the name and the folder.") from error


def _read(file: BinaryIO, format_name: str, budget: Budget, allocate: Allocate | None) -> Decoded:
    readers: dict[str, Callable[[BinaryIO, Budget, Allocate | None], Decoded]] = {
        "PNG": read_png,
        "TIFF": read_tiff,
        "WebP": read_webp,
    }
    if format_name in readers:
        return readers[format_name](file, budget, allocate)
    return read_with_pillow(file, format_name, budget, allocate)


def _picture(decoded: Decoded, path: Path, format_name: str) -> Picture:
    pixels, alpha = decoded.canvas.pixels, decoded.canvas.alpha
    notes = [*_extension_notes(path, format_name), *decoded.notes, *_value_notes(pixels)]
    profile = decoded.icc_profile
    if profile and not profile_fits(profile, 1 if pixels.ndim == 2 else 3):
        profile = None
        channels = "a grey picture" if pixels.ndim == 2 else "RGB"
        notes.append(
            f"Its colour profile is not one for {channels}, as the picture is now, and was left out."
        )
    return Picture(pixels, alpha, profile or None, path, format_name, tuple(notes), decoded.metadata)


def _extension_notes(path: Path, format_name: str) -> Sequence[str]:
    extension = path.suffix.lower()
    is_other = extension not in _EXTENSIONS[format_name]
    if is_other and any(extension in extensions for extensions in _EXTENSIONS.values()):
        return [f"It is named {extension} but is a {format_name} file."]
    return []


def _value_notes(pixels: NDArray[Any]) -> Sequence[str]:
    """Sentences on values that are no numbers; a filter spreads each over a whole mask."""
    if pixels.dtype != np.float32:
        return []
    counts = {"NaN": np.count_nonzero(np.isnan(pixels)), "infinite": np.count_nonzero(np.isinf(pixels))}
    return [
        f"{count:,} {'value is' if count == 1 else 'values are'} {kind}."
        for kind, count in counts.items()
        if count
    ]

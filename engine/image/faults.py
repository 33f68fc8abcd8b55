"""One door for everything that goes wrong while a picture is opened: it leaves as `ImageReadError`, in words."""

import re
import struct
import warnings
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from engine.errors import ImageReadError

_SAVE_AGAIN = "Get the file again, or save it again from the program that made it."

# What Pillow, tifffile, imagecodecs and NumPy were seen to raise on 4,010 files, valid and broken, and 2,992
# truncated or mutated ones. Errors of codecs (PngError, ...) and RecursionError are RuntimeErrors, TiffFileError
# and UnicodeDecodeError are ValueErrors; ImportError is a codec that this build of imagecodecs has not.
_LIBRARY_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    ImportError,
    LookupError,
    OSError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)


_SAVE_OTHERWISE = "Save it as an 8- or 16-bit PNG or TIFF in the program that made it, and open that."

_CUT_SHORT = "it ends before its last row"
_COMPRESSED = "its compressed pixels are damaged"
_TAGS = "its list of tags is damaged"
_MISFIT = "its header and its pixels do not fit together"

# What the libraries say of files that are whole, but that they do not read -> what such a file is.
_NOT_SUPPORTED: tuple[tuple[str, str], ...] = (
    (r"BMP compression \(4\)|BMP pixel depth \(0\)", "it holds a JPEG or a PNG"),
    (r"BMP compression \(5\)", "it holds a PNG"),
    (r"BMP compression \(6\)", "its channels and its alpha are named by masks"),
    (r"BMP bitfields layout", "its channels are named by masks of an unusual layout"),
    (r"BMP header type \((16|64)\)", "it is one of OS/2 (a header of {1} bytes)"),
    (r"BMP pixel depth \((2|64)\)", "it has {1} bits a pixel"),
    (r"<COMPRESSION\.(\w+): \d+> not supported", "its compression is {1}"),
    (r"^(\d+) is not a known COMPRESSION", "its compression has number {1}, which has no name"),
    (r"chroma subsampling", "its colours have less resolution than its brightness, and it is not a JPEG"),
    (r"sample formats do not match", "its channels are of different number types"),
    (r"^<?PREDICTOR\.?(\w*).* not supported", "its predictor is {1}"),
    (r"imagecodecs|could not import", "no decoder for its compression is installed"),
)

# The same of damaged files -> the cause. What is not here is told without one: it would be Python's inside.
_DAMAGED: tuple[tuple[str, str], ...] = (
    (
        r"truncated|not enough image data|requires a buffer of|failed to read \d+ bytes|ended prematurely",
        _CUT_SHORT,
    ),
    (r"broken data stream|\breturned\b|decompressing|Jpeg8|JPEG file|J2K", _COMPRESSED),
    (r"cannot identify image file", "its header is damaged or cut short"),
    (r"codec configuration|tile cannot extend|cannot be reshaped|rowsperstrip", _MISFIT),
    (r"IFD|number of tags|BigTIFF", _TAGS),
    (r"Palette size|palette size", "its palette has an impossible size"),
    (
        r"BMP (compression|header type|pixel depth) \((\d+)\)",
        "its header names {1} {2}, which BMP does not have",
    ),
    (r"unsigned integer out of range", "a number in it is out of range"),
)


class Refused(Exception):
    """A decoder's reason not to open a file, before the file's name is known.

    Parameters
    ----------
    why : str
        The cause.
    remedy : str, optional
        What the person can do.
    """

    def __init__(self, why: str, remedy: str = _SAVE_AGAIN) -> None:
        super().__init__(why, remedy)
        self.why = why
        self.remedy = remedy


@contextmanager
def told_in_words(name: str, format_name: str) -> Iterator[None]:
    """Translate whatever a decoder raises into `ImageReadError`.

    Parameters
    ----------
    name : str
        The file as the person named it.
    format_name : str
        What its first bytes say that it is.
    """
    what = f"{name} cannot be opened"
    try:
        with warnings.catch_warnings():
            # Libraries warn of damaged metadata (EXIF, text), which does not change a pixel.
            warnings.simplefilter("ignore")
            yield
    except Refused as refusal:
        raise ImageReadError(what, refusal.why, refusal.remedy) from refusal
    except MemoryError as error:
        why = "there is not enough memory for it"
        raise ImageReadError(what, why, "Close other programs, or open a smaller picture.") from error
    except _LIBRARY_ERRORS as error:
        why, remedy = _in_words(error, format_name)
        raise ImageReadError(what, why, remedy) from error


def _in_words(error: Exception, format_name: str) -> tuple[str, str]:
    """Return why a library gave up, and what would do; never its own words, which are for programmers."""
    text = " ".join(str(error).split())
    kind = _first_of(_NOT_SUPPORTED, text)
    if kind:
        return f"this kind of {format_name} is not supported: {kind}", _SAVE_OTHERWISE
    cause = _first_of(_DAMAGED, text)
    if not cause and type(error).__module__.startswith("imagecodecs"):
        cause = _COMPRESSED
    return f"its {format_name} data is damaged or cut short" + (f": {cause}" if cause else ""), _SAVE_AGAIN


def _first_of(table: tuple[tuple[str, str], ...], text: str) -> str:
    for pattern, words in table:
        found = re.search(pattern, text, re.IGNORECASE)
        if found:
            return words.format("", *found.groups())
    return ""


def not_supported(format_name: str, kind: str) -> Refused:
    """Return the refusal of a file that is whole, but of a kind that is not read here.

    Parameters
    ----------
    format_name : str
    kind : str
        What it is: "it has 12 bits a sample".
    """
    return Refused(f"this kind of {format_name} is not supported: {kind}", _SAVE_OTHERWISE)

"""One door for everything that goes wrong while a picture is opened: it leaves as `ImageReadError`, in words."""

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
        cause = " ".join(str(error).split()) or type(error).__name__
        why = f"its {format_name} data is damaged or cut short ({cause})"
        raise ImageReadError(what, why, _SAVE_AGAIN) from error

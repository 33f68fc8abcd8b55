"""Why a picture cannot be opened: the exceptions of decoders, and the errors of libraries in plain words.

While files are opened, on any number of threads, Python's warnings are ignored.
"""

import importlib
import re
import struct
import threading
import warnings
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from engine.errors import CodeNotKept, EngineError, ImageReadError
from engine.process import shortage_of

_lock, _opening, _before = threading.Lock(), 0, ExitStack()


@contextmanager
def ignored_warnings() -> Iterator[None]:
    """Ignore the warnings of libraries within: of damaged metadata (EXIF, text), which changes no pixel.

    Python has one list of filters for all threads. The first thread that opens a file changes it and the last
    one restores it: if each did, the list that the last one restores would be that of another thread, and all
    later warnings of the process would be lost.
    """
    global _opening
    with _lock:
        if _opening == 0:
            _before.enter_context(warnings.catch_warnings(action="ignore"))
            # That is for the person: code that checks a file is kept like any other.
            warnings.simplefilter("default", CodeNotKept)
        _opening += 1
    try:
        yield
    finally:
        with _lock:
            _opening -= 1
            if _opening == 0:
                _before.close()


SAVE_AGAIN = "Get the file again, or save it again from the program that made it."

# What Pillow, tifffile, imagecodecs and NumPy were seen to raise on 4,010 files, valid and broken, and 2,992
# truncated or mutated ones. Errors of codecs (PngError, ...) and RecursionError are RuntimeErrors,
# TiffFileError and UnicodeDecodeError are ValueErrors; ImportError is a codec that this build of imagecodecs
# has not.
LIBRARY_ERRORS = (
    ArithmeticError, AssertionError, AttributeError, EOFError, ImportError, LookupError, OSError,
    RuntimeError, SyntaxError, TypeError, ValueError, struct.error, zlib.error,
)  # fmt: skip

_NO_DECODER = (r"imagecodecs|could not import", "no decoder for its compression is installed")
# What imagecodecs says where it could not load a decoder, for whatever reason: it drops the loader's error.
_NOT_LOADED = re.compile(r"could not import name '(\w+)' from 'imagecodecs'")


class Refused(Exception):
    """A decoder's reason not to open a file, and a remedy, before the file's name is known."""

    def __init__(self, why: str, remedy: str = SAVE_AGAIN) -> None:
        super().__init__(why, remedy)
        self.why, self.remedy = why, remedy


class Unsupported(Exception):
    """An intact file of a kind that is not read; its text names the kind: "it has 12 bits per sample"."""


def _shortage_of_decoder(error: Exception) -> EngineError | None:
    # The decoder is loaded once more, to hear from the loader why it cannot be.
    if not isinstance(error, ImportError) or (match := _NOT_LOADED.search(str(error))) is None:
        return None
    # The words for a fault are also read where no picture is.
    from imagecodecs import imagecodecs

    try:
        importlib.import_module(f"imagecodecs.{imagecodecs._ATTRIBUTES[match[1]]}")
    except (ImportError, OSError, MemoryError) as cause:
        return None if isinstance(cause, ModuleNotFoundError) else shortage_of(cause)
    return None


@contextmanager
def errors_in_words(
    name: str, title: str = "file", unsupported: tuple[tuple[str, str], ...] = (), *, doing: str = "opened"
) -> Iterator[None]:
    """Translate whatever is raised while a file is opened, or read, into `ImageReadError`.

    `title` and `unsupported` are those of its `Format`.
    """
    what = f"{name} cannot be {doing}"
    try:
        with ignored_warnings():
            yield
    except (ImageReadError, ModuleNotFoundError):
        raise  # in words already, or of a package that is not installed, which is no fault of the file
    except Refused as refusal:
        raise ImageReadError(what, refusal.why, refusal.remedy) from refusal
    except MemoryError as error:
        why = "there is not enough memory for it"
        raise ImageReadError(what, why, "Close other programs, or open a smaller picture.") from error
    except (Unsupported, *LIBRARY_ERRORS) as error:
        if (short := _shortage_of_decoder(error)) is not None:
            why = f"its decoder cannot be loaded: {short.what[0].lower()}{short.what[1:]}, {short.why}"
            raise ImageReadError(what, why, short.remedy) from error
        text = " ".join(str(error).split())
        known = ((re.search(pattern, text, re.I), words) for pattern, words in (*unsupported, _NO_DECODER))
        kinds = (words.format("", *match.groups()) for match, words in known if match)
        if kind := text if isinstance(error, Unsupported) else next(kinds, ""):
            why = f"this kind of {title} is not supported: {kind}"
            remedy = "Save it as an 8- or 16-bit PNG or TIFF in the program that made it, and open that."
            raise ImageReadError(what, why, remedy) from error
        # What a library says is for programmers.
        raise ImageReadError(what, f"its {title} data is damaged or cut short", SAVE_AGAIN) from error

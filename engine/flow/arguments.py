"""Checks of what is passed to `filter_stream`: pictures, numbers, and the arrays that results go into."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sized

import numpy as np

from engine.api.arguments import Image, as_array, refuse_out
from engine.api.request import Call
from engine.device.anti_aliasing import empty_result
from engine.device.array_libraries import library_of
from engine.errors import BadValue
from engine.image.picture import Picture
from engine.work.pictures import MAX_CHANNELS

MOST_RING = 16
_ARRAYS = "The arrays for the results"


def refuse_pictures(pictures: object) -> None:
    """Refuse values that are neither a picture nor a batch, and a stack of pictures in one array."""
    _refuse_on_gpu(pictures)
    if isinstance(pictures, np.ndarray):
        if pictures.ndim == 4 or (pictures.ndim == 3 and pictures.shape[2] > MAX_CHANNELS):
            why = f"an array is one picture, of shape (H, W), or (H, W, C) with up to {MAX_CHANNELS} channels"
            what = f"an array of shape {pictures.shape}"
            raise BadValue(what, why, "If it is a stack of pictures, pass list(array).")
    elif isinstance(pictures, str | bytes) or not isinstance(pictures, Picture | Iterable):
        remedy = (
            "Pass an array, a Picture, or a list or a generator of these; engine.open_image opens a file."
        )
        raise BadValue("The pictures", f"what was passed is {_in_words(pictures)}", remedy)


def _refuse_on_gpu(picture: object) -> None:
    """Refuse an array in a GPU's memory: chunks are what is copied to it."""
    if library_of(picture) is not None:
        what = f"a picture of type {type(picture).__name__} in a GPU's memory"
        why = "a stream copies pictures of the host to the device, and this one is there"
        raise BadValue(what, why, "Call engine.correlate, which filters it where it lies.")


def refuse_part(image: Image, pictures: object) -> None:
    """Refuse an element of a batch that is not an array, or that is a row or a number of one picture."""
    _refuse_on_gpu(image)
    if image is None or isinstance(image, str | Picture):
        return  # `Request` refuses these
    array = as_array(image)
    axes = array.ndim
    if axes == 0 and array.dtype == object:
        raise BadValue(_in_words(image), "a picture is an array", "Leave out what is none.")
    if axes < 2:
        what = f"{axes} {'axis' if axes == 1 else 'axes'}"
        why = f"what was passed is a {type(pictures).__name__}, so each of its parts is a picture"
        raise BadValue(what, why, "Pass numpy.array of it if it is one picture.")


def refuse_calls(receive: object, checkpoint: object) -> None:
    """Refuse values that are not callable."""
    for name, call, arguments in (
        ("receive", receive, "(number, result)"),
        ("checkpoint", checkpoint, "a step"),
    ):
        if not callable(call) and not (call is None and name == "receive"):
            raise BadValue(name, f"{_in_words(call)} cannot be called", f"Pass a function of {arguments}.")


def refuse_values(chunk_bytes: int | None, ring: int) -> None:
    """Refuse illegal numbers of bytes and of chunks."""
    if not _is_whole(ring) or not 2 <= ring <= MOST_RING:
        why = "it is the number of chunks on the device at once, and 2 of them overlap"
        raise BadValue(f"a ring of {ring!r}", why, f"Choose a whole number from 2 to {MOST_RING}.")
    if chunk_bytes is not None and (not _is_whole(chunk_bytes) or chunk_bytes < 1):
        is_whole = _is_whole(chunk_bytes)
        why = "a chunk has at least 1 byte" if is_whole else "a number of bytes is a whole number (an int)"
        raise BadValue(f"chunks of {chunk_bytes!r} bytes", why, "Choose some megabytes, such as 16 << 20.")


def _is_whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _in_words(value: object) -> str:
    """Return the type of a wrong argument, as in "a list"."""
    name = type(value).__name__
    return "None" if value is None else f"a{'n' if name[0] in 'aeio' else ''} {name}"


def refuse_outputs(out: object, pictures: object) -> None:
    """Refuse wrong types, and a number of arrays that differs from that of the pictures if both are known."""
    if out is None:
        return
    is_one = isinstance(pictures, np.ndarray | Picture)
    if isinstance(out, str | bytes) or not isinstance(out, Iterable):
        remedy = "Pass an array, or a list of arrays for a batch."
        raise BadValue(_ARRAYS, f"what was passed is {_in_words(out)}", remedy)
    if isinstance(out, np.ndarray):
        if not is_one:
            what, remedy = "One array for the results of a batch", "Pass a list of arrays; list(out) of it."
            raise BadValue(what, "each picture has a result of its own", remedy)
        return
    if not isinstance(out, Sized) or not (is_one or isinstance(pictures, Sized)):
        return
    wanted = len(pictures) if isinstance(pictures, Sized) and not is_one else 1
    if wanted and len(out) != wanted:
        short = f": there is none for picture {len(out) + 1}" if len(out) < wanted else ""
        why = f"{_count(wanted, 'picture')}, but {_count(len(out), 'array')}{short}"
        raise BadValue(_ARRAYS, why, "Pass one for each picture.")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


class Outputs:
    """Gives the caller's array for each result, or a fresh one.

    An array that shares memory with the picture, or with a result that is still needed, is refused: bands of
    a picture are read after others are written.
    """

    def __init__(self, arrays: Iterable[np.ndarray] | None) -> None:
        self._arrays: Iterator[np.ndarray] | None = None if arrays is None else iter(arrays)
        self._intervals = IntervalsInUse()

    def take(self, call: Call, number: int) -> np.ndarray:
        """Return the array for the result of a picture, the `number`-th from 1; a `BadValue` says why not."""
        shape, dtype = call.shape, np.dtype(call.problem.result_dtype)
        if self._arrays is None:
            return empty_result(call.samples, shape, dtype)
        array = next(self._arrays, None)
        if array is None:
            why = f"there is none for picture {number}"
            raise BadValue(_ARRAYS, why, "Pass one for each picture.")
        refuse_out(array, call.samples, shape, dtype)
        if not self._intervals.take(array):
            why = "it shares memory with the result of another picture"
            raise BadValue("This array out", why, "Pass an array of its own.")
        return array

    def leave(self, array: np.ndarray) -> None:
        """Allow the memory of a result to be used again."""
        if self._arrays is not None:
            self._intervals.leave(array)


class IntervalsInUse:
    """Intervals of memory, none of which overlap."""

    def __init__(self) -> None:
        # Where one begins, where it ends, where the next one begins, ...
        self._edges: list[int] = []

    def take(self, array: np.ndarray) -> bool:
        """Add a C-contiguous array; return False, and do nothing, if it shares memory with another one."""
        begin = array.ctypes.data
        end, at = begin + array.nbytes, bisect_right(self._edges, begin)
        if at % 2 or (at < len(self._edges) and self._edges[at] < end):
            return False
        self._edges[at:at] = begin, end
        return True

    def leave(self, array: np.ndarray) -> None:
        """Remove an array, if it was added."""
        begin = array.ctypes.data
        at = bisect_left(self._edges, begin)
        # Not where the one before it ends.
        at += at % 2
        if self._edges[at : at + 2] == [begin, begin + array.nbytes]:
            del self._edges[at : at + 2]

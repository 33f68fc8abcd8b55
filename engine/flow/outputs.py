"""The arrays that results of a stream go into: the caller's, which are checked, or fresh ones."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sized
from typing import Any

import numpy as np

from engine.device.anti_aliasing import empty_result
from engine.errors import BadValue
from engine.flow.arguments import in_words
from engine.image.picture import Picture

_WHAT = "The arrays for the results"


def refuse_outputs(out: object, pictures: object) -> None:
    """Refuse wrong types, and a number of arrays that differs from that of the pictures if both are known."""
    if out is None:
        return
    is_one = isinstance(pictures, np.ndarray | Picture)
    if isinstance(out, str | bytes) or not isinstance(out, Iterable):
        raise BadValue(
            _WHAT, f"what was passed is {in_words(out)}", "Pass an array, or a list of arrays for a batch."
        )
    if isinstance(out, np.ndarray):
        if not is_one:
            raise BadValue(
                "One array for the results of a batch",
                "each picture has a result of its own",
                "Pass a list of arrays; list(out) of a stacked one.",
            )
        return
    if not isinstance(out, Sized) or not (is_one or isinstance(pictures, Sized)):
        return
    wanted = len(pictures) if isinstance(pictures, Sized) and not is_one else 1
    if wanted and len(out) != wanted:
        short = f": there is none for picture {len(out) + 1}" if len(out) < wanted else ""
        raise BadValue(
            _WHAT,
            f"{_count(wanted, 'picture')}, but {_count(len(out), 'array')}{short}",
            "Pass one for each picture.",
        )


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

    def take(self, request: Any, number: int) -> np.ndarray:
        """Return the array for the result of a picture, the `number`-th from 1; a `BadValue` says why not."""
        dtype = np.dtype(request.problem.result_dtype)
        if self._arrays is None:
            return empty_result(request.samples, request.shape, dtype)
        try:
            array = _checked(next(self._arrays), request.shape, dtype, number)
        except StopIteration:
            why = f"there is none for picture {number}"
            raise BadValue(_WHAT, why, "Pass one for each picture.") from None
        if np.may_share_memory(array, request.samples) or not self._intervals.take(array):
            raise BadValue(
                f"the array for the result of picture {number}",
                "it shares memory with the picture, or with the result of another one",
                "Pass an array of its own for each result.",
            )
        return array

    def leave(self, array: np.ndarray) -> None:
        """Allow the memory of a result to be used again."""
        self._intervals.leave(array)


def _checked(array: object, shape: tuple[int, ...], dtype: np.dtype, number: int) -> np.ndarray:
    """Return an array that a result of that shape and type can be written to."""
    what = f"the array for the result of picture {number}"
    remedy = "Pass engine.pinned_array or numpy.empty of"
    if not isinstance(array, np.ndarray):
        raise BadValue(
            _WHAT,
            f"what was passed for picture {number} is {in_words(array)}",
            "Pass an array, or a list of arrays for a batch.",
        )
    if not array.flags.writeable:
        raise BadValue(what, "it is read-only", f"{remedy} the picture's shape.")
    if array.shape != shape or array.dtype != dtype:
        raise BadValue(
            f"an array of {array.dtype} and shape {array.shape} for a result",
            f"picture {number} needs a C-contiguous one of {dtype} and shape {shape}",
            f"{remedy} that shape.",
        )
    if not array.flags.c_contiguous:
        raise BadValue(
            what,
            "its rows do not lie one after the other (it is not C-contiguous)",
            f"{remedy} that shape, and copy the result from there.",
        )
    return array


class IntervalsInUse:
    """Intervals of memory, none of which overlap."""

    def __init__(self) -> None:
        self._intervals: list[tuple[int, int]] = []

    def take(self, array: np.ndarray) -> bool:
        """Add a C-contiguous array; return False, and do nothing, if it shares memory with another one."""
        begin, end = _interval(array)
        after = bisect_left(self._intervals, (begin, end))
        if after < len(self._intervals) and self._intervals[after][0] < end:
            return False
        if after and self._intervals[after - 1][1] > begin:
            return False
        insort(self._intervals, (begin, end))
        return True

    def leave(self, array: np.ndarray) -> None:
        """Remove an array, if it was added."""
        at = bisect_left(self._intervals, _interval(array))
        if self._intervals[at : at + 1] == [_interval(array)]:
            del self._intervals[at]


def _interval(array: np.ndarray) -> tuple[int, int]:
    begin = array.ctypes.data
    return begin, begin + array.nbytes

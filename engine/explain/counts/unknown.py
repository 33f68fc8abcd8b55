"""A number that is not known: what a picture's samples are while its accesses are counted. No Numba in here.

Everything computed from it is unknown too. Where an address or the way of a thread depends on it, accesses
cannot be counted without the picture.
"""

from typing import Any, NoReturn

from engine.reason import Reason


class NotCounted(Exception):
    """The accesses of a kernel cannot be counted; `reason` says why."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(str(reason))
        self.reason = reason


def depends_on_samples(what: str) -> NotCounted:
    """Return why a kernel is not counted where `what` depends on the picture's samples."""
    return NotCounted(
        Reason(
            "depends-on-samples",
            f"{what} depends on the picture's samples",
            f"{what} depends on the picture's samples, so that its accesses differ from picture to picture.",
        )
    )


class Unknown:
    """An unknown number: `UNKNOWN`, or `WORD`, which is one of 4 bytes whatever array it is stored in."""

    __slots__ = ()
    # NumPy's arrays leave an operation with it to it.
    __array_ufunc__ = None
    __hash__ = None  # type: ignore[assignment]

    def _unknown(self, *others: Any) -> "Unknown":
        return UNKNOWN

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _unknown
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __and__ = __rand__ = __or__ = __ror__ = _unknown
    __xor__ = __rxor__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _unknown
    __neg__ = __abs__ = __invert__ = _unknown
    __lt__ = __le__ = __gt__ = __ge__ = _unknown
    __eq__ = __ne__ = _unknown  # type: ignore[assignment]

    # Of the words that emitters compute with.
    bits_as = trunc = zext = _unknown

    def __bool__(self) -> NoReturn:
        raise depends_on_samples("What a thread does")

    def __index__(self) -> NoReturn:
        raise depends_on_samples("An address")

    def __repr__(self) -> str:
        return "WORD" if self is WORD else "UNKNOWN"


UNKNOWN, WORD = Unknown(), Unknown()

"""The errors that people meet: what happened, why, and what to do.

Exceptions of libraries become these (`raise ... from`), so a caller of the engine needs to know only
`EngineError`. Every error can be sent to another process (its arguments are its three sentences).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.geometry.block import Block


class EngineError(Exception):
    """A request that cannot be done, in words for people.

    Parameters
    ----------
    what : str
        What failed, with the name of the thing ("photo.png cannot be opened").
    why : str
        The cause, without blame ("the file ends after 120 of 4,096 bytes").
    remedy : str
        What the person can do ("Save it again from the program that made it.").
    """

    is_refusal = False
    """Whether the request was refused before anything was tried; otherwise something went wrong."""

    def __init__(self, what: str, why: str = "", remedy: str = "") -> None:
        super().__init__(what, why, remedy)
        self.what = what
        self.why = why
        self.remedy = remedy

    def __str__(self) -> str:
        head = f"{self.what}: {self.why}" if self.why else self.what
        line = f"{head.rstrip('.')}. {self.remedy}" if self.remedy else head
        return " ".join(line.split())


class ImageReadError(EngineError):
    """A picture cannot be opened: missing, unreadable, not a picture, damaged or too large."""


class ImageWriteError(EngineError):
    """A picture cannot be saved under that name or in that format."""


class FileWriteError(EngineError):
    """A file (results, session, settings) cannot be written."""


class MaskError(EngineError):
    """Not a mask: a word in it, ragged rows, no numbers, NaN, too large."""


class UnknownName(EngineError):
    """There is no variant, preset, border or other thing of that name."""


class BadValue(EngineError):
    """A value of the right kind but out of range, or several that do not fit together."""

    is_refusal = True


class UnsupportedVariant(EngineError):
    """A variant cannot compute this; where the block is the reason, `nearest_block` is a legal one."""

    is_refusal = True

    def __init__(
        self, what: str, why: str = "", remedy: str = "", nearest_block: "Block | None" = None
    ) -> None:
        super().__init__(what, why, remedy)
        self.args = (what, why, remedy, nearest_block)
        self.nearest_block = nearest_block


class DeviceUnavailable(EngineError):
    """No such device here, or it cannot be used now."""

    is_refusal = True


class OutOfDeviceMemory(DeviceUnavailable):
    """The device has less free memory than the request needs; the device still works."""

    is_refusal = False


class DeviceFault(DeviceUnavailable):
    """The device failed during work; the process that used it cannot use CUDA any longer."""

    is_refusal = False


class VerificationFailed(EngineError):
    """A result is further from the float64 oracle than rounding can explain."""


class HostLost(EngineError):
    """The engine's process ended during a request (crash, kill, out of memory)."""


class HostLostTwice(HostLost):
    """Two processes ended, one after the other, during the same request: it is not tried again."""


class Cancelled(EngineError):
    """The person stopped the request."""


class CodeNotKept(EngineError, UserWarning):
    """Compiled code cannot be kept for the next start; it is used all the same, so this is a warning."""

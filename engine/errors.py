"""The errors that people meet: what happened, why, and what would do.

Library exceptions are translated at the door (`raise ... from`), so that a caller of the engine needs to know
only `EngineError`. Every error travels between processes unchanged (its arguments are its three sentences).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.geometry.block import Block


class EngineError(Exception):
    """A request that cannot be done, told in words.

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
    """Whether the request cannot be done here as it stands, so that nothing was tried; else something went wrong."""

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
    """A picture cannot be saved in that place or in that format."""


class FileWriteError(EngineError):
    """A file (results, session, settings) cannot be written."""


class MaskError(EngineError):
    """A mask is not one: a word in it, ragged rows, no numbers, NaN, too large."""


class UnknownName(EngineError):
    """No variant, preset, border or other named thing is called that."""


class BadValue(EngineError):
    """A value of the right kind but out of range, or several that do not fit together."""

    is_refusal = True


class UnsupportedVariant(EngineError):
    """A variant cannot do this problem with this block; the remedy names the nearest legal one.

    Parameters
    ----------
    what, why, remedy : str
    nearest_block : Block, optional
        The nearest legal block, where the block is the reason.
    """

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
    """The device has less free memory than the request needs; the device itself is well."""

    is_refusal = False


class DeviceFault(DeviceUnavailable):
    """The device failed in the middle of work; the process that used it is lost for CUDA."""

    is_refusal = False


class VerificationFailed(EngineError):
    """A result is further from the float64 oracle than rounding can explain."""


class HostLost(EngineError):
    """The engine's process ended in the middle of a request (crash, kill, out of memory)."""


class HostLostTwice(HostLost):
    """Two processes ended, one after the other, with the same request: it is not tried again as it is."""


class Cancelled(EngineError):
    """The person stopped the request."""


class CodeNotKept(EngineError, UserWarning):
    """Compiled code cannot be kept for the next start; it is used all the same, so this is a warning."""

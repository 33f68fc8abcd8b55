"""The errors that people meet: what happened, why, and what to do.

Exceptions of libraries become these (`raise ... from`), so a caller of the engine needs to know only
`EngineError`. Every error can be sent to another process (its arguments are its three sentences).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar, Self


@dataclass(frozen=True, slots=True)
class Reason:
    """Why something is refused, chosen or has failed."""

    code: str  # what kind of reason it is, for programs: "float32-results-only"; it stays when words change
    # A few words for a list or a cell of a table, without a full stop; with a capital for a refusal or a
    # failure.
    short: str
    # For a refusal or a failure: whole sentences that say the same with numbers; empty where `short` says it
    # all. For a choice: further clauses.
    detail: str = ""
    remedy: str = ""  # whole sentences on what a person can do; empty where nothing helps

    @property
    def sentence(self) -> str:
        """The reason without what helps."""
        return self.detail or f"{self.short}."

    @property
    def clauses(self) -> str:
        """A choice in one line, for brackets and cells: what decided, and what else was compared."""
        return "; ".join(filter(None, (self.short, self.detail)))

    def and_also(self, *clauses: str) -> Self:
        """Return the reason of a choice with further clauses."""
        return replace(self, detail="; ".join(filter(None, (self.detail, *clauses))))

    def as_json(self) -> dict[str, str]:
        """Return the reason as plain data for JSON."""
        return {name: getattr(self, name) for name in ("code", "short", "detail", "remedy")}

    def __str__(self) -> str:
        return " ".join(filter(None, (self.sentence, self.remedy)))


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
    is_about_run: ClassVar[bool] = False
    """Whether it is the variant or the device of a run that failed, which the run itself names."""
    code: ClassVar[str] = "error"  # what kind of error it is, for programs (`Reason.code`)

    def __init_subclass__(cls, **declared: str | bool) -> None:
        for name, value in declared.items():
            setattr(cls, name, value)

    def __init__(self, what: str, why: str = "", remedy: str = "") -> None:
        super().__init__(what, why, remedy)
        self.what = what
        self.why = why
        self.remedy = remedy

    def __str__(self) -> str:
        head = f"{self.what}: {self.why}" if self.why else self.what
        line = f"{head.rstrip('.')}. {self.remedy}" if self.remedy else head
        return " ".join(line.split())

    def _render_traceback_(self) -> list[str]:
        """Return what IPython and Jupyter show: the sentence, in place of the calls within the engine."""
        return [str(self)]

    @property
    def reason(self) -> Reason:
        """Why it cannot be done, where what failed is named already."""
        return Reason(self.code, _short(self.why or self.what), remedy=self.remedy)

    @property
    def failure(self) -> Reason:
        """The reason of a run that has no result: with what failed, where the run does not name it."""
        if self.is_about_run or not self.why:
            return Reason(**self.reason.as_json())
        return Reason(self.code, _short(f"{self.what}: {self.why}"), remedy=self.remedy)


def closest(word: str, known: Iterable[str], least: float = 0.6) -> str | None:
    """Return the known name that a misspelt one was probably meant to be, or None.

    `least` is how alike they must be, 1 for the same. Longer texts are no misspelt names, and comparing them
    would take time.
    """
    # Only an error needs it.
    import difflib

    near = difflib.get_close_matches(word, list(known), n=1, cutoff=least) if len(word) <= 40 else []
    return near[0] if near else None


def did_you_mean(word: str, known: Iterable[str], least: float = 0.6) -> str:
    """Return the beginning of a remedy: "Did you mean sobel-x? "; empty where no known name is close."""
    near = closest(word, known, least)
    return f"Did you mean {near}? " if near else ""


def _short(text: str) -> str:
    """Return a clause as `Reason.short` has it; the name of a file or a device keeps its letters."""
    text = " ".join(text.split()).rstrip(".")
    return text[:1].upper() + text[1:] if text.split(" ", 1)[0].isalpha() else text


class ImageReadError(EngineError, code="image-unreadable"):
    """A picture cannot be opened: missing, unreadable, not a picture, damaged or too large."""


class ImageWriteError(EngineError, code="image-unwritable"):
    """A picture cannot be saved under that name or in that format."""


class FileReadError(EngineError, code="file-unreadable"):
    """A file cannot be read: missing, no file, too large, not text, not JSON."""


class FileWriteError(EngineError, code="file-unwritable"):
    """A file (results, session, settings) cannot be written."""


class MaskError(EngineError, code="mask"):
    """Not a mask: a word in it, ragged rows, no numbers, NaN, too large."""


class UnknownName(EngineError, code="unknown-name"):
    """There is no variant, preset, border or other thing of that name."""


class BadValue(EngineError, code="bad-value", is_refusal=True):
    """A value of the right kind but out of range, or several that do not fit together."""


class TooLargeForSimulator(BadValue, code="too-large-for-simulator"):
    """The simulator would take too long: a smaller picture, product or batch helps."""


class DeviceUnavailable(EngineError, code="device-unavailable", is_refusal=True, is_about_run=True):
    """No such device here, or it cannot be used now."""


class OutOfDeviceMemory(DeviceUnavailable, code="device-memory", is_refusal=False, is_about_run=False):
    """The device has less free memory than the request needs; the device still works."""


class DeviceFault(DeviceUnavailable, code="device-fault", is_refusal=False, is_about_run=False):
    """The device failed during work; the process that used it cannot use CUDA any longer."""


class VerificationFailed(EngineError, code="not-verified"):
    """A result is further from the float64 oracle than rounding can explain."""


class HostLost(EngineError, code="host-lost"):
    """The engine's process ended during a request (crash, kill, out of memory)."""


class LineLost(HostLost, code="line-lost"):
    """The engine's process on another machine is not reached, or not any more; work here is kept."""


class ResultGone(EngineError, code="result-gone"):
    """A result that stayed on another machine is not kept there any more; it is computed again."""


class NotOfTheSchema(EngineError, code="not-of-the-schema"):
    """What came from another machine, or was to be sent, is no message, or holds what may not cross."""


class HostLostTwice(HostLost):
    """Two processes ended, one after the other, during the same request: it is not tried again."""


class Cancelled(EngineError, code="stopped"):
    """The person stopped the request."""


class CodeNotKept(EngineError, UserWarning):
    """Compiled code cannot be kept for the next start; it is used all the same, so this is a warning."""

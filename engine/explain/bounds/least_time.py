"""What the bounds of a run are on a CPU and on a GPU alike, and the cause that they give."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol

from engine.explain.limits.device_limits import DeviceLimits
from engine.reason import Reason
from engine.results.measurement import Bound


class LeastTime(Protocol):
    """The bounds of a run on a device of known limits."""

    @property
    def limits(self) -> DeviceLimits:
        """Those of the device."""

    @property
    def bounds(self) -> tuple[Bound, ...]:
        """Of all that is done together, the tallest first."""

    @property
    def least_ms(self) -> float:
        """The least time: what follows one another adds up."""

    @property
    def not_counted(self) -> Reason | None:
        """Why it is not counted what the run does: its bytes alone bound it."""


def together(of_each: Iterable[Iterable[Bound]]) -> dict[str, Bound]:
    """Return the bounds of what follows one another, by their keys: those for the same thing add up."""
    found: dict[str, Bound] = {}
    for bounds in of_each:
        for bound in bounds:
            found[bound.key] = found[bound.key] + bound if bound.key in found else bound
    return found


class Cause(NamedTuple):
    """What bounds a run, and what removes that; `variant` is the key of the one that does, if any."""

    what: str
    removed_by: str
    variant: str = ""

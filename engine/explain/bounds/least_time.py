"""The bounds of a run on a device of known limits, and the cause that they give."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from engine.errors import Reason
from engine.explain.limits.device_limits import DeviceLimits
from engine.results.measurement import Bound
from engine.run.task import AnyJob


class Cause(NamedTuple):
    """What bounds a run, and what removes that; `variant` is the key of the one that does, if any."""

    what: str
    removed_by: str
    variant: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class LeastTime:
    """What a run must do on a device of known limits, and the least time for that."""

    job: AnyJob
    limits: DeviceLimits
    in_turn: tuple[tuple[Bound, ...], ...]
    """Of each launch, or of each loop: they follow one another."""
    beside: tuple[Bound, ...] = ()
    """Of all of them together."""
    before: tuple[Bound, ...] = ()
    """Of a call, which comes before all that it does."""
    not_counted: Reason | None = None
    """Why it is not counted what the run does: its bytes alone bound it."""

    @cached_property
    def bounds(self) -> tuple[Bound, ...]:
        """Of all that is done together, the tallest first."""
        found: dict[str, Bound] = {}
        for bound in (bound for bounds in self.in_turn for bound in bounds):
            found[bound.key] = found[bound.key] + bound if bound.key in found else bound
        for bound in (*self.beside, *self.before):
            if bound.key not in found or bound.ms > found[bound.key].ms:
                found[bound.key] = bound
        return tuple(sorted(found.values(), key=lambda bound: -bound.ms))

    @property
    def least_ms(self) -> float:
        """The least time: the tallest bounds of what follows one another add up."""
        in_turn = sum(max((bound.ms for bound in bounds), default=0.0) for bounds in self.in_turn)
        calls = sum(bound.ms for bound in self.before)
        return calls + max([in_turn, *(bound.ms for bound in self.beside)])

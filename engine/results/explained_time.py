"""Why a run takes its time: the least time for each thing that it must do, and one sentence.

No Numba in here.
"""

from dataclasses import dataclass, replace

from engine.reason import Reason


@dataclass(frozen=True, slots=True)
class Bound:
    """The least time for one thing that a run must do: no run of it on that device is faster."""

    key: str  # "instructions"
    title: str  # for people, in lower case: "instructions issued"
    ms: float
    amount: float  # how much of it all launches do
    unit: str  # of the amount: "instructions", each of a warp
    per_s: float  # how much of it the device does in a second at most
    counted_from: str  # what the amount is counted from, in words: "SASS of sm_90"

    def __add__(self, other: "Bound") -> "Bound":
        """Return the bound of two launches, one after the other, for the same thing."""
        return replace(self, ms=self.ms + other.ms, amount=self.amount + other.amount)


@dataclass(frozen=True, slots=True)
class ExplainedTime:
    """The bounds of a run beside its time, and what they say.

    The launches of a run follow one another: `least_ms` is the sum of the tallest bound of each.
    """

    device: str  # in words: whose limits these are
    bounds: tuple[Bound, ...] = ()  # of all launches together, the tallest first
    least_ms: float = 0.0
    measured_ms: float | None = None  # None where the run has no time
    sentence: str = ""  # the reason for the time, or why there is none to give
    remedy: str = ""  # key of the variant that removes the tallest limit; empty where none is known
    transactions_per_request: float | None = None  # 128-byte transactions per request to global memory
    # Why there are no bounds: no kernel of ours, or limits that were not measured.
    not_explained: Reason | None = None

    @property
    def words(self) -> str:
        """The reason for the time, or why there is none."""
        return self.sentence or str(self.not_explained or "")

    @property
    def tallest(self) -> Bound | None:
        """The bound that comes nearest to the time."""
        return self.bounds[0] if self.bounds else None

    @property
    def share(self) -> float | None:
        """The part of the measured time that the bounds explain; None without one of them."""
        return self.least_ms / self.measured_ms if self.measured_ms and self.bounds else None

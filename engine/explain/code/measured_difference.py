"""What a step from one kernel to another saved, from results that were measured on one machine."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.device_info import RECORDED
from engine.results.compare import compared
from engine.results.measurement import AnyResult
from engine.results.quantities import ms_cell

# More than this part of the time before is said in times.
_MOST_MORE = 1.0


@dataclass(frozen=True, slots=True)
class MeasuredDifference:
    """Two median kernel times of one problem on one device."""

    before: str
    after: str
    before_ms: float
    after_ms: float
    problem: str
    device: str

    @property
    def saved(self) -> float:
        """The part of the time before that is gone; negative where it takes longer."""
        return 1.0 - self.after_ms / self.before_ms

    @property
    def sentence(self) -> str:
        """The difference in words."""
        share = abs(self.saved)
        word = f"{100 * share:.0f} % {'less' if self.saved > 0 else 'more'} than"
        if share < 0.01:
            word = "about as long as"
        elif self.saved <= -_MOST_MORE:
            word = f"{1 + share:.3g} times as long as"
        return (
            f"{ms_cell(self.after_ms)} ms instead of {ms_cell(self.before_ms)} ms, {word} {self.before} "
            f"({self.problem}, {self.device})"
        )


def measured_difference(results: Sequence[AnyResult], before: str, after: str) -> MeasuredDifference | None:
    """Return what two variants took on the largest problem that both have a verified time for; else None.

    Of several blocks the fastest counts, and recorded runs only where there are no others.
    """
    runs = [
        (one.baseline.kernel_ms, one.result.kernel_ms, one)
        for one in compared(results, before)
        if one.result.variant == after and one.baseline is not None and one.result.kernel_ms
        if one.baseline.kernel_ms and one.baseline.device == one.result.device
    ]
    runs = [run for run in runs if run[2].result.device != RECORDED] or runs
    if not runs:
        return None
    longest = max(before_ms for before_ms, _, _ in runs)
    before_ms, after_ms, best = min((run for run in runs if run[0] == longest), key=lambda run: run[1])
    device = machine_text(best.result)
    return MeasuredDifference(before, after, before_ms, after_ms, _problem_text(best.result), device)


def machine_text(result: AnyResult) -> str:
    """Return what a result was measured on, and whether that is another machine's, which was recorded."""
    device = result.environment.device
    return f"{RECORDED}, {device}" if result.device == RECORDED else device


def _problem_text(result: AnyResult) -> str:
    mask = f", {result.mask_name}" if result.mask_name else ""
    return f"{result.problem.size_text}{mask}"

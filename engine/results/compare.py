"""Which runs may be compared, and the one definition of speed-up.

A speed-up is the baseline's median kernel time over that of the run. Two runs are compared if they share the
task, the problem (size, channels, types of operands and results, border with its value, anchor), the weights
and the layout of rows; on the CPU rows have one layout only, so such a run is compared with either.
Recorded runs, which another machine made, are compared with recorded ones only. The fastest verified run of
the named baseline counts for a problem; a run that was chosen itself counts on its own problem instead.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic

from engine.device_info import RECORDED
from engine.geometry.layout import Layout
from engine.results.measurement import AnyResult, Measurement
from engine.results.problem import P_co

SPEED_UP_OF = (
    "the median kernel time of the baseline's fastest verified run of the same problem (size, channels, "
    "types, weights, anchor, border, layout of rows), or of the run chosen as baseline, over that of this run"
)
"""The definition, for the reader of a file or a tooltip."""


@dataclass(frozen=True)
class ComparedRun(Generic[P_co]):
    """A run among others, with its position from 1, and the run that its speed-up is against.

    There is no baseline where none can be compared, or the run has no speed.
    """

    result: Measurement[P_co]
    number: int = 1
    baseline: AnyResult | None = None
    baseline_run: int | None = None

    @property
    def speed_up(self) -> float | None:
        """How many times faster the kernel is than the baseline's; None where either has no speed."""
        if self.baseline is None or not self.baseline.kernel_ms or not self.result.kernel_ms:
            return None
        return self.baseline.kernel_ms / self.result.kernel_ms


Compared = ComparedRun[Any]
"""A run of whatever task; the metrics of a task take those of its own."""


def compared(results: Sequence[AnyResult], baseline: str, chosen: AnyResult | None = None) -> list[Compared]:
    """Return every run with the one that its speed-up is against.

    `baseline` is the key of a variant; a `chosen` run is the baseline of its own problem instead.
    """
    best: dict[Hashable, int] = {}
    for at, run in enumerate(results):
        if run.variant == baseline and run.kernel_ms:
            for key in _served(run):
                before = results[best[key]].kernel_ms if key in best else None
                if before is None or run.kernel_ms < before:
                    best[key] = at
    for at, run in enumerate(results):
        if run is chosen and run.kernel_ms:
            best |= dict.fromkeys(_served(run), at)
    found = (best.get((comparable(run), run.layout)) if run.kernel_ms else None for run in results)
    return [
        Compared(run, number, None if at is None else results[at], None if at is None else at + 1)
        for number, (run, at) in enumerate(zip(results, found, strict=True), start=1)
    ]


def comparable(result: AnyResult) -> Hashable:
    """Return what two runs must share, beside the layout of rows, so that their times can be compared."""
    # Files of version 1 have no digest, and compared masks by their names.
    weights = result.weights_digest or ("", result.mask_name)
    of_here = result.task, result.problem.comparable, weights
    return (*of_here, RECORDED) if result.device == RECORDED else of_here


def _served(baseline: AnyResult) -> Iterable[Hashable]:
    """Return the problems and layouts of runs that a baseline may be compared with."""
    layouts = ("", baseline.layout) if baseline.layout else ("", *Layout)
    return [(comparable(baseline), str(layout)) for layout in layouts]

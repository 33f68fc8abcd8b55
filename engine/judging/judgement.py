"""The verdict on a kernel, as data: right, wrong, faulty or refused, with findings and counts."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

FORMAT, VERSION = "haloscope-judgement", 1


class Verdict(StrEnum):
    """What a kernel is."""

    RIGHT = "right"
    WRONG = "wrong"
    FAULTY = "faulty"  # the picture is right, but the kernel has a fault
    REFUSED = "refused"


@dataclass(frozen=True)
class JudgeFinding:
    """One thing that is wrong with a kernel; `line` is 0 where no line is known."""

    kind: str  # race, outside, unwritten, barrier, misaligned, async, wrong, or refused
    line: int
    lines: tuple[int, ...]
    message: str


@dataclass(frozen=True)
class Gate:
    """A property that was required, what the kernel has, what `naive` has, and whether it holds."""

    text: str
    value: float
    naive: float | None
    holds: bool


@dataclass(frozen=True)
class Judgement:
    """The verdict on one kernel.

    Parameters
    ----------
    kernel : str
        The name of its function; empty where none was found.
    verdict : Verdict
    findings : tuple of JudgeFinding
    launches : tuple of str
        The launches that were made.
    metrics : dict of str to float
        What it asks of memory in the largest launch, by the names that gates know.
    lines : dict of int to dict
        The requests of each line of the source there.
    gates : tuple of Gate
    device : str
        What a GPU said of it, where one was asked: its name and the time of the largest launch.
    """

    kernel: str
    verdict: Verdict
    findings: tuple[JudgeFinding, ...] = ()
    launches: tuple[str, ...] = ()
    metrics: dict[str, float] = field(default_factory=dict)
    lines: dict[int, dict[str, dict[str, int]]] = field(default_factory=dict)
    gates: tuple[Gate, ...] = ()
    device: str = ""

    @property
    def passed(self) -> bool:
        """Whether it is right and every gate holds."""
        return self.verdict is Verdict.RIGHT and all(one.holds for one in self.gates)

    def as_json(self) -> dict[str, Any]:
        """Return the judgement as plain data for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "kernel": self.kernel,
            "verdict": str(self.verdict),
            "findings": [
                {"kind": one.kind, "line": one.line, "lines": list(one.lines), "message": one.message}
                for one in self.findings
            ],
            "launches": list(self.launches),
            "counts": {
                "all": self.metrics,
                "lines": {str(line): counts for line, counts in sorted(self.lines.items())},
            },
            "device": self.device,
            "gates": [
                {"require": one.text, "value": one.value, "naive": one.naive, "holds": one.holds}
                for one in self.gates
            ],
        }

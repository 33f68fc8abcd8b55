"""What is asked of an ablation, and what it finds. No Numba in here."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from engine.explain.ablation.costs import Cost
from engine.geometry.block import Block
from engine.results.measurement import Spread
from engine.work.messages import PictureJob

PER_TAP = "executed instructions per tap, by PTX"
NO_GPU = f"No GPU is here, so nothing is timed: these are {PER_TAP}."


@dataclass(frozen=True, slots=True, kw_only=True)
class AblationJob(PictureJob):
    """Run: time a job's kernel, and its siblings without one cost each. Reply: Ablation.

    It needs the name of a variant, not "auto". Without a GPU nothing is timed, and instructions are counted.
    """

    answers: ClassVar[str] = "engine.explain.ablation.answers"

    @property
    def kind(self) -> type:
        """What faults are counted of."""
        return AblationJob


@dataclass(frozen=True, slots=True)
class Altered:
    """A variant's kernels, whole or without a cost: how long they take, and their instructions."""

    cost: Cost | None = None  # that is missing; None for the whole kernel
    why_not: str = ""  # why there is no such sibling; else empty
    kernel: Spread | None = None  # None where nothing was timed
    # For a tap, executed on the picture's size and weighed by the issue slots that they take; None where
    # times are measured.
    instructions: float | None = None

    def amount(self, *, is_time: bool) -> float | None:
        """Return its time in ms, or its instructions for a tap."""
        if is_time:
            return None if self.kernel is None else self.kernel.median_ms
        return self.instructions


class Step(NamedTuple):
    """A step of a waterfall: what a cost takes, from the top down; the first one is the whole kernel."""

    altered: Altered | None  # None for the rest
    begin: float
    end: float

    @property
    def amount(self) -> float:
        """What it takes; below 0 where the kernel is slower without it."""
        return self.begin - self.end


@dataclass(frozen=True, slots=True)
class Ablation:
    """What is saved where one cost is missing."""

    variant: str
    title: str
    block: Block
    device: str  # key; empty where none was used
    machine: str  # the device, or the architecture that was compiled for, in words
    whole: Altered = Altered()
    siblings: tuple[Altered, ...] = ()
    reason: str = ""  # why there are no times, or no siblings at all; else empty

    @property
    def is_timed(self) -> bool:
        """Whether there are times."""
        return self.whole.kernel is not None

    def steps(self) -> Iterator[Step]:
        """Yield the steps from the whole kernel to what is left, in ms or in instructions for a tap."""
        top = self.whole.amount(is_time=self.is_timed)
        if top is None:
            return
        yield Step(self.whole, top, 0.0)
        level = top
        for sibling in self.siblings:
            without = sibling.amount(is_time=self.is_timed)
            if without is not None:
                yield Step(sibling, level, level - (top - without))
                level -= top - without
        yield Step(None, level, 0.0)

"""What an ablation finds, as data for JSON and as rows for people. No Numba in here."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import NamedTuple

from engine.geometry.block import Block
from engine.results.measurement import Spread
from engine.results.text_forms import MISSING, digits_text, ms_text, percent_text

PER_TAP = "executed instructions per tap, by PTX"
NO_GPU = f"No GPU is here, so nothing is timed: these are {PER_TAP}."
ON_PURPOSE = "Each variant lacks one cost, so its result is wrong on purpose and is never shown."
OVERLAPPING = "What is saved adds up to more than the whole: costs overlap, and each hides a part of another."


class Cost(StrEnum):
    """A cost of a kernel, by its name in files."""

    BORDER_TEST = "border-test"
    PICTURE_LOADS = "picture-loads"
    WEIGHT_LOADS = "weight-loads"
    STORES = "stores"
    BARRIER = "barrier"

    @property
    def words(self) -> str:
        """Its name in words."""
        return self.replace("-", " ")


INSTEAD = {
    Cost.BORDER_TEST: "Indices are taken as they are, also outside the picture: there lies memory of the "
    "program's own.",
    Cost.PICTURE_LOADS: "Each address is formed as before, and its two halves, combined by one exclusive or, "
    "are the value.",
    Cost.WEIGHT_LOADS: "One number, an argument of the kernel, stands for every weight; nor are their "
    "addresses formed.",
    Cost.STORES: "A result is stored only if it is one that no picture gives, which the compiler cannot "
    "know.",
    Cost.BARRIER: "No thread waits for another. The compiler keeps the order of loads and stores all the "
    "same.",
}
"""What the absence of a cost leaves."""
_ABSENT = {
    Cost.BORDER_TEST: "It has no border test.",
    Cost.PICTURE_LOADS: "It loads no picture by itself.",
    Cost.WEIGHT_LOADS: "It loads no weights by itself.",
    Cost.STORES: "It stores no results by itself.",
    Cost.BARRIER: "It has no barrier.",
}


@dataclass(frozen=True, slots=True)
class Altered:
    """A variant's kernels, whole or without a cost: how long they take, and their instructions."""

    cost: Cost | None = None  # that is missing; None for the whole kernel
    kernel: Spread | None = None  # None where nothing was timed
    # For a tap, executed on the picture's size and weighed by the issue slots that they take; None where
    # times are measured.
    instructions: float | None = None

    @property
    def amount(self) -> float | None:
        """Its time in ms, or its instructions for a tap; None if there is no such kernel."""
        return self.instructions if self.kernel is None else self.kernel.median_ms

    @property
    def why_not(self) -> str:
        """Why there is no such kernel; empty if there is one."""
        return _ABSENT[self.cost] if self.cost and self.amount is None else ""


class CostStep(NamedTuple):
    """A step of a waterfall: what a cost takes, from the top down; the first one is the whole kernel."""

    name: str
    altered: Altered | None  # None for the rest
    begin: float
    end: float

    @property
    def amount(self) -> float:
        """What it takes; below 0 where the kernel is slower without it."""
        return self.begin - self.end

    @property
    def cost(self) -> Cost | None:
        """The cost; None for the whole kernel and the rest."""
        return self.altered.cost if self.altered else None


@dataclass(frozen=True, slots=True)
class Ablation:
    """What is saved where one cost is missing."""

    variant: str
    title: str
    block: Block
    device: str  # key; empty where none was used
    machine: str  # the device, or the architecture that was compiled for, in words
    whole: Altered = Altered()
    altered: tuple[Altered, ...] = ()  # without one cost each
    reason: str = ""  # why there are no times, or no altered kernels at all; else empty

    @property
    def is_timed(self) -> bool:
        """Whether there are times."""
        return self.whole.kernel is not None

    def steps(self) -> Iterator[CostStep]:
        """Yield the steps from the whole kernel to what is left, in ms or in instructions for a tap."""
        if (top := self.whole.amount) is None:
            return
        yield CostStep("whole kernel", self.whole, top, 0.0)
        level = top
        for altered in self.altered:
            if altered.cost and (without := altered.amount) is not None:
                yield CostStep(altered.cost.words, altered, level, level - (top - without))
                level -= top - without
        yield CostStep("the rest", None, level, 0.0)


def ablation_document(ablation: Ablation) -> dict[str, object]:
    """Return plain data: every sample of every altered kernel, and what each saves."""

    def amounts(one: Altered) -> dict[str, object]:
        kernel = None if one.kernel is None else asdict(one.kernel) | one.kernel.statistics
        return {"kernel": kernel, "instructions_per_tap": one.instructions}

    return {
        "device": ablation.device or None,
        "machine": ablation.machine,
        "reason": ablation.reason or None,
        "wrong_on_purpose": True,
        "whole": amounts(ablation.whole),
        "altered": [
            {"without": str(one.cost), "instead": INSTEAD[one.cost] if one.cost and not one.why_not else None}
            | {"why_not": one.why_not or None}
            | amounts(one)
            for one in ablation.altered
        ],
        "saves": {str(step.cost): step.amount for step in ablation.steps() if step.cost},
        "unit": "ms" if ablation.is_timed else PER_TAP,
    }


def amount_text(ablation: Ablation, amount: float) -> str:
    """Return a time, or instructions for a tap; with a minus where the kernel is slower without it."""
    text = ms_text(abs(amount)) if ablation.is_timed else digits_text(abs(amount), 3)
    return f"\u2212{text}" if amount < 0 else text


def amount_and_share(ablation: Ablation, step: CostStep) -> str:
    """Return what a step takes, and its share of the whole."""
    text, whole = amount_text(ablation, step.amount), next(ablation.steps()).amount
    if step.altered is ablation.whole or not whole:
        return text
    sign = "\u2212" if step.amount < 0 else ""
    return f"{text}, {sign}{percent_text(abs(step.amount) / whole)}"


def ablation_rows(ablation: Ablation) -> list[tuple[str, str]]:
    """Return a row for the whole kernel, for each cost with what it takes, and for the rest."""
    rows = [(step.name, amount_and_share(ablation, step)) for step in ablation.steps()]
    return rows + [
        (one.cost.words, f"{MISSING} {one.why_not}") for one in ablation.altered if one.cost and one.why_not
    ]


def most_sentence(ablation: Ablation) -> str:
    """Say which cost takes most; empty where nothing is known."""
    steps = list(ablation.steps())
    if not (costs := [step for step in steps if step.cost]):
        return ""
    whole, most = steps[0], max(costs, key=lambda step: step.amount)
    if most.amount <= 0:
        return "No cost takes anything by itself: each is hidden behind another."
    unit = "" if ablation.is_timed else " instructions for a tap"
    share = percent_text(most.amount / whole.amount)
    amounts = f"{amount_text(ablation, most.amount)} of {amount_text(ablation, whole.amount)}{unit}"
    return f"Most is taken by the {most.name}: {amounts}, {share}."


def ablation_sentences(ablation: Ablation) -> Sequence[str]:
    """Return the sentences on an ablation, below its rows."""
    steps = list(ablation.steps())
    overlapping = OVERLAPPING if steps and steps[-1].amount < 0 else ""
    sentences = most_sentence(ablation), ablation.reason, overlapping, ON_PURPOSE if ablation.altered else ""
    return [sentence for sentence in sentences if sentence]

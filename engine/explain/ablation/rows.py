"""An ablation as data for JSON, and as rows for people."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from engine.explain.ablation.messages import PER_TAP, Ablation, Altered, Step
from engine.results.quantities import MISSING, digits_text, ms_text, percent_text

ON_PURPOSE = "Each sibling lacks one cost, so its result is wrong on purpose and is never shown."
OVERLAPPING = "What is saved adds up to more than the whole: costs overlap, and each hides a part of another."


def ablation_document(ablation: Ablation) -> dict[str, Any]:
    """Return plain data: every sample of every sibling, and what each saves."""
    return {
        "device": ablation.device or None,
        "machine": ablation.machine,
        "reason": ablation.reason or None,
        "wrong_on_purpose": True,
        "whole": _altered_document(ablation.whole),
        "siblings": [
            {"without": str(one.cost), "instead": one.cost.instead if one.cost and not one.why_not else None}
            | {"why_not": one.why_not or None}
            | _altered_document(one)
            for one in ablation.siblings
        ],
        "saves": {
            str(step.altered.cost): step.amount
            for step in ablation.steps()
            if step.altered and step.altered.cost
        },
        "unit": "ms" if ablation.is_timed else PER_TAP,
    }


def _altered_document(one: Altered) -> dict[str, Any]:
    kernel = None if one.kernel is None else asdict(one.kernel) | one.kernel.statistics
    return {"kernel": kernel, "instructions_per_tap": one.instructions}


def step_name(step: Step) -> str:
    """Return what a step is called."""
    if step.altered is None:
        return "the rest"
    return "whole kernel" if step.altered.cost is None else step.altered.cost.words


def amount_text(ablation: Ablation, amount: float) -> str:
    """Return a time, or instructions for a tap; with a minus where the kernel is slower without it."""
    text = ms_text(abs(amount)) if ablation.is_timed else digits_text(abs(amount), 3)
    return f"\u2212{text}" if amount < 0 else text


def amount_and_share(ablation: Ablation, step: Step) -> str:
    """Return what a step takes, and its share of the whole."""
    text = amount_text(ablation, step.amount)
    whole = next(ablation.steps()).amount
    if step.altered is ablation.whole or not whole:
        return text
    sign = "\u2212" if step.amount < 0 else ""
    return f"{text}, {sign}{percent_text(abs(step.amount) / whole)}"


def ablation_rows(ablation: Ablation) -> list[tuple[str, str]]:
    """Return a row for the whole kernel, for each cost with what it takes, and for the rest."""
    rows = [(step_name(step), amount_and_share(ablation, step)) for step in ablation.steps()]
    if not rows:
        return [(one.cost.words, one.why_not) for one in ablation.siblings if one.cost]
    return rows + [
        (one.cost.words, f"{MISSING} {one.why_not}") for one in ablation.siblings if one.cost and one.why_not
    ]


def most_sentence(ablation: Ablation) -> str:
    """Say which cost takes most; empty where nothing is known."""
    steps = list(ablation.steps())
    costs = [step for step in steps[1:] if step.altered is not None]
    if not costs:
        return ""
    whole, most = steps[0], max(costs, key=lambda step: step.amount)
    if most.amount <= 0:
        return "No cost takes anything by itself: each is hidden behind another."
    unit = "" if ablation.is_timed else " instructions for a tap"
    share = percent_text(most.amount / whole.amount)
    amounts = f"{amount_text(ablation, most.amount)} of {amount_text(ablation, whole.amount)}{unit}"
    return f"Most is taken by the {step_name(most)}: {amounts}, {share}."


def ablation_sentences(ablation: Ablation) -> Sequence[str]:
    """Return what has to be said of an ablation, below its rows."""
    steps = list(ablation.steps())
    said = [sentence for sentence in (most_sentence(ablation), ablation.reason) if sentence]
    if steps and steps[-1].amount < 0:
        said.append(OVERLAPPING)
    if ablation.siblings:
        said.append(ON_PURPOSE)
    return said

"""The rows of a waterfall: the whole kernel, what each cost takes from there on down, and the rest."""

import math
from collections.abc import Iterator

from engine.explain.ablation.results import Ablation, Step, amount_and_share, amount_text, step_name
from engine.results.quantities import rate_text, tick_text
from gui.style.series import series_for
from gui.style.theme import current_theme
from gui.widgets.bar_chart import Bar, Row

_MOST_TICKS = 3


def waterfall_rows(ablation: Ablation) -> list[Row]:
    """Return a row for each step."""
    low, high = _extent(ablation)
    rows = []
    for step in ablation.steps():
        begin, end = ((at - low) / (high - low) for at in sorted((step.begin, step.end)))
        bar = Bar(begin, end, _colour(ablation, step), words=_words(ablation, step))
        is_end = step.altered is None or step.altered.cost is None
        rows.append(Row(step_name(step), (bar,), amount_and_share(ablation, step), is_strong=is_end))
    return rows


def waterfall_ticks(ablation: Ablation) -> list[tuple[float, str]]:
    """Return round values below the bars, as shares of their width, with their words."""
    low, high = _extent(ablation)
    return [
        ((value - low) / (high - low), tick_text(value) if value and ablation.is_timed else rate_text(value))
        for value in _round_values(high - low, high)
    ]


def waterfall_in_words(ablation: Ablation) -> str:
    """Return the steps for screen readers."""
    steps = (f"{step_name(step)} {amount_and_share(ablation, step)}" for step in ablation.steps())
    return f"{'; '.join(steps)}."


def _extent(ablation: Ablation) -> tuple[float, float]:
    ends = [end for step in ablation.steps() for end in (step.begin, step.end)]
    return min(0.0, *ends), max(ends)


def _round_values(extent: float, high: float) -> Iterator[float]:
    raw = extent / _MOST_TICKS
    magnitude = 10.0 ** math.floor(math.log10(raw))
    pace = next(factor * magnitude for factor in (1.0, 2.0, 5.0, 10.0) if factor * magnitude >= raw)
    for number in range(math.floor(high / pace) + 1):
        yield number * pace


def _colour(ablation: Ablation, step: Step) -> str:
    theme = current_theme()
    if step.altered is None:
        return theme.outline
    if step.altered.cost is None:
        return series_for(ablation.variant).colour
    return theme.warning if step.amount < 0 else theme.accent


def _words(ablation: Ablation, step: Step) -> str:
    """Return what a bar is: what stands in the place of a cost, and how long the kernel takes without it."""
    altered = step.altered
    if altered is None:
        return (
            "What is left when each saving is taken off: the arithmetic, and what costs hide of one another."
        )
    amount = altered.amount(is_time=ablation.is_timed)
    text = amount_text(ablation, amount or 0.0)
    samples = f", the median of {len(altered.kernel.samples_ms)} samples" if altered.kernel else ""
    unit = "" if ablation.is_timed else " instructions for a tap"
    if altered.cost is None:
        return f"The kernel as it is: {text}{unit}{samples}."
    return f"Without {altered.cost.words}: {text}{unit}{samples}. {altered.cost.instead}"

"""What the panel Why says: the bounds of a run as bars, its launches by name, the link to the remedy."""

import re
from collections.abc import Callable, Iterable, Sequence
from html import escape

from engine.results.launch_facts import LaunchFacts
from engine.results.measurement import Bound, ExplainedTime
from engine.results.quantities import (
    MISSING,
    count_text,
    digits_text,
    duration_text,
    ms_text,
    percent_text,
    rate_text,
)
from gui.explore.launch.launch_words import sides_text
from gui.style.theme import Theme
from gui.widgets.bar_chart import Bar, Row
from gui.widgets.findings import Finding

_BETWEEN = " · "
_GIGA = 1e9
# Of the tallest bound: what reaches it is compared with another run.
_MUCH = 0.5


def rows_of(explained: ExplainedTime, theme: Theme) -> tuple[Row, ...]:
    """Return a bar for each bound, the tallest first and in the accent, on the scale of `longest_ms`."""
    longest = longest_ms(explained)
    return tuple(
        Row(
            bound.title,
            (Bar(0.0, bound.ms / longest, theme.muted if at else theme.accent, words=bound_words(bound)),),
            duration_text(bound.ms),
        )
        for at, bound in enumerate(explained.bounds)
    )


def longest_ms(explained: ExplainedTime) -> float:
    """Return the time at the right end of the bars: the measured one, or the tallest bound above it."""
    return max([bound.ms for bound in explained.bounds] + [explained.measured_ms or 0.0, 1e-9])


def bound_words(bound: Bound) -> str:
    """Return what is behind a bound: how much is done, how fast it can be, what that is counted from."""
    amount = f"{rate_text(bound.amount / _GIGA)} · 10⁹" if bound.amount >= _GIGA else count_text(bound.amount)
    return (
        f"{bound.title}: at least {ms_text(bound.ms)}\n"
        f"{amount} {bound.unit}, at most {rate_text(bound.per_s / _GIGA)} · 10⁹ per second\n"
        f"Counted from {bound.counted_from}."
    )


def heard(explained: ExplainedTime) -> str:
    """Return the bounds and the time for screen readers."""
    bounds = ", ".join(f"{bound.title} {ms_text(bound.ms)}" for bound in explained.bounds)
    return f"At least: {bounds}. {measured_words(explained)}."


def compared_words(explained: ExplainedTime, before: ExplainedTime, name: str) -> str:
    """Return how a run differs from another one: in its time, and in what takes much of one of them."""
    ratios = [("time", explained.measured_ms, before.measured_ms)]
    known = {bound.key: bound for bound in before.bounds}
    for bound in explained.bounds:
        other = known.get(bound.key)
        shares = bound.ms / explained.bounds[0].ms, other.ms / before.bounds[0].ms if other else 0.0
        if other is not None and max(shares) >= _MUCH:
            ratios.append((bound.title, bound.ms, other.ms))
    ratios.append(
        ("transactions per request", explained.transactions_per_request, before.transactions_per_request)
    )
    parts = [f"{of} {digits_text(ours / its, 3)}×" for of, ours, its in ratios if ours and its]
    return f"Compared with {name}: {', '.join(parts)}."


def cause_words(explained: ExplainedTime, before: ExplainedTime, variant: str, other: str) -> str:
    """Return what one of two kernels does otherwise than the other, by its story; empty if neither says."""
    for one, key, against in ((explained, variant, other), (before, other, variant)):
        _, is_said, change = one.saves.partition(f"Against `{against}`: ")
        if is_said:
            return f"What {key} saves against {against}: {change}".replace("`", "")
    return ""


def measured_words(explained: ExplainedTime) -> str:
    """Return the measured time in words."""
    ms = explained.measured_ms
    return "No time was measured" if ms is None else f"Measured {ms_text(ms)}"


def line_words(explained: ExplainedTime) -> str:
    """Return what the line across the bars is, or why there is none."""
    ms = explained.measured_ms
    return measured_words(explained) if ms is None else f"Line: the measured {ms_text(ms)}"


def sentence_html(sentence: str, remedy: str, title: str, theme: Theme) -> str:
    """Return the reason as rich text: words in backticks are bold, and the remedy is a link to choose it.

    `title` is the remedy's name for people; without one it is no variant that can be chosen.
    """

    def name(found: re.Match[str]) -> str:
        return link(found[1]) if title and found[1] == remedy else f"<b>{found[1]}</b>"

    def link(text: str) -> str:
        return f"<a href='{remedy}' style='color: {theme.accent}'>{text}</a>"

    text = re.sub("`([^`]+)`", name, escape(sentence, quote=False))
    return text if not title or "href" in text else f"{text} {link(f'Choose {escape(title)}')}"


def numbers_of(launches: Sequence[LaunchFacts], transactions: float | None) -> tuple[Finding, ...]:
    """Return what is known of the launches of a run, of several each in its turn; nothing of others."""

    def of_each(text: Callable[[LaunchFacts], str]) -> str:
        return _BETWEEN.join(_without_repeats(map(text, launches))) or MISSING

    numbers = (
        Finding(
            "Occupancy",
            of_each(_occupancy),
            "Warps that a multiprocessor holds at once over those that it has room for, and what allows no "
            "more. The panel Launch says what would raise it.",
        ),
        Finding("Launch", of_each(_launch), "The grid in blocks, and each block in threads."),
        Finding(
            "Registers",
            of_each(lambda one: MISSING if one.registers is None else f"{one.registers} per thread"),
            "That the kernel took on this GPU.",
        ),
        Finding("Shared memory", of_each(_shared), "Of each block."),
        Finding(
            "Waves",
            of_each(lambda one: MISSING if one.waves is None else digits_text(one.waves, 3)),
            "How often the GPU was filled until all blocks had run.",
        ),
        Finding(
            "Transactions",
            MISSING if transactions is None else f"{digits_text(transactions, 3)} per request",
            "Transactions of 128 bytes that a warp's request to global memory takes: 1 is the least for 32 "
            "neighbours of 4 bytes.",
        ),
    )
    return tuple(number for number in numbers if number.text != MISSING)


def _without_repeats(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _launch(launch: LaunchFacts) -> str:
    return f"grid {sides_text(launch.grid)}, block {sides_text(launch.block)}"


def _occupancy(launch: LaunchFacts) -> str:
    if launch.occupancy is None:
        return MISSING
    limited = f", limited by {launch.limited_by}" if launch.limited_by else ""
    return f"{percent_text(launch.occupancy)}{limited}"


def _shared(launch: LaunchFacts) -> str:
    return MISSING if launch.shared_bytes is None else f"{launch.shared_bytes:,} bytes per block"

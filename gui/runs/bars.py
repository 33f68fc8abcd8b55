"""A run that a page keeps, in words, and as a bar on an axis that stands in the head of its column."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, TypeAlias

from PySide6.QtCore import QRect, QRectF
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPen

from engine.device_info import RECORDED
from engine.results.columns import SPEED_UP, Column, device_text, problem_text
from engine.results.measurement import AnyResult, Measurement
from engine.results.metrics import AnyMetric, Compared, Metric, metrics_of
from engine.results.text_forms import duration_text, rate_text, tick_text
from gui.style.metrics import GRID, HALF_GRID, small_font
from gui.style.theme import current_theme, series_for
from gui.widgets.charts import Bar

# From this ratio of the largest to the smallest on, short bars would look the same on a linear axis.
_LOG_FROM = 30.0
# The shortest bar has this share of the width on a logarithmic axis.
_SHORTEST = 0.06
_LINEAR_TICKS = 4
CGMA = "model_cgma_flop_per_load"
"""Key of the number that is drawn where runs were simulated, and so have no time."""
READING = "Bar: median. Line: p20 to p80. Tick: minimum. Hollow: recorded on another machine."
_MEDIAN = "_median_ms"
_BAR_HEIGHT, _SPREAD_HEIGHT = 10, 4
# With less room there are only numbers.
_LEAST_WIDTH = 3 * GRID


@dataclass(frozen=True, slots=True)
class BarScale:
    """From `low` on the left to `high`, the largest value, at the right end."""

    low: float = 0.0
    high: float = 1.0
    is_log: bool = False

    def share(self, value: float) -> float:
        """Return where a value stands, 0 to 1."""
        if self.is_log:
            # 0 ms from a coarse clock stands at the left end.
            value = max(value, self.low)
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    @property
    def ticks(self) -> tuple[float, ...]:
        """Every decade, or round values where there are fewer than two."""
        if self.is_log:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            return tuple(10.0**decade for decade in range(first, last + 1))
        # The smallest of 1, 2, 5, 10, 20 … that is at least so large.
        least = (self.high - self.low) / _LINEAR_TICKS
        decade = 10.0 ** math.floor(math.log10(least))
        step = next(factor * decade for factor in (1, 2, 5, 10) if factor * decade >= least * (1 - 1e-9))
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return tuple(step * at for at in range(first, last + 1))


def scale_of(values: Iterable[float]) -> BarScale:
    """Return the scale that ends at the largest of the values."""
    finite = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(finite), max(finite)
    positive = [value for value in finite if value > 0]
    if low >= 0 and positive and high / min(positive) >= _LOG_FROM:
        smallest = min(positive)
        span = math.log(high / smallest)
        return BarScale(smallest / math.exp(span * _SHORTEST / (1 - _SHORTEST)), high, True)
    low, high = min(0.0, low), max(0.0, high)
    return BarScale(low, high if high > low else low + 1.0)


@dataclass(frozen=True)
class Bars:
    """Which number is drawn, of which runs, and on what axis."""

    metric: AnyMetric
    scale: BarScale
    values: Mapping[int, float]
    """By the identity of a result; without one a run has no bar."""
    spreads: Mapping[int, tuple[float, ...]]
    """In the same way: p20, p80 and minimum of a duration."""
    widest: str
    """The longest of the numbers."""
    parts: Mapping[int, Sequence[Bar]]
    """By the identity of a result: what its number is made of, as a bar as wide as all others."""

    @property
    def ticks(self) -> tuple[float, ...]:
        """The values of the ticks; none where bars are as wide as all others."""
        return self.scale.ticks if self.values and not self.parts else ()

    def tick_text(self, value: float) -> str:
        if self.metric.unit == "ms":
            return tick_text(value) if value else "0"
        if self.metric.key == SPEED_UP:
            return f"{value:,.15g}×"
        # Errors are tiny, and rates are not.
        return rate_text(value) if value == 0 or abs(value) >= 1e-3 else f"{value:.0e}"


def bars_of(
    shown: AnyMetric,
    runs: Iterable[Compared],
    columns: Mapping[str, Column],
    parts: Mapping[int, Sequence[Bar]],
) -> Bars:
    """Return the bars of some runs."""
    values = {id(run.result): float(value) for run in runs if (value := shown.value(run)) is not None}
    head = shown.key.removesuffix(_MEDIAN)
    ends = [columns.get(f"{head}_{end}_ms") for end in ("p20", "p80", "minimum")]
    known = [end for end in ends if isinstance(end, Metric)] if shown.key.endswith(_MEDIAN) else []
    drawn = [run for run in runs if id(run.result) in values]
    spreads = {id(run.result): tuple(float(end.value(run) or 0.0) for end in known) for run in drawn if known}
    texts = [number_text(shown, run) for run in drawn]
    numbers = [*values.values(), *(end for spread in spreads.values() for end in spread)]
    return Bars(shown, scale_of(numbers), values, spreads, max(texts, key=len, default=""), parts)


def number_text(column: Column, run: Compared) -> str:
    """Return the text of a cell: a duration in the unit that suits it."""
    if isinstance(column, Metric) and column.unit == "ms":
        value = column.value(run)
        return column.text(run) if value is None else duration_text(float(value))
    return column.text(run)


def needs_time(shown: AnyMetric) -> bool:
    """Whether a number is one of runs that were timed."""
    return shown.unit == "ms" or shown.key == SPEED_UP


def bar_area(cell: QRect, number_width: int) -> QRectF:
    """Return where the bar of a cell is drawn: left of its number."""
    return QRectF(cell.adjusted(GRID, 0, -number_width, 0))


def paint_bar(painter: QPainter, cell: QRect, number_width: int, bars: Bars, result: AnyResult) -> None:
    """Draw the bar of a run with its spread, over lines at the ticks."""
    area, value = bar_area(cell, number_width), bars.values.get(id(result))
    if area.width() < _LEAST_WIDTH or value is None:
        return
    theme, scale = current_theme(), bars.scale

    def x(number: float) -> float:
        return area.left() + scale.share(number) * area.width()

    painter.setPen(QPen(QColor(theme.line), 1))
    for tick in bars.ticks:
        painter.drawLine(round(x(tick)), cell.top(), round(x(tick)), cell.bottom())
    if bars.parts:
        high = _BAR_HEIGHT + HALF_GRID
        for part in bars.parts.get(id(result), ()):
            left, right = (area.left() + share * area.width() for share in (part.begin, part.end))
            # The ground between two parts, which may have one colour.
            bar = QRectF(left, area.center().y() - high / 2, max(1.0, right - left - 1), high)
            painter.fillRect(bar, QColor(part.colour))
            if part.stripe:
                painter.fillRect(bar.adjusted(0, high - HALF_GRID, 0, 0), QColor(part.stripe))
        return
    colour = QColor(series_for(result.variant).colour)
    middle, begin = area.center().y(), area.left() if scale.is_log else x(0.0)
    bar = QRectF(begin, middle - _BAR_HEIGHT / 2, x(value) - begin, _BAR_HEIGHT).normalized()
    if result.device == RECORDED:
        # Filled is what this machine measured.
        painter.setPen(QPen(colour, 1.5))
        painter.drawRect(bar.adjusted(0.75, 0.75, -0.75, -0.75))
    else:
        painter.fillRect(bar, colour)
    if spread := bars.spreads.get(id(result)):
        p20, p80, minimum = spread
        ink, wide = QColor(theme.text), max(1.0, x(p80) - x(p20))
        painter.fillRect(QRectF(x(p20), middle - _SPREAD_HEIGHT / 2, wide, _SPREAD_HEIGHT), ink)
        painter.fillRect(QRectF(x(minimum) - 0.75, middle - _BAR_HEIGHT / 2, 1.5, _BAR_HEIGHT), ink)


def tick_words(bars: Bars, area: QRectF, free_to: float) -> Sequence[tuple[float, str]]:
    """Return the words over the bars with their left ends, none over another one nor beyond `free_to`."""
    free_from, words = area.left() - GRID, []
    for tick in bars.ticks:
        word = bars.tick_text(tick)
        wide = QFontMetrics(small_font()).horizontalAdvance(word)
        left = max(area.left() - GRID, area.left() + bars.scale.share(tick) * area.width() - wide / 2)
        if left >= free_from and left + wide <= free_to:
            words.append((left, word))
            free_from = left + wide + HALF_GRID
    return words


Run: TypeAlias = Measurement[Any]


@dataclass(slots=True)
class Kept:
    """A run, with its pin and its note."""

    result: Run
    problem: Hashable
    """What it shares with the runs that it is shown with."""
    note: str = ""
    is_pinned: bool = False


Placed = tuple[int, Kept]
"""A run with its place among all."""


def run_tooltip(run: Compared) -> str:
    """Return a run as rich text."""
    result = run.result
    lines = [run_heading(result)]
    if result.chosen_because:
        lines.append(f"Chosen by auto: {escape(result.chosen_because)}")
    lines.append(escape(result.status))
    if (sentence := no_speed_sentence(result)) != result.status and sentence:
        lines.append(escape(sentence))
    metrics = metrics_of(result.problem)
    cells = "".join(
        f"<tr><td>{escape(metric.title)}&nbsp;&nbsp;</td><td align='right'>{escape(metric.words(run))}</td>"
        f"<td>&nbsp;{escape(_details(run, metric, metrics))}</td></tr>"
        for metric in metrics
        if not metric.of and _is_shown(metric, run)
    )
    lines.append(f"<table>{cells}</table>" if cells else "")
    if result.timing is not None and result.kernel_ms is not None:
        lines.append(f"clock: {escape(result.timing.clock)}, cache {escape(result.timing.cache)}")
    environment = result.environment
    parts = [device_text(result) if result.device == RECORDED else environment.device]
    parts += [environment.driver and f"driver {environment.driver}", environment.clocks]
    parts += [f"{name} {version}" for name, version in environment.versions.items()]
    parts.append(environment.commit and f"commit {environment.commit}")
    lines.append(escape(", ".join(filter(None, parts))))
    return "<br>".join(line for line in lines if line)


def run_heading(result: Measurement[Any]) -> str:
    """Return which run it was, and of what, as two lines of rich text."""
    block = f" · block {result.block}" if result.block else ""
    rows = f" · rows {result.layout}" if result.layout else ""
    who = f"<b>{escape(result.variant)}</b> · {escape(result.title)}{block}{rows}"
    return f"{who}<br>{escape(problem_text(result))}"


def no_speed_sentence(result: Measurement[Any]) -> str:
    """Say in full why a result has no speed; empty if it has one."""
    if result.no_speed == "simulated":
        return "The simulator interprets the kernel to check it; its times mean nothing."
    if result.no_speed == "not timed":
        return "This run was verified but not timed."
    return result.status if result.no_speed else ""


def number_sentence(run: Compared, metric: AnyMetric) -> str:
    """Return a number of a run, with how it spreads: kernel 0.0400 ms (p20 0.0376, p80 0.0420)."""
    details = _details(run, metric, metrics_of(run.result.problem))
    return f"{metric.title} {metric.words(run)} {details}".rstrip()


def _details(run: Compared, head: AnyMetric, metrics: tuple[AnyMetric, ...]) -> str:
    parts = [
        f"{metric.title.removeprefix(head.title).strip()} {metric.text(run)}"
        for metric in metrics
        if metric.of == head.key and _is_shown(metric, run)
    ]
    return f"({', '.join(parts)})" if parts else ""


def _is_shown(metric: AnyMetric, run: Compared) -> bool:
    """Whether the run has the number; a kind of memory that a kernel does not touch is left out."""
    value = metric.value(run)
    return value is not None and not (metric.key.startswith("model_") and value == 0)

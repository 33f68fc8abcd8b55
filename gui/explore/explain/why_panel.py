"""The panel Why: the bounds of the selected run beside its time, the reason in a sentence, its launches."""

import re
from collections.abc import Callable, Sequence
from html import escape

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from engine.explain.launches import sides_text
from engine.results.measurement import ExplainedTime
from engine.results.occupancy import LaunchFacts
from engine.results.text_forms import MISSING, digits_text, duration_text, percent_text
from gui.explore.explain.roofline_state import MEASURE_TIP
from gui.explore.explain.why_state import Remedy, WhyState
from gui.explore.run_words import run_title
from gui.style.metrics import GRID, HALF_GRID, follow
from gui.style.theme import Theme, current_theme, theme_notifier
from gui.widgets.charts import Bar, BarChart, BarRow
from gui.widgets.labels import ElidedLabel, Findings, NamedFinding
from gui.widgets.panel_parts import (
    PANEL_MARGINS,
    PlaceholderStack,
    boxed,
    column,
    folding_row,
    named,
    row,
    scrolled,
)

_BETWEEN = " · "
_MUCH = 0.5  # of the tallest bound: what reaches it is compared with another run


def rows_of(explained: ExplainedTime, theme: Theme) -> tuple[BarRow, ...]:
    """Return a bar for each bound, the tallest first and in the accent, on the scale of `longest_ms`."""
    longest, rows = longest_ms(explained), []
    for at, bound in enumerate(explained.bounds):
        colour, words = theme.muted if at else theme.accent, f"{bound.title}: {bound.words}"
        bar = Bar(0.0, bound.ms / longest, colour, words=words)
        rows.append(BarRow(bound.title, (bar,), duration_text(bound.ms)))
    return tuple(rows)


def longest_ms(explained: ExplainedTime) -> float:
    """Return the time at the right end of the bars: the measured one, or the tallest bound above it."""
    return max([bound.ms for bound in explained.bounds] + [explained.measured_ms or 0.0, 1e-9])


def compared_words(explained: ExplainedTime, before: ExplainedTime, name: str) -> str:
    """Return how a run differs from another one: in its time, and in what takes much of one of them."""
    ratios = [("time", explained.measured_ms, before.measured_ms)]
    known = {bound.key: bound.ms for bound in before.bounds}
    for bound in explained.bounds:
        its = known.get(bound.key)
        if its is not None and max(bound.ms / explained.bounds[0].ms, its / before.bounds[0].ms) >= _MUCH:
            ratios.append((bound.title, bound.ms, its))
    transactions = explained.transactions_per_request, before.transactions_per_request
    ratios.append(("transactions per request", *transactions))
    parts = [f"{of} {digits_text(ours / its, 3)}×" for of, ours, its in ratios if ours and its]
    return f"Compared with {name}: {', '.join(parts)}."


def cause_words(explained: ExplainedTime, before: ExplainedTime, variant: str, other: str) -> str:
    """Return what one of two kernels does otherwise than the other, by its story; empty if neither says."""
    for one, key, against in ((explained, variant, other), (before, other, variant)):
        _, heading, change = one.saves.partition(f"Against `{against}`: ")
        if heading:
            return f"What {key} saves against {against}: {change}".replace("`", "")
    return ""


def sentence_html(sentence: str, remedy: str, title: str, theme: Theme) -> str:
    """Return the reason as rich text: backticks are bold, the remedy a link if `title` names a variant."""

    def name(match: re.Match[str]) -> str:
        return link(match[1]) if title and match[1] == remedy else f"<b>{match[1]}</b>"

    def link(text: str) -> str:
        return f"<a href='{remedy}' style='color: {theme.accent}'>{text}</a>"

    text = re.sub("`([^`]+)`", name, escape(sentence, quote=False))
    return text if not title or "href" in text else f"{text} {link(f'Choose {escape(title)}')}"


_NUMBERS = {
    "Occupancy": "Warps that a multiprocessor holds at once over those that it has room for, and what allows "
    "no more. The panel Launch says what would raise it.",
    "Launch": "The grid in blocks, and each block in threads.",
    "Registers": "That the kernel took on this GPU.",
    "Shared memory": "Of each block.",
    "Waves": "How often the GPU was filled until all blocks had run.",
    "Transactions": "Transactions of 128 bytes that a warp's request to global memory takes: 1 is the least "
    "for 32 neighbours of 4 bytes.",
}


def numbers_of(launches: Sequence[LaunchFacts], transactions: float | None) -> tuple[NamedFinding, ...]:
    """Return what is known of the launches of a run, of several each in its turn; nothing of others."""

    def of_each(text: Callable[[LaunchFacts], str], name: str = "grid") -> str:
        texts = (MISSING if getattr(one, name) is None else text(one) for one in launches)
        return _BETWEEN.join(dict.fromkeys(texts)) or MISSING

    held = {
        "Occupancy": of_each(_occupancy, "occupancy"),
        "Launch": of_each(lambda one: f"grid {sides_text(one.grid)}, block {sides_text(one.block)}"),
        "Registers": of_each(lambda one: f"{one.registers} per thread", "registers"),
        "Shared memory": of_each(lambda one: f"{one.shared_bytes:,} bytes per block", "shared_bytes"),
        "Waves": of_each(lambda one: digits_text(one.waves or 0.0, 3), "waves"),
        "Transactions": MISSING if transactions is None else f"{digits_text(transactions, 3)} per request",
    }
    return tuple(NamedFinding(name, text, _NUMBERS[name]) for name, text in held.items() if text != MISSING)


def _occupancy(launch: LaunchFacts) -> str:
    limited = f", limited by {launch.limited_by}" if launch.limited_by else ""
    return f"{percent_text(launch.occupancy or 0.0)}{limited}"


_ROW_HEIGHT, _BAR_HEIGHT = 2 * GRID + 2, GRID + 2
# With less width, what is side by side stands below one another.
_BESIDE_FROM = 68 * GRID
_COMPARED_TIP = (
    "The time of this run over that of the other one, then the least times and the transactions of "
    "128 bytes per request to global memory, each over the other's."
)
_NOTHING_TO_COMPARE = "No explained run of {} did the same on this device: run it too to compare the two."
_LINE_TIP = "Each bar is the least time for one thing that the run must do; the line is the measured time."


class WhyPanel(QWidget):
    """Shows the reason for the time of the selected run."""

    def __init__(self, why: WhyState) -> None:
        super().__init__()
        self._why = why
        self.title = ElidedLabel(small=True)
        flags, rich = Qt.TextInteractionFlag, Qt.TextFormat.RichText
        read = QLabel(wordWrap=True, textFormat=rich, textInteractionFlags=flags.TextBrowserInteraction)
        self.sentence = named(read, "Why the selected run takes its time")
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignTop)
        other = QLabel(wordWrap=True, textInteractionFlags=flags.TextSelectableByMouse)
        self.compared = named(other, "Compared with the other kernel", _COMPARED_TIP)
        self.caption = ElidedLabel(most=2, small=True)
        self.bars = BarChart("Least times of the selected run", _ROW_HEIGHT, _BAR_HEIGHT, names=0.54)
        self.bars.setToolTip(_LINE_TIP)
        self.numbers = Findings("Numbers of the launch", most=2)
        self.button = QPushButton()
        halves = (column(self.caption, self.bars, 0), 1), (column(self.numbers, 0), 1)
        body = folding_row(*halves, beside_from=_BESIDE_FROM)
        # Figures keep off the scroll bar.
        body.setContentsMargins(0, 0, HALF_GRID, 0)
        parts = self.title, self.compared, self.sentence, body, 0
        self.stack = PlaceholderStack(boxed(column(*parts, spacing=HALF_GRID)))
        self._area, below = scrolled(self.stack), row(1, self.button, 1)
        self.setLayout(column((self._area, 1), below, spacing=HALF_GRID, margins=PANEL_MARGINS))
        self.sentence.linkActivated.connect(why.follow_remedy)
        self.button.clicked.connect(why.take_step)
        why.state.running_changed.connect(self._allow)
        follow(self._show, why.changed, theme_notifier().changed)

    def _show(self) -> None:
        why, run = self._why, self._why.run
        explained = why.explained if why.explained is not None and why.explained.bounds else None
        launches = (run.result.launches or ()) if run is not None else ()
        self.stack.say("" if launches or explained is not None else why.words)
        self.button.setText(
            f"{Remedy.SET} {why.recorded_problem.title}" if why.step is Remedy.SET else why.step
        )
        self.button.setVisible(why.step is not Remedy.NOTHING)
        self.button.setToolTip(MEASURE_TIP if why.step is Remedy.MEASURE else why.words)
        self._allow()
        if run is None or self.stack.text:
            return
        device = why.state.device(run.result.device)
        # A recorded run says in its title where it ran.
        where = f" · {device.title}" if device else ""
        is_earlier = why.results.is_earlier(run.result)
        title = f"{run_title(run, is_earlier=is_earlier)}{where}"
        if title != self.title.text():
            # Another run is read from its beginning.
            self._area.verticalScrollBar().setValue(0)
        self.title.setText(title)
        self._say(explained)
        self._show_bars(explained)
        known = why.explained.transactions_per_request if why.explained else None
        self.numbers.show_findings(numbers_of(launches, known))

    def _say(self, explained: ExplainedTime | None) -> None:
        why, run, remedy = self._why, self._why.run, explained.remedy if explained else ""
        known = why.state.variant(remedy) if remedy else None
        words = explained.sentence if explained else why.words
        self.sentence.setText(sentence_html(words, remedy, known.title if known else "", current_theme()))
        self.sentence.setAccessibleDescription(words)

        before = why.before if explained else None
        its = before.result.explained if before else None
        other = why.selection.other if explained else None
        self.compared.setVisible(bool(its and its.bounds) or other is not None)
        if other is not None:
            self.compared.setText(_NOTHING_TO_COMPARE.format(other.key))
        if explained and run and before and its and its.bounds:
            name = f"{before.result.variant} (run {before.number})"
            cause = cause_words(explained, its, run.result.variant, before.result.variant)
            self.compared.setText(f"{compared_words(explained, its, name)} {cause}".rstrip())

    def _show_bars(self, explained: ExplainedTime | None) -> None:
        for part in (self.caption, self.bars):
            part.setVisible(explained is not None)
        if explained is None:
            return
        ms = explained.measured_ms
        line = None if ms is None else ms / longest_ms(explained)
        measured = "No time was measured" if ms is None else f"Line: the measured {duration_text(ms)}"
        self.caption.setText(f"Least times. {measured}.")
        self.bars.show_rows(rows_of(explained, current_theme()), line=line)

    def _allow(self) -> None:
        """Let the limits be measured while nothing runs."""
        self.button.setEnabled(self._why.step is not Remedy.MEASURE or not self._why.state.why_no_run)

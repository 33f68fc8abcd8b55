"""The panel Why: the bounds of the selected run beside its time, the reason in a sentence, its launches."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from engine.results.measurement import ExplainedTime
from gui.explore.roofline.roofline_state import MEASURE_TIP
from gui.explore.run_words import run_title
from gui.explore.why.why_state import Step, WhyState
from gui.explore.why.why_words import (
    cause_words,
    compared_words,
    heard,
    line_words,
    longest_ms,
    numbers_of,
    rows_of,
    sentence_html,
)
from gui.style.metrics import GRID, HALF_GRID
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.bar_chart import BarChart
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.findings import Findings
from gui.widgets.panel_parts import PANEL_MARGINS, Placeholder, column, folding_row, row, scrolled

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
        self.sentence = QLabel(wordWrap=True)
        self.compared = QLabel(wordWrap=True)
        self.caption = ElidedLabel(most=2, small=True)
        self.bars = BarChart("Least times of the selected run", _ROW_HEIGHT, _BAR_HEIGHT, names=0.54)
        self.numbers = Findings("Numbers of the launch")
        self.button = QPushButton()
        self._build()
        self.sentence.linkActivated.connect(why.follow_remedy)
        self.button.clicked.connect(why.take_step)
        why.changed.connect(self._show)
        why.state.running_changed.connect(self._allow)
        theme_notifier().changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        why, run = self._why, self._why.run
        explained = why.explained if why.explained is not None and why.explained.bounds else None
        launches = (run.result.launches or ()) if run is not None else ()
        self.stack.say("" if launches or explained is not None else why.words)
        self.button.setText(why.step_words)
        self.button.setVisible(why.step is not Step.NOTHING)
        self.button.setToolTip(MEASURE_TIP if why.step is Step.MEASURE else why.words)
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
            cause = (
                cause_words(explained, its, why.run.result.variant, before.result.variant) if why.run else ""
            )
            self.compared.setText(f"{compared_words(explained, its, name)} {cause}".rstrip())

    def _show_bars(self, explained: ExplainedTime | None) -> None:
        for part in (self.caption, self.bars):
            part.setVisible(explained is not None)
        if explained is None:
            return
        measured = explained.measured_ms
        line = None if measured is None else measured / longest_ms(explained)
        self.caption.setText(f"Least times. {line_words(explained)}.")
        self.bars.show_rows(rows_of(explained, current_theme()), heard(explained), line=line)

    def _allow(self) -> None:
        """Let the limits be measured while nothing runs."""
        why_not = self._why.state.why_no_run if self._why.step is Step.MEASURE else ""
        self.button.setEnabled(not why_not)

    def _build(self) -> None:
        self.sentence.setTextFormat(Qt.TextFormat.RichText)
        self.sentence.setTextInteractionFlags(Qt.TextInteractionFlag.TextBrowserInteraction)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.sentence.setAccessibleName("Why the selected run takes its time")
        self.bars.setToolTip(_LINE_TIP)
        self.compared.setToolTip(_COMPARED_TIP)
        self.compared.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.compared.setAccessibleName("Compared with the other kernel")
        bars = column(self.caption, self.bars, 0)
        self._body = folding_row(
            (bars, 1), (column(self.numbers, 0), 1), spacing=GRID, beside_from=_BESIDE_FROM
        )
        shown = QWidget()
        shown.setLayout(column(self.title, self.sentence, self.compared, self._body, 0, spacing=HALF_GRID))
        self.stack = Placeholder(shown)
        self._area = scrolled(self.stack)
        said = row(1, self.button, 1)
        self.setLayout(column((self._area, 1), said, spacing=HALF_GRID, margins=PANEL_MARGINS))

"""The panel Ablation: a waterfall of what each cost of the kernel takes, and a button that runs it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette, QResizeEvent
from PySide6.QtWidgets import QPushButton, QWidget

from engine.explain.ablation.results import ON_PURPOSE, OVERLAPPING, Ablation, most_sentence
from gui.explore.ablation.ablation_state import AblationState
from gui.explore.ablation.waterfall import (
    difference_sentence,
    waterfall_in_words,
    waterfall_rows,
    waterfall_ticks,
)
from gui.style.metrics import GRID, HALF_GRID
from gui.style.theme import theme_notifier
from gui.widgets.bar_chart import BarChart
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import PANEL_MARGINS, Placeholder, column, folding_row, row, scrolled

_RUN_TIP = "Runs five altered kernels; their pictures are wrong on purpose and are not shown."
_COUNT_TIP = (
    "Runs five altered kernels in the interpreter of PTX and counts their instructions: no GPU is here that "
    "could time them."
)
# With less width the words stand above the chart, not beside it.
_BESIDE_FROM = 58 * GRID
_SAID_SHARE, _CHART_SHARE = 3, 7


class AblationPanel(QWidget):
    """What the last ablation found."""

    def __init__(self, ablation: AblationState) -> None:
        super().__init__()
        self._state = ablation
        self.run_button = QPushButton("Run ablation")
        self.sentence = ElidedLabel(most=8)
        self.note = ElidedLabel(most=8, small=True)
        self.chart = BarChart("What each cost takes", row=2 * GRID, bar=GRID + 2)
        self._build()
        self.run_button.clicked.connect(ablation.run)
        ablation.changed.connect(self._show)
        theme_notifier().changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        state = self._state
        found = state.ablation
        self.run_button.setEnabled(not state.why_not_now)
        tip = _RUN_TIP if state.times else _COUNT_TIP
        self.run_button.setToolTip("\n\n".join(filter(None, (tip, state.why_not_now))))
        words = state.words
        self.stack.say(words)
        if found is None or words:
            self.chart.show_rows((), "")
            return
        drawn = (found, state.other) if state.other is not None and not state.not_compared else (found,)
        said = [most_sentence(found)]
        said += [difference_sentence(found, one) for one in drawn[1:]] or [state.not_compared]
        # A number stays with its unit.
        text = " ".join(filter(None, said)).replace(" ms", "\u00a0ms").replace(" %", "\u00a0%")
        self.sentence.setText(text)
        self.note.setText(_note(found))
        what = f"{found.title}, block {found.block}, {found.machine}"
        self.note.setToolTip("\n\n".join(filter(None, (what, _note(found)))))
        self.chart.show_rows(waterfall_rows(*drawn), waterfall_in_words(*drawn), waterfall_ticks(*drawn))

    def _build(self) -> None:
        self.run_button.setAccessibleName("Run ablation")
        self.sentence.setForegroundRole(QPalette.ColorRole.WindowText)
        self.sentence.setAccessibleName("Which cost takes most")
        self.note.setAccessibleName("What the chart shows")
        self.chart.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        shown, said = QWidget(), QWidget()
        said.setLayout(column(self.sentence, self.note, 1, spacing=HALF_GRID))
        self._body = folding_row(said, (self.chart, _CHART_SHARE), spacing=2 * GRID, beside_from=_BESIDE_FROM)
        # Figures keep off the scroll bar.
        self._body.setContentsMargins(0, 0, HALF_GRID, 0)
        shown.setLayout(self._body)
        self.stack = Placeholder(scrolled(shown))
        self.setLayout(
            column(row(1, self.run_button), (self.stack, 1), spacing=HALF_GRID, margins=PANEL_MARGINS)
        )

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        # Above the chart the words take the lines that they need.
        self._body.setStretch(0, _SAID_SHARE if self._body.is_beside else 0)


def _note(found: Ablation) -> str:
    """Return what has to be known of a chart."""
    steps = list(found.steps())
    overlapping = OVERLAPPING if steps[-1].amount < 0 else ""
    absent = (one.why_not for one in found.siblings)
    return " ".join(filter(None, (found.reason, ON_PURPOSE, overlapping, *absent)))

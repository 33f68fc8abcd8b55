"""The held-out digits by what they are and what the network predicts."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QFontInfo, QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QPushButton, QWidget

from engine.results.quantities import percent_text
from engine.tasks.network.problem import Confusion
from gui.engine_link.engine_state import EngineState
from gui.network.network_state import NetworkState
from gui.style.cell_colours import mixed
from gui.style.metrics import GRID, HALF_GRID, number_font
from gui.style.theme import current_theme
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.number_table import NumberTable
from gui.widgets.panel_parts import Placeholder, column, row

_EMPTY = "Actual digit against predicted digit.\nPress Classify all digits."
_KEYS = "Arrow keys choose a cell; Enter lists the misclassified digits of that row."
_AXES = "Row: actual digit. Column: predicted digit."
_DIGITS = 10


class ConfusionMatrix(NumberTable):
    """Ten by ten counts: a row for the actual digit, a column for the predicted one."""

    opened = Signal(int)  # the digit whose misclassified ones are wanted

    def __init__(self) -> None:
        super().__init__("Confusion matrix", chosen_from=True)
        self.confusion: Confusion | None = None
        self.ground = self._ground
        self.setMinimumSize(18 * GRID, 14 * GRID)
        self.setToolTip(f"Rows: actual digits. Columns: what the network predicts. {_KEYS}")
        self.texts.setHorizontalHeaderLabels([str(digit) for digit in range(_DIGITS)])
        self.texts.setVerticalHeaderLabels([str(digit) for digit in range(_DIGITS)])
        self.setStyleSheet(
            "QHeaderView::section { padding: 0; border: 0; }"
            "QTableCornerButton::section { background: transparent; border: 0; }"
        )
        for header in self._headers:
            header.setDefaultAlignment(Qt.AlignmentFlag.AlignCenter)
            header.setSectionsClickable(False)
            header.show()
        for chosen in (self.clicked, self.activated):
            chosen.connect(lambda index: self.opened.emit(index.row()))

    def show_confusion(self, confusion: Confusion) -> None:
        """Show counts; the chosen cell stays."""
        self.confusion = confusion
        self.show_texts([[str(count or "") for count in counts] for counts in confusion.counts])
        if not self.currentIndex().isValid():
            self.setCurrentIndex(self.texts.index(0, 0))

    @property
    def words(self) -> str:
        """The chosen cell in a sentence."""
        if self.confusion is None:
            return ""
        digit, predicted = self.cell
        count, of = self.confusion.counts[digit][predicted], sum(self.confusion.counts[digit])
        how = "correctly" if digit == predicted else f"as {predicted}"
        return f"{count} of {of} digits that are a {digit} are classified {how}."

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        side = max(1, min(self.width(), self.height()) // (_DIGITS + 1))
        self.set_cell_size(side, side)
        font = number_font()
        # A hundred of each digit, and no count is cut.
        fits = min(1.0, (side - 2) / QFontMetrics(font).horizontalAdvance("100"))
        font.setPixelSize(max(1, int(QFontInfo(font).pixelSize() * fits)))
        self.setFont(font)
        for header in self._headers:
            header.setFont(font)
        self.horizontalHeader().setFixedHeight(side)
        self.verticalHeader().setFixedWidth(side)

    @property
    def _headers(self) -> tuple[QHeaderView, QHeaderView]:
        return self.horizontalHeader(), self.verticalHeader()

    def _ground(self, digit: int, predicted: int) -> QColor:
        """Return the colour of a count: by its share of the row, in the colour of right or of wrong."""
        theme, counts = current_theme(), self.confusion.counts[digit] if self.confusion else (0,) * _DIGITS
        share = counts[predicted] / max(1, sum(counts))
        tint = QColor(theme.accent if digit == predicted else theme.error)
        return mixed(QColor(theme.base), tint, 0.15 + 0.65 * share**0.5 if share else 0.0)


class ConfusionPanel(QWidget):
    """The matrix, its accuracy, and the button that makes it."""

    def __init__(self, network: NetworkState, state: EngineState) -> None:
        super().__init__()
        self._network = network
        self._state = state
        self.matrix = ConfusionMatrix()
        self.classify = QPushButton("Classify all digits")
        self.summary = ElidedLabel(most=3, small=True)
        axes = ElidedLabel(small=True)
        axes.setText(_AXES)
        drawn = QWidget()
        drawn.setLayout(column(axes, (self.matrix, 1), spacing=0))
        self.stack = Placeholder(drawn, _EMPTY)
        bar = row((self.summary, 1), self.classify)
        margins = (GRID, HALF_GRID, GRID, GRID)
        self.setLayout(column(bar, (self.stack, 1), spacing=HALF_GRID, margins=margins))
        network.confusion_changed.connect(self._show)
        self.matrix.selectionModel().currentChanged.connect(self._say)
        for signal in (state.ready_changed, state.running_changed, network.facts_changed):
            signal.connect(self._enable)
        self._enable()

    def _enable(self) -> None:
        why_not = self._state.why_no_run
        self.classify.setEnabled(not why_not and self._network.facts is not None)
        does = "Classify every held-out digit with the fastest stage of the chosen device."
        self.classify.setToolTip(f"{does} {why_not}".strip())

    def _show(self) -> None:
        if self._network.confusion is not None:
            self.matrix.show_confusion(self._network.confusion)
        self.stack.say(_EMPTY if self._network.confusion is None else "")
        self._say()

    def _say(self) -> None:
        confusion = self._network.confusion
        if confusion is None:
            self.summary.setText("")
        else:
            right = f"{percent_text(confusion.accuracy)} of {confusion.digits} are classified correctly."
            self.summary.setText(f"{right} {self.matrix.words}")
            self.matrix.setAccessibleDescription(f"{self.matrix.words} {_KEYS}")

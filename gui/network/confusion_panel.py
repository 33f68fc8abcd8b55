"""The held-out digits by what they are and what the network predicts."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPushButton, QSizePolicy, QStackedWidget, QWidget

from engine.results.quantities import percent_text
from engine.tasks.network.results import Confusion
from gui.engine_link.engine_state import EngineState
from gui.network.network_state import NetworkState
from gui.style.cell_colours import readable_text
from gui.style.metrics import GRID, HALF_GRID, number_font, small_font
from gui.style.theme import Theme, current_theme, theme_notifier
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import centred_text, column, row

_EMPTY = "Actual digit against predicted digit.\nPress Classify all digits."
_KEYS = "Arrow keys choose a cell; Enter lists the misclassified digits of that row."
_AXES = "Row: actual digit. Column: predicted digit."
_DIGITS = 10


class ConfusionMatrix(QWidget):
    """Ten by ten counts: a row for the actual digit, a column for the predicted one."""

    chosen = Signal()  # another cell
    opened = Signal(int)  # the digit whose misclassified ones are wanted

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.confusion: Confusion | None = None
        self.cell = (0, 0)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAccessibleName("Confusion matrix")
        self.setToolTip(f"Rows: actual digits. Columns: what the network predicts. {_KEYS}")
        theme_notifier().changed.connect(self.update)

    def show_confusion(self, confusion: Confusion) -> None:
        self.confusion = confusion
        self._choose(*self.cell)
        self.update()

    @property
    def words(self) -> str:
        """The chosen cell in a sentence."""
        if self.confusion is None:
            return ""
        digit, predicted = self.cell
        count, of = self.confusion.counts[digit][predicted], sum(self.confusion.counts[digit])
        how = "correctly" if digit == predicted else f"as {predicted}"
        return f"{count} of {of} digits that are a {digit} are classified {how}."

    def sizeHint(self) -> QSize:
        return QSize(24 * GRID, 24 * GRID)

    def minimumSizeHint(self) -> QSize:
        return QSize(18 * GRID, 14 * GRID)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.confusion is None:
            return
        theme, font = current_theme(), number_font()
        painter = QPainter(self)
        side = self._side()
        painter.setFont(small_font())
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(0, 0, self.width(), self._top()), int(Qt.AlignmentFlag.AlignLeft), _AXES)
        font.setPixelSize(min(font.pixelSize() if font.pixelSize() > 0 else 13, max(9, int(side) - 5)))
        painter.setFont(font)
        centre = int(Qt.AlignmentFlag.AlignCenter)
        painter.setPen(QColor(theme.muted))
        for digit in range(_DIGITS):
            for rect in (self._rect(-1, digit), self._rect(digit, -1)):
                painter.drawText(rect, centre, str(digit))
        for digit, counts in enumerate(self.confusion.counts):
            for predicted, count in enumerate(counts):
                rect = self._rect(digit, predicted)
                ground = _ground(count / max(1, sum(counts)), digit == predicted, theme)
                painter.fillRect(rect, ground)
                painter.setPen(QPen(QColor(theme.line), 1))
                painter.drawRect(rect)
                if count:
                    painter.setPen(readable_text(ground, theme))
                    painter.drawText(rect, centre, str(count))
        painter.setPen(QPen(QColor(theme.accent if self.hasFocus() else theme.outline), 2))
        painter.drawRect(self._rect(*self.cell))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        cell = self._cell_at(event.position())
        if cell is not None:
            self._choose(*cell)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        cell = self._cell_at(event.position())
        if cell is not None and event.button() == Qt.MouseButton.LeftButton:
            self._choose(*cell)
            self.opened.emit(cell[0])

    def keyPressEvent(self, event: QKeyEvent) -> None:
        digit, predicted = self.cell
        match Qt.Key(event.key()):
            case Qt.Key.Key_Left:
                predicted -= 1
            case Qt.Key.Key_Right:
                predicted += 1
            case Qt.Key.Key_Up:
                digit -= 1
            case Qt.Key.Key_Down:
                digit += 1
            case Qt.Key.Key_Return | Qt.Key.Key_Enter:
                self.opened.emit(digit)
                return
            case _:
                super().keyPressEvent(event)
                return
        self._choose(min(max(digit, 0), _DIGITS - 1), min(max(predicted, 0), _DIGITS - 1))

    def _choose(self, digit: int, predicted: int) -> None:
        self.cell = digit, predicted
        self.setAccessibleDescription(f"{self.words} {_KEYS}")
        self.chosen.emit()
        self.update()

    def _side(self) -> float:
        return max(1.0, float(min(self.width(), self.height() - self._top()) // (_DIGITS + 1)))

    def _top(self) -> int:
        """Return the height of the line above the matrix."""
        return QFontMetrics(small_font()).height()

    def _rect(self, digit: int, predicted: int) -> QRectF:
        side = self._side()
        return QRectF((predicted + 1) * side, self._top() + (digit + 1) * side, side, side)

    def _cell_at(self, point: QPointF) -> tuple[int, int] | None:
        side = self._side()
        digit, predicted = int((point.y() - self._top()) // side) - 1, int(point.x() // side) - 1
        inside = self.confusion is not None and 0 <= digit < _DIGITS and 0 <= predicted < _DIGITS
        return (digit, predicted) if inside else None


class ConfusionPanel(QWidget):
    """The matrix, its accuracy, and the button that makes it."""

    def __init__(self, network: NetworkState, state: EngineState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._network = network
        self._state = state
        self.matrix = ConfusionMatrix()
        self.classify = QPushButton("Classify all digits")
        self.summary = ElidedLabel(most=3, small=True)
        self._stack = QStackedWidget()
        self._stack.addWidget(centred_text(_EMPTY))
        self._stack.addWidget(self.matrix)
        bar = row((self.summary, 1), self.classify)
        margins = (GRID, HALF_GRID, GRID, GRID)
        self.setLayout(column(bar, (self._stack, 1), spacing=HALF_GRID, margins=margins))
        network.confusion_changed.connect(self._show)
        self.matrix.chosen.connect(self._say)
        for signal in (state.ready_changed, state.running_changed, network.facts_changed):
            signal.connect(self._enable)
        self._enable()

    def sizeHint(self) -> QSize:
        return QSize(30 * GRID, 28 * GRID)

    def _enable(self) -> None:
        why_not = self._state.why_no_run
        self.classify.setEnabled(not why_not and self._network.facts is not None)
        does = "Classify every held-out digit with the fastest stage of the chosen device."
        self.classify.setToolTip(f"{does} {why_not}".strip())

    def _show(self) -> None:
        if self._network.confusion is not None:
            self.matrix.show_confusion(self._network.confusion)
        self._stack.setCurrentIndex(0 if self._network.confusion is None else 1)
        self._say()

    def _say(self) -> None:
        confusion = self._network.confusion
        if confusion is None:
            self.summary.setText("")
        else:
            right = f"{percent_text(confusion.accuracy)} of {confusion.digits} are classified correctly."
            self.summary.setText(f"{right} {self.matrix.words}")


def _ground(share: float, is_right: bool, theme: Theme) -> QColor:
    """Return the colour of a count: by its share of the row, in the colour of right or of wrong."""
    base, tint = QColor(theme.base), QColor(theme.accent if is_right else theme.error)
    part = 0.15 + 0.65 * share**0.5 if share else 0.0
    mixed = (
        one + (other - one) * part
        for one, other in zip(
            (base.redF(), base.greenF(), base.blueF()),
            (tint.redF(), tint.greenF(), tint.blueF()),
            strict=True,
        )
    )
    return QColor.fromRgbF(*mixed)

"""The probability of each digit, as bars."""

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.network.network_state import NetworkState
from gui.network.words import chance_text
from gui.style.metrics import GRID, number_font
from gui.style.theme import current_theme, theme_notifier

_ROW = 2 * GRID + 2
_DIGITS = 10
_BAR = GRID


class ProbabilityBars(QWidget):
    """A row for each digit: its bar and its probability; the most likely one stands out."""

    def __init__(self, network: NetworkState, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._network = network
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Probability of each digit")
        self.setToolTip("Softmax of the ten scores: the probabilities sum to 100 %.")
        network.answer_changed.connect(self._show)
        theme_notifier().changed.connect(self.update)
        self._show()

    def sizeHint(self) -> QSize:
        return QSize(20 * GRID, _DIGITS * _ROW)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def _show(self) -> None:
        answer = self._network.answer
        parts = [] if answer is None else enumerate(answer.probabilities)
        described = ", ".join(f"{digit}: {chance_text(one)}" for digit, one in parts)
        self.setAccessibleDescription(described or "There is no drawing yet.")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme, answer = current_theme(), self._network.answer
        painter = QPainter(self)
        font = number_font()
        painter.setFont(font)
        metrics = QFontMetrics(font)
        bold = QFont(font)
        bold.setBold(True)
        digit_width = metrics.horizontalAdvance("0")
        words_width = QFontMetrics(bold).horizontalAdvance("100.0 %")
        left = digit_width + GRID
        room = max(1, self.width() - left - GRID - words_width)
        middle = int(Qt.AlignmentFlag.AlignVCenter)
        for digit in range(_DIGITS):
            top = digit * _ROW
            share = answer.probabilities[digit] if answer else 0.0
            is_best = answer is not None and digit == answer.digit
            font.setBold(is_best)
            painter.setFont(font)
            painter.setPen(QColor(theme.text if is_best else theme.muted))
            painter.drawText(QRectF(0, top, digit_width + 2, _ROW), middle, str(digit))
            bar = QRectF(left, top + (_ROW - _BAR) / 2, room, _BAR)
            painter.fillRect(bar, QColor(theme.raised))
            if answer is None:
                continue
            bar.setWidth(room * share)
            painter.fillRect(bar, QColor(theme.accent if is_best else theme.outline))
            label = QRectF(self.width() - words_width - 2, top, words_width + 2, _ROW)
            painter.drawText(label, middle | int(Qt.AlignmentFlag.AlignRight), chance_text(share))

"""Lines that change with every move of the mouse: painted, so that no layout is made anew for them."""

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.explore.lens.lens_words import RESULT, Step
from gui.style.metrics import GRID, HALF_GRID, number_font, scaled_font
from gui.style.theme import current_theme

_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)


class PaintedLine(QWidget):
    """One bold line, cut where there is no room."""

    def __init__(self) -> None:
        super().__init__()
        self._text = ""
        self.setFont(scaled_font(1.0, bold=True))
        self.setFixedHeight(self.fontMetrics().height() + HALF_GRID)

    def text(self) -> str:
        """Return what is shown."""
        return self._text

    def set_text(self, text: str) -> None:
        """Show another text."""
        if text != self._text:
            self._text = text
            self.setAccessibleName(text)
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(QColor(current_theme().text))
        cut = self.fontMetrics().elidedText(self._text, Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(self.rect(), _LEFT, cut)
        painter.end()


class PaintedSteps(QWidget):
    """A line for each step: its name, what it adds, the total so far."""

    def __init__(self) -> None:
        super().__init__()
        self._steps: Sequence[Step] = ()
        self._bold = QFont(number_font())
        self._bold.setBold(True)
        self.setFont(number_font())
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Steps from the cells to the screen")

    def sizeHint(self) -> QSize:
        return QSize(20 * GRID, self._line_height() * len(self._steps))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def text(self) -> str:
        """Return all lines in words."""
        return "; ".join(" ".join(filter(None, step[:3])) for step in self._steps)

    def show_steps(self, steps: Sequence[Step]) -> None:
        """Show other steps."""
        is_as_high = len(steps) == len(self._steps)
        self._steps = steps
        if not is_as_high:
            self.updateGeometry()
        self.update()

    def _line_height(self) -> int:
        return self.fontMetrics().height() + HALF_GRID

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme, height = QPainter(self), current_theme(), self._line_height()
        muted, text = QColor(theme.muted), QColor(theme.text)
        for number, step in enumerate(self._steps):
            line = QRect(0, number * height, self.width(), height)
            painter.setPen(text)
            painter.setFont(self._bold if step.is_end or step.name.startswith(RESULT) else self.font())
            painter.drawText(line, _RIGHT, step.total)
            wide = painter.fontMetrics().horizontalAdvance(step.total)
            # Totals stand in a column of their own as long as they fit it.
            right = line.width() - max(wide + GRID, 9 * GRID) if step.total else line.width()
            painter.setPen(muted)
            painter.setFont(self.font())
            painter.drawText(QRect(0, line.top(), right, height), _RIGHT, step.adds)
            painter.drawText(line, _LEFT, step.name)
        painter.end()

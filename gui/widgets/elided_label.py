"""Quiet text of one or a few lines that is cut with … where the panel is narrow, and whole in its tooltip."""

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QResizeEvent, QTextLayout, QTextOption
from PySide6.QtWidgets import QLabel, QSizePolicy

from gui.style.metrics import small_font
from gui.style.theme import current_theme, theme_notifier


class ElidedLabel(QLabel):
    """A label that never widens its panel; `small` takes the smaller font of notes.

    It takes `lines` lines, and up to `most` where its text needs them; what does not fit is cut. Without
    `most` it keeps its height.
    """

    def __init__(self, lines: int = 1, *, most: int | None = None, small: bool = False) -> None:
        super().__init__()
        self._lines = self._fewest = lines
        self._most = max(lines, most or lines)
        self._sized_for = ""
        if small:
            self.setFont(small_font())
        if self._most > 1:
            self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        theme_notifier().changed.connect(self.update)

    def setText(self, text: str) -> None:
        self.show_meanwhile(text)
        self._sized_for = text
        self._fit()

    def show_meanwhile(self, text: str) -> None:
        """Show another text in the room that there is: nothing below it moves."""
        super().setText(text)
        self.setToolTip(text)

    @property
    def colour(self) -> QColor:
        return QColor(current_theme().muted)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def set_lines(self, lines: int) -> None:
        if lines != self._lines:
            self._lines = lines
            self.updateGeometry()

    def _fit(self) -> None:
        if self._most > self._fewest:
            self.set_lines(max(self._fewest, min(self._most, self.lines_of(self._sized_for))))

    def lines_of(self, text: str) -> int:
        """Return how many lines a text takes at the present width."""
        return len(self._cut(text, most=99))

    def sizeHint(self) -> QSize:
        height = self._lines * self.fontMetrics().lineSpacing() + 2
        return QSize(super().sizeHint().width(), height)

    def minimumSizeHint(self) -> QSize:
        return QSize(1, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.colour)
        metrics = self.fontMetrics()
        for number, line in enumerate(self._cut(self.text(), self._lines)):
            painter.drawText(QPointF(0, 1 + metrics.ascent() + number * metrics.lineSpacing()), line)
        painter.end()

    def _cut(self, text: str, most: int) -> list[str]:
        """Return the text in lines that fit the width, the last one of `most` with … if there is more."""
        layout = QTextLayout(text, self.font())
        layout.setTextOption(QTextOption(Qt.AlignmentFlag.AlignLeft))
        lines: list[str] = []
        layout.beginLayout()
        while (line := layout.createLine()).isValid():
            line.setLineWidth(max(1, self.width()))
            begin = line.textStart()
            if len(lines) == most - 1:
                rest = text[begin:]
                lines.append(
                    self.fontMetrics().elidedText(rest, Qt.TextElideMode.ElideRight, max(1, self.width()))
                )
                break
            lines.append(text[begin : begin + line.textLength()].rstrip())
        layout.endLayout()
        return lines

"""Quiet text of one or a few lines that is cut with … where the panel is narrow, and whole in its tooltip."""

from PySide6.QtCore import QPointF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette, QTextLayout, QTextOption
from PySide6.QtWidgets import QLabel, QSizePolicy

from gui.style.metrics import small_font


class ElidedLabel(QLabel):
    """A label that never widens its panel; `small` takes the smaller font of notes, `mode` says what is cut.

    It takes `lines` lines, and up to `most` where its text needs them at the width that it is given; what
    does not fit is cut. Without `most` it keeps its height.
    """

    def __init__(
        self,
        lines: int = 1,
        *,
        most: int | None = None,
        small: bool = False,
        mode: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
    ) -> None:
        super().__init__()
        self._mode = mode
        self._fewest = lines
        self._most = max(lines, most or lines)
        self.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        if small:
            self.setFont(small_font())
        if self._most > 1:
            # Its layout asks for its height at a width; a fixed height would be that of the width before.
            grows = self._most > lines
            height = QSizePolicy.Policy.Preferred if grows else QSizePolicy.Policy.Fixed
            self.setSizePolicy(QSizePolicy.Policy.Ignored, height)

    def setText(self, text: str) -> None:
        if text == self.text():
            # A new geometry would have the whole window laid out.
            return
        super().setText(text)
        self.setToolTip(text)
        self.updateGeometry()

    @property
    def colour(self) -> QColor:
        """That of its foreground role; of notes at first."""
        return self.palette().color(self.foregroundRole())

    def set_most(self, lines: int) -> None:
        """Let the text take up to so many lines."""
        self._most = max(self._fewest, lines)
        self.updateGeometry()

    def hasHeightForWidth(self) -> bool:
        return self._most > self._fewest

    def heightForWidth(self, width: int) -> int:
        return self._height_of(len(self._cut(self.text(), self._most, width)))

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), self._height_of(self._fewest))

    def minimumSizeHint(self) -> QSize:
        return QSize(1, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setPen(self.colour)
        metrics = self.fontMetrics()
        there = max(1, self.height() // metrics.lineSpacing())
        for number, line in enumerate(self._cut(self.text(), min(there, self._most))):
            is_centred = self.alignment() & Qt.AlignmentFlag.AlignHCenter
            left = (self.width() - metrics.horizontalAdvance(line)) / 2 if is_centred else 0.0
            painter.drawText(QPointF(left, 1 + metrics.ascent() + number * metrics.lineSpacing()), line)
        painter.end()

    def _height_of(self, lines: int) -> int:
        return max(self._fewest, lines) * self.fontMetrics().lineSpacing() + 2

    def _cut(self, text: str, most: int, width: int | None = None) -> list[str]:
        """Return the text in lines of a width (by default its own), the last of `most` with … if cut."""
        width = max(1, self.width() if width is None else width)
        layout = QTextLayout(text, self.font())
        layout.setTextOption(QTextOption(Qt.AlignmentFlag.AlignLeft))
        lines: list[str] = []
        layout.beginLayout()
        while (line := layout.createLine()).isValid():
            line.setLineWidth(width)
            begin = line.textStart()
            if len(lines) == most - 1:
                rest = text[begin:]
                lines.append(self.fontMetrics().elidedText(rest, self._mode, width))
                break
            lines.append(text[begin : begin + line.textLength()].rstrip())
        layout.endLayout()
        return lines

"""Source code to read: the numbers of its lines at the left, and the lines that matter lit."""

from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QColor, QFontDatabase, QPainter, QPaintEvent, QResizeEvent, QTextCursor, QTextFormat
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit, QWidget

from gui.style.metrics import GRID, HALF_GRID, small_font
from gui.style.theme import current_theme, theme_notifier

_LIT_ALPHA = 48


class SourceView(QPlainTextEdit):
    """Shows lines of a file; text can be selected and copied, nothing can be changed."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._first, self._lit = 1, tuple[int, ...]()
        self._numbers = _Numbers(self)
        self.setReadOnly(True)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFrameShape(QFrame.Shape.NoFrame)
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPointSizeF(small_font().pointSizeF())
        self.setFont(font)
        self.setAccessibleName(name)
        self.updateRequest.connect(self._numbers.update)
        theme_notifier().changed.connect(self._light)

    def show_lines(self, lines: Sequence[str], first: int = 1, lit: Sequence[int] = ()) -> None:
        """Show lines, of which the first one has a number; the lit ones, by positions, come into sight."""
        self._first, self._lit = first, tuple(lit)
        self.setPlainText("\n".join(lines))
        self._make_room()
        self._light()
        if self._lit:
            # The last one first: what is lit is seen as a whole where there is room.
            for at in (self._lit[-1], self._lit[0]):
                self.setTextCursor(self._at(at))
                self.ensureCursorVisible()
        self.horizontalScrollBar().setValue(0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        area = self.contentsRect()
        self._numbers.setGeometry(QRect(area.left(), area.top(), self.numbers_width, area.height()))

    @property
    def numbers_width(self) -> int:
        """Width of the numbers, pixels."""
        digits = len(str(self._first + self.blockCount()))
        return self.fontMetrics().horizontalAdvance("0") * max(3, digits) + 2 * GRID

    def paint_numbers(self, painter: QPainter, area: QRect) -> None:
        """Paint the numbers of the lines in sight."""
        theme = current_theme()
        painter.fillRect(area, QColor(theme.window))
        painter.setFont(self.font())
        block = self.firstVisibleBlock()
        while block.isValid():
            place = self.blockBoundingGeometry(block).translated(self.contentOffset()).toRect()
            if place.top() > area.bottom():
                return
            painter.setPen(QColor(theme.text if block.blockNumber() in self._lit else theme.muted))
            line = QRect(0, place.top(), self.numbers_width - GRID, place.height())
            painter.drawText(line, Qt.AlignmentFlag.AlignRight, str(self._first + block.blockNumber()))
            block = block.next()

    def _make_room(self) -> None:
        self.setViewportMargins(self.numbers_width + HALF_GRID, 0, 0, 0)
        self._numbers.resize(self.numbers_width, self._numbers.height())
        self._numbers.update()

    def _light(self) -> None:
        selections = []
        for at in self._lit:
            one = QTextEdit.ExtraSelection()
            colour = QColor(current_theme().accent)
            colour.setAlpha(_LIT_ALPHA)
            one.format.setBackground(colour)
            one.format.setProperty(QTextFormat.Property.FullWidthSelection, True)
            one.cursor = self._at(at)
            selections.append(one)
        self.setExtraSelections(selections)
        self._numbers.update()

    def _at(self, position: int) -> QTextCursor:
        return QTextCursor(self.document().findBlockByNumber(position))


class _Numbers(QWidget):
    """The column of numbers, which scrolls with the lines."""

    def __init__(self, view: SourceView) -> None:
        super().__init__(view)
        self._view = view

    def sizeHint(self) -> QSize:
        return QSize(self._view.numbers_width, 0)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self._view.paint_numbers(painter, self.rect())

"""The line under the picture: the position of the cursor and the values there."""

from typing import NamedTuple

import numpy as np
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent, QPalette, QResizeEvent
from PySide6.QtWidgets import QLabel, QSizePolicy, QWidget

from gui.explore.picture.pixel_values import Numbers
from gui.style.metrics import GRID, digits_width, follow_letters, number_font
from gui.style.theme import current_theme

_HINT = "Point at the picture to read pixel values."


# Row and column: two names, two numbers, a gap.
_PLACE_PARTS = 5


class _Part(NamedTuple):
    """A name, or a number in the room that it always has."""

    text: str
    width: int = 0
    side: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft


class Readout(QLabel):
    """Row, column and the values of original and result, each at its own place, so that nothing jumps."""

    def __init__(self) -> None:
        super().__init__()
        self._values: Numbers | None = None
        self._result_name = "result"
        self._hint = _HINT
        # What is shown ("row", "original", ...): how many numbers, and figures of each.
        self._places: dict[str, tuple[int, int]] = {}
        self._parts: list[_Part] = []
        self.words = ""
        """The line as it can be read: words and numbers from left to right."""
        self.setFont(number_font())
        self.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self.setContentsMargins(GRID, 0, GRID, 0)
        follow_letters(self, lambda: self.setFixedHeight(self.fontMetrics().height() + 2 * GRID))
        # A pane must not be kept from getting narrow.
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("Values under the cursor")
        self.set_layout_for(None)

    def set_layout_for(self, values: Numbers | None) -> None:
        """Make room for the numbers of a picture."""
        self._values = values
        if values is not None:
            rows, columns, channels = values.shape
            figures = {np.dtype(np.uint8): 3, np.dtype(np.uint16): 5}.get(values.dtype, 8)
            self._places = {"row": (1, len(str(rows - 1)) + 1), "col": (1, len(str(columns - 1)) + 1)}
            self._places["original"] = channels, figures
            if values.has_alpha:
                self._places["alpha"] = 1, figures
            self._places["result"] = channels, 8 if figures == 8 else figures + 3
        self.show_pixel(None)

    def set_hint(self, hint: str) -> None:
        """Say something else from now on while the cursor is elsewhere; empty for the usual hint."""
        self._hint = hint or _HINT
        # A narrow pane cuts the line.
        self.setToolTip(hint)

    def name_result(self, name: str) -> None:
        """Call the result something else from the next pixel on."""
        self._result_name = name

    def show_pixel(self, pixel: tuple[int, int] | None) -> None:
        """Show the numbers of a pixel (row, column), or the hint while the cursor is elsewhere."""
        if pixel is None or self._values is None:
            self._parts = []
            self.words = self._hint if self._values is not None else ""
            self.setText(self.words)
            self.update()
            self.setAccessibleDescription(self._hint)
            return
        parts: list[_Part] = []
        heard: list[str] = []
        for key, (count, figures) in self._places.items():
            is_place = key in ("row", "col")
            found = (str(pixel[key == "col"]),) if is_place else self._values.texts(key, *pixel)
            name, numbers = self._result_name if key == "result" else key, found or ("–",) * count
            side = Qt.AlignmentFlag.AlignLeft if is_place else Qt.AlignmentFlag.AlignRight
            parts.append(_Part(name))
            parts += [_Part(number, digits_width(figures), side) for number in numbers]
            if key != "row":
                parts.append(_Part("", GRID // 2))
            heard += [" ".join((name, *found))] if found else []
        self._parts = parts
        self.words = " ".join(part.text for part in parts if part.text)
        self.setText("")
        self.setAccessibleDescription("  ".join(heard))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        # As rich text the line took 1.2 ms with each move of the mouse.
        painter, rect = QPainter(self), self.contentsRect()
        quiet, text = self.palette().color(self.foregroundRole()), QColor(current_theme().text)
        letters, left = painter.fontMetrics(), rect.left()
        if not self._parts:
            painter.setPen(quiet)
            hint = letters.elidedText(self.words, Qt.TextElideMode.ElideRight, rect.width())
            painter.drawText(rect, int(Qt.AlignmentFlag.AlignVCenter), hint)
        for part, width in self._fitting(letters, rect.width()):
            painter.setPen(text if part.width else quiet)
            at = QRect(left, rect.top(), width, rect.height())
            painter.drawText(at, int(part.side | Qt.AlignmentFlag.AlignVCenter), part.text)
            left += width + GRID
        painter.end()

    def _fitting(self, letters: QFontMetrics, room: int) -> list[tuple[_Part, int]]:
        """Return what is drawn, and how wide: a narrow pane has no room to spare, then no row and column."""
        needed = [letters.horizontalAdvance(part.text) for part in self._parts]
        # What needs more room than it was promised moves the rest; nothing is cut.
        promised = [max(part.width, least) for part, least in zip(self._parts, needed, strict=True)]
        for widths in (promised, needed):
            parts = list(zip(self._parts, widths, strict=True))
            if sum(widths) + GRID * (len(widths) - 1) <= room:
                return parts
        return parts[_PLACE_PARTS:]


class ReadoutStrip(QWidget):
    """Holds the line without a layout: a label that says something else has the whole window laid out anew.

    That took 2 to 7 ms for each move of the mouse.
    """

    def __init__(self, readout: Readout) -> None:
        super().__init__()
        readout.setParent(self)
        self._readout = readout
        self.setFixedHeight(readout.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._readout.setGeometry(self.rect())

"""What the colours and patterns of a tile mean: swatches with words, in lines."""

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from gui.explore.tile.tile_colours import LegendEntry
from gui.style.metrics import GRID, HALF_GRID, small_font
from gui.style.theme import current_theme

_SWATCH = 12
_VCENTER = int(Qt.AlignmentFlag.AlignVCenter)


class TileLegend(QWidget):
    """Paints the entries in lines."""

    def __init__(self) -> None:
        super().__init__()
        self._entries: list[LegendEntry] = []
        self.setFont(small_font())
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setAccessibleName("What the colours of the tile mean")

    @property
    def texts(self) -> list[str]:
        """The words of all entries."""
        return [entry.text for entry in self._entries]

    def show_entries(self, entries: list[LegendEntry]) -> None:
        """Show other entries."""
        self._entries = entries
        self.setAccessibleDescription(", ".join(self.texts))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(30 * GRID, self.heightForWidth(30 * GRID))

    def minimumSizeHint(self) -> QSize:
        return QSize(1, self._line if self._entries else 0)

    def heightForWidth(self, width: int) -> int:
        return self._corners(width)[-1].y() + self._line if self._entries else 0

    @property
    def _line(self) -> int:
        return self.fontMetrics().height() + HALF_GRID

    def _corners(self, room: int) -> list[QPoint]:
        """Return where each entry begins, in lines of so many pixels."""
        corners, x, y = [], 0, 0
        for entry in self._entries:
            width = _SWATCH + HALF_GRID + self.fontMetrics().horizontalAdvance(entry.text)
            if x and x + width > room:
                x, y = 0, y + self._line
            corners.append(QPoint(x, y))
            x += width + 2 * GRID
        return corners

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, theme = QPainter(self), current_theme()
        for entry, corner in zip(self._entries, self._corners(self.width()), strict=True):
            swatch = QRect(corner.x(), corner.y() + (self._line - _SWATCH) // 2, _SWATCH, _SWATCH)
            painter.fillRect(swatch, entry.colour)
            pattern = QColor(theme.text)
            pattern.setAlphaF(0.55)
            painter.fillRect(swatch, QBrush(pattern, entry.pattern))
            painter.setPen(QColor(theme.outline))
            painter.drawRect(swatch.adjusted(0, 0, -1, -1))
            painter.setPen(QColor(theme.text))
            text = QRect(swatch.right() + HALF_GRID, corner.y(), self.width(), self._line)
            painter.drawText(text, _VCENTER, entry.text)
        painter.end()

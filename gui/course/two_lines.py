"""Cells of two lines: a name, and details below in the quiet colour; both are wrapped, never cut."""

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QAbstractItemView, QStyle, QStyledItemDelegate, QStyleOptionViewItem

from gui.style.metrics import GRID, HALF_GRID, number_font, small_font
from gui.style.series import series_for
from gui.style.theme import current_theme

Index = QModelIndex | QPersistentModelIndex
SECOND_ROLE, VARIANT_ROLE = Qt.ItemDataRole.UserRole, Qt.ItemDataRole.UserRole + 1
"""The second line, and the variant whose shape stands before the first one."""

_BAR_WIDTH = 3
_SHAPE_WIDTH = 2 * GRID + HALF_GRID
_WRAP = int(Qt.TextFlag.TextWordWrap) | int(Qt.AlignmentFlag.AlignLeft) | int(Qt.AlignmentFlag.AlignTop)
_TALLEST = 10_000


class TwoLines(QStyledItemDelegate):
    """Paints a cell, its first line bold on request; the shape of a variant stands before the words."""

    def __init__(self, view: QAbstractItemView, *, bold: bool = False) -> None:
        super().__init__(view)
        self._view = view
        self._bold = bold

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        # The option of a list has no width, that of a table the column's.
        width = option.rect.width() or self._view.viewport().width()
        first, second = self._lines(index, QRect(0, 0, width, _TALLEST))
        bottom = second.bottom() if index.data(SECOND_ROLE) else first.bottom()
        return QSize(width, bottom + 1 + GRID)

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        theme = current_theme()
        rect: QRect = option.rect
        painter.save()
        if option.state & QStyle.StateFlag.State_Selected:
            painter.fillRect(rect, QColor(theme.raised))
            if index.column() == 0:
                bar = QRect(rect.left(), rect.top(), _BAR_WIDTH, rect.height())
                painter.fillRect(bar, QColor(theme.accent))
        first, second = self._lines(index, rect)
        variant = index.data(VARIANT_ROLE)
        if variant:
            series = series_for(variant)
            painter.setFont(self._font())
            painter.setPen(QColor(series.colour))
            baseline = first.top() + QFontMetrics(self._font()).ascent()
            painter.drawText(rect.left() + GRID, baseline, series.glyph)
        painter.setPen(QColor(theme.text))
        painter.setFont(self._font())
        painter.drawText(first, _WRAP, _breakable(index.data()))
        painter.setPen(QColor(theme.muted))
        painter.setFont(small_font())
        painter.drawText(second, _WRAP, _breakable(index.data(SECOND_ROLE)))
        if option.state & QStyle.StateFlag.State_Selected and self._view.hasFocus():
            self._draw_focus(painter, rect, index)
        painter.restore()

    def _draw_focus(self, painter: QPainter, rect: QRect, index: Index) -> None:
        """Draw a dotted line around a row: the bar at its left is there without the focus, too."""
        left = rect.left() + 1 if index.column() == 0 else rect.left() - 2
        has_next = index.sibling(index.row(), index.column() + 1).isValid()
        right = rect.right() + 2 if has_next else rect.right() - 1
        painter.setClipRect(rect)
        painter.setPen(QPen(QColor(current_theme().muted), 1, Qt.PenStyle.DotLine))
        painter.drawRect(QRect(QPoint(left, rect.top() + 1), QPoint(right - 1, rect.bottom() - 2)))

    def _lines(self, index: Index, rect: QRect) -> tuple[QRect, QRect]:
        left = GRID + (_SHAPE_WIDTH if index.data(VARIANT_ROLE) else 0)
        inner = rect.adjusted(left, GRID - 2, -GRID, 0)
        first = _wrapped(self._font(), inner, index.data())
        below = QRect(inner.left(), first.bottom() + 1, inner.width(), _TALLEST)
        return first, _wrapped(small_font(), below, index.data(SECOND_ROLE))

    def _font(self) -> QFont:
        font = number_font()
        font.setBold(self._bold)
        return font


def _wrapped(font: QFont, area: QRect, words: str | None) -> QRect:
    """Return the part of a place that wrapped words take, in its full width."""
    needed = QFontMetrics(font).boundingRect(QRect(0, 0, area.width(), _TALLEST), _WRAP, _breakable(words))
    return QRect(area.left(), area.top(), area.width(), needed.height())


def _breakable(words: str | None) -> str:
    """Allow a line break after each underscore of names such as convolution_1D_tiled_kernel."""
    return (words or "").replace("_", "_\u200b")


def plain(markdown: str) -> str:
    """Return a text without the back quotes of keys, which are for Markdown."""
    return markdown.replace("`", "")

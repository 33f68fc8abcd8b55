"""How a cell of the mask is painted and edited: as many digits as fit, the anchor framed."""

from collections.abc import Iterable

from PySide6.QtCore import (
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QPointF,
    QRect,
    QRectF,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFont, QFontInfo, QFontMetrics, QKeyEvent, QPainter, QPen
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)

from gui.explore.mask.mask_model import MaskRole
from gui.style.metrics import GRID, number_font
from gui.style.theme import current_theme

Index = QModelIndex | QPersistentModelIndex

_EDITOR_WIDTH = 10 * GRID
_EDITOR_HEIGHT = 3 * GRID
_SMALLEST_FONT = 8
_PADDING = 4
_ARROWS = {
    Qt.Key.Key_Up: (-1, 0),
    Qt.Key.Key_Down: (1, 0),
    Qt.Key.Key_Left: (0, -1),
    Qt.Key.Key_Right: (0, 1),
}


class CellDelegate(QStyledItemDelegate):
    """Paints and edits one cell."""

    # An arrow key ended the editing; rows and columns to move.
    left_by_arrow = Signal(int, int)

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._font = number_font()
        self._fitting: dict[tuple[tuple[str, ...], int], str] = {}

    def set_font(self, font: QFont) -> None:
        """Write cells in this font: one for all cells of a mask, which the table chooses."""
        self._font = font
        self._fitting.clear()

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        rect: QRect = option.rect
        theme = current_theme()
        background: QColor = index.data(Qt.ItemDataRole.BackgroundRole)
        foreground: QColor = index.data(Qt.ItemDataRole.ForegroundRole)
        painter.save()
        painter.fillRect(rect, background)
        painter.setPen(QColor(theme.line))
        painter.drawLine(rect.bottomLeft(), rect.bottomRight())
        painter.drawLine(rect.topRight(), rect.bottomRight())
        if index.row() == 0:
            painter.drawLine(rect.topLeft(), rect.topRight())
        if index.column() == 0:
            painter.drawLine(rect.topLeft(), rect.bottomLeft())
        if index.data(MaskRole.IS_ANCHOR):
            _paint_anchor(painter, rect, foreground)
        if option.state & QStyle.StateFlag.State_Selected:
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawRect(rect.adjusted(1, 1, -2, -2))
        painter.setFont(self._font)
        painter.setPen(foreground)
        painter.drawText(rect.adjusted(0, 0, -1, -1), Qt.AlignmentFlag.AlignCenter, self._text(index, rect))
        painter.restore()

    def _text(self, index: Index, rect: QRect) -> str:
        # Measuring texts takes most of the time of painting.
        key = index.data(MaskRole.SHORT_TEXTS), rect.width()
        if key not in self._fitting:
            self._fitting[key] = fitting_text(key[0], self._font, rect.width() - _PADDING)
        return self._fitting[key]

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = QLineEdit(parent)
        editor.setAlignment(Qt.AlignmentFlag.AlignCenter)
        editor.setAccessibleName(f"Weight in row {index.row() + 1}, column {index.column() + 1}")
        return editor

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        # A cell of a large mask is narrower than a number with its digits.
        cell: QRect = option.rect
        parent = editor.parentWidget()
        room = parent.rect() if parent is not None else cell
        box = QRect(0, 0, max(cell.width(), _EDITOR_WIDTH), max(cell.height(), _EDITOR_HEIGHT))
        box.moveCenter(cell.center())
        box.moveLeft(max(0, min(box.left(), room.width() - box.width())))
        box.moveTop(max(0, min(box.top(), room.height() - box.height())))
        editor.setGeometry(box)

    def eventFilter(self, editor: QObject, event: QEvent) -> bool:
        is_press = event.type() == QEvent.Type.KeyPress
        if is_press and isinstance(event, QKeyEvent) and isinstance(editor, QLineEdit):
            way = _ARROWS.get(Qt.Key(event.key()))
            # Left and Right move in the text, unless all of it is still selected or the cursor is at its end.
            if way is not None and (way[0] or _is_at_end(editor, way[1])):
                self.commitData.emit(editor)
                self.closeEditor.emit(editor, QAbstractItemDelegate.EndEditHint.NoHint)
                self.left_by_arrow.emit(*way)
                return True
        return super().eventFilter(editor, event)


def fitting_text(texts: tuple[str, ...], font: QFont, width: int) -> str:
    """Return the most exact text that fits; none where even the shortest is too wide (the colour remains)."""
    metrics = QFontMetrics(font)
    return next((text for text in texts if metrics.horizontalAdvance(text) <= width), "")


def fitting_font(cells: Iterable[tuple[str, ...]], cell: QSize) -> QFont:
    """Return the largest font in which every cell can show a number, or the smallest that can be read."""
    shortest = {min(texts, key=len) for texts in cells}
    font = number_font()
    for size in (QFontInfo(font).pixelSize(), 11, 10, 9, _SMALLEST_FONT):
        font.setPixelSize(size)
        metrics = QFontMetrics(font)
        widest = max(metrics.horizontalAdvance(text) for text in shortest)
        if widest <= cell.width() - _PADDING and metrics.ascent() < cell.height():
            break
    return font


def _is_at_end(editor: QLineEdit, direction: int) -> bool:
    if editor.hasSelectedText():
        return False
    return editor.cursorPosition() == (len(editor.text()) if direction > 0 else 0)


def _paint_anchor(painter: QPainter, rect: QRect, colour: QColor) -> None:
    """Paint the corners of a frame: the sign of the cell that lies on the pixel."""
    frame = QRectF(rect).adjusted(2.5, 2.5, -3.5, -3.5)
    arm = min(frame.width(), frame.height()) * 0.28
    painter.setPen(QPen(colour, 1.5))
    for x, right in ((frame.left(), 1), (frame.right(), -1)):
        for y, down in ((frame.top(), 1), (frame.bottom(), -1)):
            painter.drawPolyline([QPointF(x + right * arm, y), QPointF(x, y), QPointF(x, y + down * arm)])

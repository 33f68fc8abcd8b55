"""The table in which the mask is edited; cells shrink to fit, then the table scrolls."""

from collections.abc import Iterable

from PySide6.QtCore import (
    QEvent,
    QMargins,
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
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QFontInfo,
    QFontMetrics,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPen,
)
from PySide6.QtWidgets import (
    QAbstractItemDelegate,
    QAbstractItemView,
    QFrame,
    QLineEdit,
    QMenu,
    QSizePolicy,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from engine.mask.mask import Mask
from gui.explore.mask.mask_controls import Brush
from gui.explore.mask.mask_model import MaskModel, MaskRole, texts_of
from gui.style.metrics import GRID, number_font
from gui.style.theme import current_theme

Cell = tuple[int, int]


def cells_between(start: Cell, end: Cell) -> list[Cell]:
    """Return the cells on the straight line from one cell to another, both included.

    J. Bresenham, "Algorithm for computer control of a digital plotter", IBM Systems Journal 4, 1965, in the
    form that rounds: one cell for each step along the longer side.
    """
    down, right = end[0] - start[0], end[1] - start[1]
    steps = max(abs(down), abs(right), 1)
    along = range(steps + 1)
    return [(round(start[0] + down * at / steps), round(start[1] + right * at / steps)) for at in along]


# 15 x 15 at the width of a small screen.
_SMALLEST = QSize(17, 14)
_LARGEST = QSize(15 * GRID, 14 * GRID)
# Whatever the shape of the mask, so that the controls below do not jump with it.
_LEAST_HEIGHT, _MOST_HEIGHT = 12 * GRID, 43 * GRID
# A mask that must be scrolled anyway gets cells in which numbers can be read.
_SCROLLED = QSize(5 * GRID, 3 * GRID)
_MOST_MEASURED = 100
_PASTE_WHOLE = QKeySequence("Ctrl+Shift+V")


class MaskGrid(QTableView):
    """The cells: Ctrl+V pastes as `pasted` does, Ctrl+Shift+V a whole mask; dragging selects or paints."""

    def __init__(self, model: MaskModel, brush: Brush | None = None) -> None:
        super().__init__(showGrid=False)
        self._model = model
        self._brush = brush = brush or Brush()
        self._strokes = 0
        self._painted: tuple[int, int] | None = None  # the cell that the brush is on while it paints
        self._cell, self._margins, self._is_placing = _LARGEST, QMargins(), False
        self._fitted: tuple[Mask | None, QSize] = None, QSize()
        self.setModel(model)
        self._delegate = CellDelegate(self)
        self._delegate.left_by_arrow.connect(self._move_by)
        self.setItemDelegate(self._delegate)
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.hide()
            header.setMinimumSectionSize(1)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ContiguousSelection)
        begins = QAbstractItemView.EditTrigger
        self.setEditTriggers(begins.AnyKeyPressed | begins.DoubleClicked | begins.EditKeyPressed)
        self.setMaximumHeight(_MOST_HEIGHT)
        self.setAccessibleName("Mask")
        self.setAccessibleDescription(
            "Weights of the mask. Type a number or a fraction; arrow keys move, Delete sets 0, Ctrl+V pastes."
        )
        model.modelAboutToBeReset.connect(self._remember_current)
        model.modelReset.connect(self._return_to_current)
        model.dataChanged.connect(self._fit_font)
        brush.switched.connect(self._show_brush)
        self._current: tuple[int, int] | None = None
        self._put_current(*model.mask.anchor)

    def sizeHint(self) -> QSize:
        # It takes what the panel leaves, which scrolls only where that is less.
        return QSize(40 * GRID, self.minimumSizeHint().height())

    def minimumSizeHint(self) -> QSize:
        # At any width: a panel whose least height followed its width would flicker with its scroll bar.
        return QSize(12 * GRID, _LEAST_HEIGHT)

    def selected_cells(self) -> list[tuple[int, int]]:
        """Return the selected cells, the current one first; without a selection the current one."""
        cells = {(index.row(), index.column()) for index in self.selectedIndexes()}
        first = [self._cell_now] if self.currentIndex().isValid() else []
        return first + sorted(cells.difference(first))

    def copy(self) -> None:
        """Copy the selected cells, as spreadsheets write them."""
        QGuiApplication.clipboard().setText(self._model.copied_text(self.selected_cells()))

    def paste(self, text: str = "", *, whole: bool = False) -> None:
        """Paste a text, by default that of the clipboard, at the current cell, or as a whole mask."""
        text = text or QGuiApplication.clipboard().text()
        self._model.paste(text, self.selected_cells(), whole=whole)

    def clear_cells(self) -> None:
        self._model.clear_cells(self.selected_cells())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index, modifiers = self.indexAt(event.position().toPoint()), event.modifiers()
        is_left = event.button() == Qt.MouseButton.LeftButton
        if not (self._brush.is_on and is_left) or modifiers & Qt.KeyboardModifier.ShiftModifier:
            super().mousePressEvent(event)
        elif index.isValid() and modifiers & Qt.KeyboardModifier.ControlModifier:
            self._brush.take(str(index.data(Qt.ItemDataRole.EditRole)))
        elif index.isValid():
            self._strokes += 1
            self._paint_to(index.row(), index.column())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._painted is None:
            super().mouseMoveEvent(event)
            return
        if (index := self.indexAt(event.position().toPoint())).isValid():
            self._paint_to(index.row(), index.column())

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if self._painted is None:
            super().mouseReleaseEvent(event)
        self._painted = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        # With the brush two quick clicks are two strokes.
        if self._brush.is_on:
            self.mousePressEvent(event)
        else:
            super().mouseDoubleClickEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self._brush.is_on:
            self._brush.button.setChecked(False)
        elif event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        elif event.matches(QKeySequence.StandardKey.Cut):
            self.copy()
            self.clear_cells()
        elif QKeySequence(event.keyCombination()) == _PASTE_WHOLE:
            self.paste(whole=True)
        elif event.matches(QKeySequence.StandardKey.Paste):
            self.paste()
        elif event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.clear_cells()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            # The Enter that ends an edit comes through here too.
            if self.state() != QAbstractItemView.State.EditingState:
                self.edit(self.currentIndex())
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, forward: bool) -> bool:
        # Tab goes from cell to cell, and out of the table at its ends.
        last = (self._model.rowCount() - 1, self._model.columnCount() - 1)
        is_end = self._cell_now == (last if forward else (0, 0))
        self.setTabKeyNavigation(self.currentIndex().isValid() and not is_end)
        moved = super().focusNextPrevChild(forward)
        self.setTabKeyNavigation(True)
        return moved

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        # The menu key means the current cell, wherever the mouse is.
        by_mouse = event.reason() == QContextMenuEvent.Reason.Mouse
        index = self.indexAt(event.pos()) if by_mouse else self.currentIndex()
        if index.isValid():
            position = event.pos() if by_mouse else self.visualRect(index).center()
            self.context_menu(index).popup(self.viewport().mapToGlobal(position))

    def event(self, event: QEvent) -> bool:
        # A scroll area's resizeEvent is about its viewport, whose size depends on the margins set below; only
        # the table's own events say for certain how much room there is.
        handled = super().event(event)
        if event.type() in (QEvent.Type.Resize, QEvent.Type.Show):
            self._fit_cells()
            self.scrollTo(self.currentIndex())
        return handled

    def updateGeometries(self) -> None:
        # Qt gives the margins to its headers, of which there are none: the cells stand in the middle.
        super().updateGeometries()
        if not self._is_placing and self.viewportMargins() != self._margins:
            self._is_placing = True
            self.setViewportMargins(self._margins)
            self._is_placing = False

    def _fit_cells(self) -> None:
        """Share the room among the cells, down to a size that can be hit; they stand in its middle."""
        rows, columns = self._model.rowCount(), self._model.columnCount()
        area = self.contentsRect()
        if rows * _SMALLEST.height() > area.height():
            area.setWidth(area.width() - self.verticalScrollBar().sizeHint().width())
        width = min(area.width() // columns, _LARGEST.width())
        is_scrolled = width < _SMALLEST.width()
        if is_scrolled:
            width = _SCROLLED.width()
        highest = _SCROLLED.height() if is_scrolled else min(_LARGEST.height(), max(width, 3 * GRID))
        # A scroll bar under the cells would hide most of a single row.
        bar = self.horizontalScrollBar().sizeHint().height() if columns * width > area.width() else 0
        area.setHeight(area.height() - bar)
        height = min(area.height() // rows, highest)
        if height < _SMALLEST.height():
            height = (_SCROLLED if is_scrolled else _SMALLEST).height()
        self.horizontalHeader().setDefaultSectionSize(width)
        self.verticalHeader().setDefaultSectionSize(height)
        side, above = max(0, area.width() - columns * width) // 2, max(0, area.height() - rows * height) // 2
        self._margins = QMargins(side, above, side, above)
        self.updateGeometries()
        self._cell = QSize(width, height)
        self._fit_font()

    def _fit_font(self) -> None:
        mask = self._model.mask
        if self._fitted[0] is not mask or self._fitted[1] != self._cell:
            self._fitted = mask, self._cell
            texts = sorted(mask.cell_texts())
            # All 3,969 of a large mask take 50 ms.
            some = texts[:: 1 + len(texts) // _MOST_MEASURED]
            self._delegate.set_font(fitting_font(map(texts_of, some), self._cell))

    def context_menu(self, index: QModelIndex) -> QMenu:
        """Return what can be done with a cell."""
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        anchor = menu.addAction("Put the anchor here")
        anchor.setToolTip("The anchor is the cell that lies on the pixel whose result is computed.")
        anchor.setEnabled(self._model.mask.anchor != (index.row(), index.column()))
        anchor.triggered.connect(lambda: self._model.put_anchor(index.row(), index.column()))
        menu.addSeparator()
        # The keys are only named here: the table itself takes them.
        menu.addAction("Copy\tCtrl+C").triggered.connect(self.copy)
        menu.addAction("Paste\tCtrl+V").triggered.connect(lambda: self.paste())
        menu.addAction("Paste as whole mask\tCtrl+Shift+V").triggered.connect(lambda: self.paste(whole=True))
        menu.addAction("Set to 0\tDel").triggered.connect(self.clear_cells)
        return menu

    def _paint_to(self, row: int, column: int) -> None:
        cells = cells_between(self._painted or (row, column), (row, column))
        self._painted = row, column
        self._model.paint(cells, self._brush.cell, self._strokes)

    def _show_brush(self, is_on: bool) -> None:
        self._painted = None
        self.viewport().setCursor(Qt.CursorShape.CrossCursor if is_on else Qt.CursorShape.ArrowCursor)

    @property
    def _cell_now(self) -> Cell:
        return self.currentIndex().row(), self.currentIndex().column()

    def _move_by(self, down: int, right: int) -> None:
        row, column = self._cell_now
        self._put_current(row + down, column + right)
        self.setFocus()

    def _remember_current(self) -> None:
        # What is on the anchor follows it.
        self._current = None if self._cell_now == self._model.mask.anchor else self._cell_now

    def _return_to_current(self) -> None:
        self.updateGeometry()
        self._fit_cells()
        self._put_current(*(self._current or self._model.mask.anchor))
        self.scrollTo(self.currentIndex(), QAbstractItemView.ScrollHint.PositionAtCenter)

    def _put_current(self, row: int, column: int) -> None:
        row = min(max(row, 0), self._model.rowCount() - 1)
        self.setCurrentIndex(self._model.index(row, min(max(column, 0), self._model.columnCount() - 1)))


Index = QModelIndex | QPersistentModelIndex

_EDITOR_WIDTH, _EDITOR_HEIGHT = 10 * GRID, 3 * GRID
_SMALLEST_FONT, _PADDING = 8, 4
_ARROWS = {
    Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0), Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1),
}  # fmt: skip


class CellDelegate(QStyledItemDelegate):
    """Paints and edits one cell."""

    left_by_arrow = Signal(int, int)  # an arrow key ended the editing; rows and columns to move

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
        foreground: QColor = index.data(Qt.ItemDataRole.ForegroundRole)
        painter.save()
        painter.fillRect(rect, index.data(Qt.ItemDataRole.BackgroundRole))
        painter.setPen(QColor(theme.line))
        # Neighbours share a line.
        painter.drawRect(rect.adjusted(-min(index.column(), 1), -min(index.row(), 1), -1, -1))
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
            wide, space = QFontMetrics(self._font).horizontalAdvance, rect.width() - _PADDING
            # The most exact text that fits; none where even the shortest is too wide (the colour remains).
            self._fitting[key] = next((text for text in key[0] if wide(text) <= space), "")
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
        area = parent.rect() if parent is not None else cell
        box = QRect(0, 0, max(cell.width(), _EDITOR_WIDTH), max(cell.height(), _EDITOR_HEIGHT))
        box.moveCenter(cell.center())
        box.moveLeft(max(0, min(box.left(), area.width() - box.width())))
        box.moveTop(max(0, min(box.top(), area.height() - box.height())))
        editor.setGeometry(box)

    def eventFilter(self, editor: QObject, event: QEvent) -> bool:
        is_press = event.type() == QEvent.Type.KeyPress
        if is_press and isinstance(event, QKeyEvent) and isinstance(editor, QLineEdit):
            way = _ARROWS.get(Qt.Key(event.key()))
            # Left and Right move in the text, unless all of it is still selected or the cursor is at its end.
            end = len(editor.text()) if way and way[1] > 0 else 0
            is_at_end = not editor.hasSelectedText() and editor.cursorPosition() == end
            if way is not None and (way[0] or is_at_end):
                self.commitData.emit(editor)
                self.closeEditor.emit(editor, QAbstractItemDelegate.EndEditHint.NoHint)
                self.left_by_arrow.emit(*way)
                return True
        return super().eventFilter(editor, event)


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


def _paint_anchor(painter: QPainter, rect: QRect, colour: QColor) -> None:
    """Paint the corners of a frame: the sign of the cell that lies on the pixel."""
    frame = QRectF(rect).adjusted(2.5, 2.5, -3.5, -3.5)
    arm = min(frame.width(), frame.height()) * 0.28
    painter.setPen(QPen(colour, 1.5))
    for x, right in ((frame.left(), 1), (frame.right(), -1)):
        for y, down in ((frame.top(), 1), (frame.bottom(), -1)):
            painter.drawPolyline([QPointF(x + right * arm, y), QPointF(x, y), QPointF(x, y + down * arm)])

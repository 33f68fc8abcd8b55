"""A heat map of one kernel: block width across, block height up, the best block marked; a click loads a cell.

Painted by hand and not by pyqtgraph, whose items take 0.5 ms each time that they are drawn anew.
"""

from PySide6.QtCore import QEvent, QPoint, QPointF, QSize, QSizeF, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QHelpEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import QToolTip, QWidget

from engine.geometry.block import Block
from gui.explore.blocks.map_cells import BlockMapData, Kind
from gui.explore.blocks.map_painter import MapFrame, Marks, frame_of, paint_map
from gui.explore.run_words import EARLIER
from gui.style.metrics import EARLIER_OPACITY, GRID
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.panel_parts import centred_text

_STEPS = {
    Qt.Key.Key_Left: (-1, 0),
    Qt.Key.Key_Right: (1, 0),
    Qt.Key.Key_Up: (0, 1),
    Qt.Key.Key_Down: (0, -1),
}
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class BlockMap(QWidget):
    """Draws a BlockMapData; arrow keys move between its cells, Enter or a click loads one."""

    chosen = Signal(object)  # the Block to load
    # What is known of the cell under the mouse or the keyboard's cursor; empty when there is none any more.
    pointed = Signal(str)

    def __init__(self, empty: str) -> None:
        super().__init__()
        self._data = BlockMapData()
        self._loaded: Block | None = None
        self._cursor: Block | None = None
        self._is_earlier = False
        self.empty_text = centred_text(empty, self)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setMouseTracking(True)
        self.setAccessibleName("Map of block sizes")
        theme_notifier().changed.connect(self.update)
        self.show_map(self._data, None)

    @property
    def data(self) -> BlockMapData:
        """The map that is shown."""
        return self._data

    def show_map(self, data: BlockMapData, loaded: Block | None, *, is_earlier: bool = False) -> None:
        """Draw a map; `loaded` is the block of the workspace if its kernel is the map's.

        One for an earlier problem is dimmed.
        """
        self._is_earlier = is_earlier
        if self._cursor not in data.cells:
            self._cursor = None
        self._data, self._loaded = data, loaded
        self.empty_text.setVisible(not data.cells)
        self.setCursor(Qt.CursorShape.PointingHandCursor if data.cells else Qt.CursorShape.ArrowCursor)
        self.setAccessibleDescription(self._accessible_text())
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(44 * GRID, 24 * GRID)

    def minimumSizeHint(self) -> QSize:
        return QSize(20 * GRID, 11 * GRID)

    def resizeEvent(self, event: object) -> None:
        self.empty_text.setGeometry(self.rect().adjusted(GRID, GRID, -GRID, -GRID))

    def place_of(self, block: Block) -> QPoint:
        """Return the middle of a cell."""
        data = self._data
        return self._frame().rect(data.xs.index(block.x), data.ys.index(block.y)).center().toPoint()

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            QToolTip.showText(event.globalPos(), self._words(self._block_at(QPointF(event.pos()))), self)
            return True
        return super().event(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.pointed.emit(self._words(self._block_at(event.position())))

    def leaveEvent(self, event: QEvent) -> None:
        self.pointed.emit("")

    def mousePressEvent(self, event: QMouseEvent) -> None:
        block = self._block_at(event.position())
        if block is not None and event.button() == Qt.MouseButton.LeftButton:
            self._cursor = block
            self._load(block)
            self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        if not self._data.cells or (key not in _STEPS and key not in _ENTER):
            super().keyPressEvent(event)
            return
        known = (self._cursor, self._loaded, self._data.best, *self._data.cells)
        at = next(block for block in known if block in self._data.cells and block is not None)
        if key in _ENTER:
            self._load(at)
            return
        # The first key only shows where the cursor is.
        self._cursor = at if self._cursor is None else self._moved(at, *_STEPS[key])
        self.pointed.emit(self._words(self._cursor))
        self.setAccessibleDescription(self._accessible_text())
        self.update()

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.pointed.emit("")
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        theme = current_theme()
        painter = QPainter(self)
        painter.fillRect(self.rect(), QColor(theme.base))
        if self._data.cells:
            painter.setOpacity(EARLIER_OPACITY if self._is_earlier else 1.0)
            marks = Marks(self._loaded, self._cursor if self.hasFocus() else None)
            paint_map(painter, self._data, self._frame(), QSizeF(self.size()), marks, theme)
        painter.setOpacity(1.0)
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 2))
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))
        painter.end()

    def _frame(self) -> MapFrame:
        return frame_of(self._data, self.width(), self.height())

    def _block_at(self, place: QPointF) -> Block | None:
        frame, data = self._frame(), self._data
        if not data.cells or not frame.area.contains(place):
            return None
        column = int((place.x() - frame.area.left()) / frame.cell.width())
        row = int((frame.area.bottom() - place.y()) / frame.cell.height())
        return Block(data.xs[min(column, len(data.xs) - 1)], data.ys[min(row, len(data.ys) - 1)])

    def _moved(self, block: Block, across: int, up: int) -> Block:
        xs, ys = self._data.xs, self._data.ys
        column = min(max(xs.index(block.x) + across, 0), len(xs) - 1)
        return Block(xs[column], ys[min(max(ys.index(block.y) + up, 0), len(ys) - 1)])

    def _load(self, block: Block) -> None:
        cell = self._data.cells[block]
        if cell.kind in (Kind.ILLEGAL, Kind.REFUSED):
            self.pointed.emit(f"Not loaded. {cell.words}")
        else:
            self.chosen.emit(block)

    def _words(self, block: Block | None) -> str:
        if block is None:
            return ""
        data, cell = self._data, self._data.cells[block]
        words = f"{data.variant}, {cell.words}" if cell.kind is not Kind.ILLEGAL else cell.words
        if block == data.best:
            return f"{words} The best here."
        if cell.kind is Kind.VALUE and data.best and data.ratio(cell) > 1:
            return f"{words} The best, {data.best}, is {data.ratio(cell):.3g}× better."
        return words

    def _accessible_text(self) -> str:
        """Return the map in words, for screen readers."""
        data = self._data
        if not data.cells:
            return self.empty_text.text().replace("\n", " ")
        best = f"best {data.cells[data.best].words} " if data.best else ""
        kinds = [cell.kind for cell in data.cells.values()]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in Kind if kind in kinds)
        cursor = f" Cursor at {self._words(self._cursor)}" if self._cursor else ""
        earlier = f", {EARLIER}" if self._is_earlier else ""
        return f"{data.variant}{earlier}: {best}{counts}.{cursor}"

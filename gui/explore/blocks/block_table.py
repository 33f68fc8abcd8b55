"""A table of one kernel's blocks: widths across, heights upwards, each cell coloured by how good it is."""

import math
from typing import Any

from PySide6.QtCore import (
    QAbstractTableModel,
    QEvent,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor, QFocusEvent, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QGraphicsOpacityEffect,
    QHeaderView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
)

from engine.geometry.block import Block
from gui.explore.blocks.block_map import BlockMap, Kind
from gui.explore.run_words import EARLIER
from gui.style.cell_colours import readable_text
from gui.style.heat import heat
from gui.style.metrics import EARLIER_OPACITY, GRID, number_font
from gui.style.theme import current_theme
from gui.widgets.panel_parts import centred_text

# Beyond this times are not told apart: a block of one thread would leave one colour for the rest.
_MOST_RATIO = 8.0
_LEAST_RATIO = 1.25
_MOST_WIDTH = 9 * GRID
# The margins of an item are 3 pixels on each side, and a frame has two.
_PADDING = GRID
_LEAST_HEIGHT, _MOST_HEIGHT = 2 * GRID, 4 * GRID

Index = QModelIndex | QPersistentModelIndex
Role = Qt.ItemDataRole


class BlockModel(QAbstractTableModel):
    """The cells of a `BlockMap`, the highest blocks in the first row."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.map = BlockMap()

    def show(self, shown: BlockMap) -> None:
        """Show a map; cells keep their indexes where rows and columns stay."""
        is_same = (self.map.xs, self.map.ys) == (shown.xs, shown.ys)
        if not is_same:
            self.beginResetModel()
        self.map = shown
        if not is_same:
            self.endResetModel()
        elif shown.cells:
            self.dataChanged.emit(self.index(0, 0), self.index(len(shown.ys) - 1, len(shown.xs) - 1))

    def block_at(self, index: Index) -> Block | None:
        """Return the block of a cell; None for no cell."""
        return Block(self.map.xs[index.column()], self.map.ys[-1 - index.row()]) if index.isValid() else None

    def index_of(self, block: Block | None) -> QModelIndex:
        """Return the cell of a block; an invalid index where the map has none."""
        if block is None or block not in self.map.cells:
            return QModelIndex()
        return self.index(len(self.map.ys) - 1 - self.map.ys.index(block.y), self.map.xs.index(block.x))

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return len(self.map.ys)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(self.map.xs)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Role.DisplayRole) -> Any:
        is_width = orientation == Qt.Orientation.Horizontal
        if role == Role.DisplayRole:
            return str(self.map.xs[section]) if is_width else f"× {self.map.ys[-1 - section]}"
        if role == Role.ToolTipRole:
            return f"{'Width' if is_width else 'Height'} of the blocks, in threads"
        return None

    def data(self, index: Index, role: int = Role.DisplayRole) -> Any:
        block, theme = self.block_at(index), current_theme()
        if block is None:
            return None
        kind = self.map.cells[block].kind
        if role == Role.DisplayRole:
            return self.map.text(block)
        if role in (Role.ToolTipRole, Role.AccessibleTextRole):
            return self.map.words(block)
        if role == Role.TextAlignmentRole:
            return Qt.AlignmentFlag.AlignCenter
        if role == Role.BackgroundRole:
            return self._colour(block)
        if role == Role.ForegroundRole:
            plain = QColor(theme.error if kind is Kind.FAILED else theme.muted)
            return readable_text(self._colour(block), theme) if kind is Kind.VALUE else plain
        return None

    def _colour(self, block: Block) -> QColor:
        """Return the colour of a cell: a measured one's is on a logarithmic scale."""
        kind, theme = self.map.cells[block].kind, current_theme()
        if kind is not Kind.VALUE:
            return QColor(theme.base if kind is Kind.NOT_CHOSEN else theme.raised)
        span = math.log(min(max(self.map.worst_ratio, _LEAST_RATIO), _MOST_RATIO))
        return heat(1.0 - math.log(self.map.ratio(block)) / span)


class _CellDelegate(QStyledItemDelegate):
    """Frames the block of the workspace, and the current cell."""

    loaded = QModelIndex()

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        is_current = bool(option.state & QStyle.StateFlag.State_HasFocus)
        option.state &= ~(QStyle.StateFlag.State_HasFocus | QStyle.StateFlag.State_MouseOver)
        super().paint(painter, option, index)
        theme, rect = current_theme(), option.rect.adjusted(0, 0, -1, -1)
        frames = [theme.accent, theme.base] if index == self.loaded else []
        # Two lines each: one of them is seen on any colour.
        for inset, colour in enumerate(frames + ([theme.text, theme.base] if is_current else [])):
            painter.setPen(QColor(colour))
            painter.drawRect(rect.adjusted(inset, inset, -inset, -inset))


class BlockTable(QTableView):
    """Shows a `BlockMap`; arrow keys move between its cells, Enter or a click loads one."""

    chosen = Signal(object)  # the Block to load
    # What is known of the cell under the mouse or the keyboard's cursor; empty when there is none any more.
    pointed = Signal(str)

    def __init__(self, empty: str) -> None:
        super().__init__()
        self.blocks = BlockModel(self)
        self.setModel(self.blocks)
        self._delegate = _CellDelegate(self)
        self.setItemDelegate(self._delegate)
        self.empty_text = centred_text(empty, self)
        self.setAccessibleName("Map of block sizes")
        self.setFont(number_font())
        self.setMinimumSize(20 * GRID, 11 * GRID)
        self.setFrameShape(QTableView.Shape.NoFrame)
        self.setSelectionMode(QTableView.SelectionMode.NoSelection)
        self.setTabKeyNavigation(False)
        self.setHorizontalScrollMode(QTableView.ScrollMode.ScrollPerPixel)
        self.setMouseTracking(True)
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            header.setMinimumSectionSize(GRID)
            header.setHighlightSections(False)
            header.setSectionsClickable(False)
            header.setStyleSheet("QHeaderView::section { padding: 0 3px; border: 0; }")
        self._dim = QGraphicsOpacityEffect(self.viewport(), opacity=EARLIER_OPACITY)
        self.viewport().setGraphicsEffect(self._dim)
        self.clicked.connect(self._load)
        self.activated.connect(self._load)
        self.entered.connect(self._point)
        self.viewportEntered.connect(lambda: self.pointed.emit(""))
        self.show_map(BlockMap(), None)

    @property
    def shown(self) -> BlockMap:
        """The map that is shown."""
        return self.blocks.map

    def show_map(self, shown: BlockMap, loaded: Block | None, *, is_earlier: bool = False) -> None:
        """Show a map, dimmed if it is for an earlier problem; `loaded` is the block of the workspace."""
        current = self.blocks.block_at(self.currentIndex())
        self.blocks.show(shown)
        self._delegate.loaded = self.blocks.index_of(loaded)
        if not self.currentIndex().isValid():
            known = (block for block in (current, loaded, shown.best) if block in shown.cells)
            self.setCurrentIndex(self.blocks.index_of(next(known, None)))
        self._dim.setEnabled(is_earlier)
        self.empty_text.setVisible(not shown.cells)
        kinds = [cell.kind for cell in shown.cells.values()]
        counts = ", ".join(f"{kinds.count(kind)} {kind.words}" for kind in Kind if kind in kinds)
        best = f"best {shown.cells[shown.best].words} " if shown.best else ""
        heard = f"{shown.variant}{f', {EARLIER}' if is_earlier else ''}: {best}{counts}."
        self.setAccessibleDescription(heard if kinds else self.empty_text.text().replace("\n", " "))
        self._fit()
        self.viewport().update()

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        if self.hasFocus():
            self._point(current)

    def leaveEvent(self, event: QEvent) -> None:
        self.pointed.emit("")

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.pointed.emit("")

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.empty_text.setGeometry(self.rect().adjusted(GRID, GRID, -GRID, -GRID))
        self._fit()

    def _fit(self) -> None:
        """Give all cells the room that there is, and each column what its texts need."""
        shown, room = self.shown, self.maximumViewportSize()
        texts = [*map(shown.text, shown.cells), *map(str, shown.xs)]
        least = max(map(self.fontMetrics().horizontalAdvance, texts), default=0) + _PADDING
        width = max(least, min(room.width() // max(1, len(shown.xs)), _MOST_WIDTH))
        bar = self.horizontalScrollBar().sizeHint().height() if width * len(shown.xs) > room.width() else 0
        height = max(_LEAST_HEIGHT, min((room.height() - bar) // max(1, len(shown.ys)), _MOST_HEIGHT))
        self.horizontalHeader().setDefaultSectionSize(width)
        self.verticalHeader().setDefaultSectionSize(height)
        self.updateGeometries()

    def _point(self, index: Index) -> None:
        block = self.blocks.block_at(index)
        self.pointed.emit(self.shown.words(block) if block else "")

    def _load(self, index: Index) -> None:
        block = self.blocks.block_at(index)
        if block is None:
            return
        cell = self.shown.cells[block]
        if cell.kind in (Kind.ILLEGAL, Kind.REFUSED):
            self.pointed.emit(f"Not loaded. {cell.words}")
        else:
            self.chosen.emit(block)

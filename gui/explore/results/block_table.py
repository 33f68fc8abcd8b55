"""A table of one kernel's blocks: widths across, heights upwards, each cell coloured by how good it is."""

import math

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, Qt, Signal
from PySide6.QtGui import QColor, QFocusEvent, QResizeEvent

from engine.geometry.block import Block
from gui.explore.results.block_map import BlockMap, Kind
from gui.style.cell_colours import heat
from gui.style.metrics import GRID
from gui.style.theme import current_theme
from gui.widgets.number_table import NumberTable

# Beyond this times are not told apart: a block of one thread would leave one colour for the rest.
_MOST_RATIO = 8.0
_LEAST_RATIO = 1.25
_MOST_WIDTH = 9 * GRID
_LEAST_HEIGHT, _MOST_HEIGHT = 2 * GRID, 4 * GRID

Index = QModelIndex | QPersistentModelIndex


class BlockTable(NumberTable):
    """Shows a `BlockMap`; arrow keys move between its cells, Enter or a click loads one."""

    chosen = Signal(object)  # the Block to load
    # What is known of the cell under the mouse or the keyboard's cursor; empty when there is none any more.
    pointed = Signal(str)

    def __init__(self) -> None:
        super().__init__("Map of block sizes", chosen_from=True)
        self.shown = BlockMap()
        self.ground = self._ground
        self.setMinimumSize(20 * GRID, 11 * GRID)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.setHorizontalScrollMode(NumberTable.ScrollMode.ScrollPerPixel)
        for header in (self.horizontalHeader(), self.verticalHeader()):
            header.show()
            header.setHighlightSections(False)
            header.setSectionsClickable(False)
            header.setStyleSheet("QHeaderView::section { padding: 0 3px; border: 0; }")
        self.clicked.connect(self._load)
        self.activated.connect(self._load)
        self.entered.connect(self._point)
        self.viewportEntered.connect(lambda: self.pointed.emit(""))
        self.show_map(BlockMap(), None)

    def block_at(self, index: Index) -> Block | None:
        """Return the block of a cell; None for no cell."""
        return self._block(index.row(), index.column()) if index.isValid() else None

    def index_of(self, block: Block | None) -> QModelIndex:
        """Return the cell of a block; an invalid index where the map has none."""
        if block is None or block not in self.shown.cells:
            return QModelIndex()
        row = len(self.shown.ys) - 1 - self.shown.ys.index(block.y)
        return self.texts.index(row, self.shown.xs.index(block.x))

    def show_map(self, shown: BlockMap, loaded: Block | None) -> None:
        """Show a map; `loaded` is the block of the workspace."""
        current = self.block_at(self.currentIndex())
        self.shown = shown
        rows = [[Block(x, y) for x in shown.xs] for y in reversed(shown.ys)]
        texts, words = ([[say(one) for one in row] for row in rows] for say in (shown.text, shown.words))
        self.show_texts(texts, words)
        self.texts.setHorizontalHeaderLabels([str(x) for x in shown.xs])
        self.texts.setVerticalHeaderLabels([f"× {y}" for y in reversed(shown.ys)])
        self.horizontalHeader().setToolTip("Width of the blocks, in threads")
        self.verticalHeader().setToolTip("Height of the blocks, in threads")
        self.framed = self.index_of(loaded)
        known = (block for block in (current, loaded, shown.best) if block in shown.cells)
        self.setCurrentIndex(self.index_of(next(known, None)))
        kinds = [cell.kind for cell in shown.cells.values()]
        counts = ", ".join(f"{kinds.count(kind)} {kind.words}" for kind in Kind if kind in kinds)
        best = f"best {shown.cells[shown.best].words} " if shown.best else ""
        self.setAccessibleDescription(f"{shown.variant}: {best}{counts}." if kinds else "")
        self._fit()

    def ink(self, ground: QColor, row: int, column: int) -> QColor:
        kind, theme = self.shown.cells[self._block(row, column)].kind, current_theme()
        if kind is Kind.VALUE:
            return super().ink(ground, row, column)
        return QColor(theme.error if kind is Kind.FAILED else theme.muted)

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
        self._fit()

    def _block(self, row: int, column: int) -> Block:
        return Block(self.shown.xs[column], self.shown.ys[-1 - row])

    def _ground(self, row: int, column: int) -> QColor:
        """Return the colour of a cell: a measured one's is on a logarithmic scale."""
        block, theme = self._block(row, column), current_theme()
        kind = self.shown.cells[block].kind
        if kind is not Kind.VALUE:
            return QColor(theme.base if kind is Kind.NOT_CHOSEN else theme.raised)
        span = math.log(min(max(self.shown.worst_ratio, _LEAST_RATIO), _MOST_RATIO))
        return heat(1.0 - math.log(self.shown.ratio(block)) / span)

    def _fit(self) -> None:
        """Give all cells the room that there is, and each column what its texts need."""
        shown, room = self.shown, self.maximumViewportSize()
        texts = [*map(shown.text, shown.cells), *map(str, shown.xs)]
        least = max(map(self.fontMetrics().horizontalAdvance, texts), default=0) + GRID
        width = max(least, min(room.width() // max(1, len(shown.xs)), _MOST_WIDTH))
        bar = self.horizontalScrollBar().sizeHint().height() if width * len(shown.xs) > room.width() else 0
        height = max(_LEAST_HEIGHT, min((room.height() - bar) // max(1, len(shown.ys)), _MOST_HEIGHT))
        self.set_cell_size(width, height)
        self.updateGeometries()

    def _point(self, index: Index) -> None:
        block = self.block_at(index)
        self.pointed.emit(self.shown.words(block) if block else "")

    def _load(self, index: Index) -> None:
        block = self.block_at(index)
        if block is None:
            return
        cell = self.shown.cells[block]
        if cell.kind in (Kind.ILLEGAL, Kind.REFUSED):
            self.pointed.emit(f"Not loaded. {cell.words}")
        else:
            self.chosen.emit(block)

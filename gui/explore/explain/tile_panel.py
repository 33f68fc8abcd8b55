"""The panel Tile: a block of the selected kernel, its cells, their meaning in colours and in words."""

import math

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QHeaderView, QWidget

from engine.explain.messages import BlockTiles, TilePlan, TileRequest
from engine.work.messages import PictureJob
from gui.engine_link.engine_link import EngineLink
from gui.explore.explain import question
from gui.explore.explain.question import PassesQuestion
from gui.explore.explain.selection import Selection
from gui.explore.explain.tile_painter import (
    ColourBy,
    TilePainter,
    cell_sentence,
    has_results_row,
    legend_of,
    look_of,
    summary,
    use_sentence,
)
from gui.style.metrics import GRID, HALF_GRID, follow, small_font
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.fields import NumberBox
from gui.widgets.labels import ElidedLabel, Legend
from gui.widgets.number_table import NumberTable
from gui.widgets.panel_parts import (
    PANEL_MARGINS,
    NarrowBox,
    PlaceholderStack,
    RefusalLabel,
    boxed,
    column,
    fill_box,
    folding_row,
    label_for,
    quiet_label,
    row,
)

Index = QModelIndex | QPersistentModelIndex
_LEAST, _LARGEST = 6, 44
_SCROLLED, _SCROLLED_ROW = 10, 24
_ZOOM = 1.5
_ZOOMS = {Qt.Key.Key_Plus: 1, Qt.Key.Key_Equal: 1, Qt.Key.Key_Minus: -1, Qt.Key.Key_0: 0}


class TileGrid(NumberTable):
    """Shows a TilePlan; `current` is the cell under the mouse, or that of the arrow keys."""

    current_changed = Signal()
    plan: TilePlan | None = None

    def __init__(self) -> None:
        super().__init__("Tile", chosen_from=True)
        self._colour_by = ColourBy.ROLE
        self._look = look_of(None, ColourBy.ROLE, current_theme())
        self._requested_size = 0  # requested pixels of a cell; 0: as large as there is room
        self.setFont(small_font())
        self.setMinimumSize(20 * GRID, 8 * GRID)
        # The mouse scrolls nothing.
        self.setAutoScroll(False)
        self.setHorizontalHeader(_Ruler(Qt.Orientation.Horizontal, self))
        self.setVerticalHeader(_Ruler(Qt.Orientation.Vertical, self))
        for policy in (self.setHorizontalScrollBarPolicy, self.setVerticalScrollBarPolicy):
            policy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        for mode in (self.setHorizontalScrollMode, self.setVerticalScrollMode):
            mode(NumberTable.ScrollMode.ScrollPerPixel)
        self.setStyleSheet("QTableCornerButton::section { border: 0; background: transparent; }")
        theme_notifier().changed.connect(self._colour)

    @property
    def current(self) -> tuple[int, int] | None:
        """Row and column of the current cell; None without a tile."""
        return self.cell_of(self.currentIndex())

    def cell_of(self, index: Index) -> tuple[int, int] | None:
        """Return the cell of an index; results in a row of their own lie under their cells."""
        if self.plan is None or not index.isValid():
            return None
        return 0 if has_results_row(self.plan) else index.row(), index.column()

    def show_plan(self, plan: TilePlan | None) -> None:
        """Show a tile; the current cell is that of its first result, or stays at its place in the tile."""
        self.plan = plan
        rows, columns = plan.shape if plan is not None else (0, 0)
        if plan is not None:
            has_results, sides = has_results_row(plan), Qt.Orientation
            down = (plan.reads, "", plan.writes) if has_results else map(str, plan.source_rows.tolist())
            across = map(str, (plan.source_columns // plan.apart).tolist())
            self.texts.labels |= {sides.Vertical: tuple(down), sides.Horizontal: tuple(across)}
            rows = 3 if has_results and columns else rows
        self.show_cells((rows, columns), lambda row, column: "", self._words)
        if plan is not None and rows and columns and not self.currentIndex().isValid():
            (row, column), (above, left) = plan.first_result, plan.first
            self.setCurrentIndex(self.texts.index(row - above, column - left))
        self._colour()
        self._fit()
        self._moved()

    def show_colours(self, by: ColourBy) -> None:
        self._colour_by = by
        self._colour()

    def zoom(self, steps: int) -> None:
        """Enlarge or shrink the cells; 0 makes them as large as there is room."""
        size = min(max(round(self.cell_size * _ZOOM**steps), _LEAST), _LARGEST)
        self._requested_size = size if steps else 0
        self._fit()
        self.scrollTo(self.currentIndex())

    @property
    def cell_size(self) -> int:
        if self._requested_size or self.plan is None:
            return self._requested_size or _LARGEST
        area, rows, columns = self.maximumViewportSize(), self.texts.rowCount(), self.texts.columnCount()
        if (fitting := min(area.width() // max(1, columns), area.height() // max(1, rows))) >= _LEAST:
            return min(fitting, _LARGEST)
        # What must be scrolled anyway gets cells that can be distinguished, and numbers where it is one row.
        return _SCROLLED_ROW if has_results_row(self.plan) else _SCROLLED

    def sentences(self) -> tuple[str, str]:
        """Return which cells the result at the current cell uses, and who loads that cell."""
        if self.plan is None or self.current is None:
            return "", ""
        result = self.plan.result_at(*self.current)
        used = use_sentence(self.plan, *result) if result else "No result of this block lies here."
        return used, cell_sentence(self.plan, *self.current)

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        self._moved()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        # Not `entered`: what is scrolled by keys under a resting mouse is not pointed at.
        if (index := self.indexAt(event.position().toPoint())).isValid():
            self.setCurrentIndex(index)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if event.modifiers() & Qt.KeyboardModifier.ControlModifier and event.angleDelta().y():
            self.zoom(1 if event.angleDelta().y() > 0 else -1)
        else:
            super().wheelEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if (steps := _ZOOMS.get(Qt.Key(event.key()))) is not None:
            self.zoom(steps)
        else:
            super().keyPressEvent(event)
            self.scrollTo(self.currentIndex())

    def paintEvent(self, event: QPaintEvent) -> None:
        # Cell by cell a delegate would take a hundred times as long.
        plan = self.plan
        if plan is None or self._look.image.isNull():
            return
        painter = QPainter(self.viewport())
        painter.setFont(self.font())
        corner = QPoint(self.columnViewportPosition(0), self.rowViewportPosition(0))
        side, area, has_focus = self.columnWidth(0), self.viewport().size(), self.hasFocus()
        TilePainter(painter, plan, self._look, side, corner, area).paint(self.current, has_focus=has_focus)
        if has_focus:
            painter.setPen(QPen(QColor(current_theme().accent), 2))
            painter.drawRect(self.viewport().rect().adjusted(1, 1, -1, -1))
        painter.end()

    def _words(self, row: int, column: int) -> str:
        cell = self.cell_of(self.texts.index(row, column))
        return cell_sentence(self.plan, *cell) if self.plan is not None and cell else ""

    def _colour(self) -> None:
        self._look = look_of(self.plan, self._colour_by, current_theme())
        self.viewport().update()

    def _fit(self) -> None:
        # First the rulers, which leave the room for the cells; then how far these are scrolled.
        self.updateGeometries()
        self.set_cell_size(self.cell_size, self.cell_size)
        self.updateGeometries()

    def _moved(self) -> None:
        self.setAccessibleDescription(" ".join(self.sentences()))
        self.viewport().update()
        self.current_changed.emit()


class _Ruler(QHeaderView):
    """The numbers of rows or columns, as many as there is room for."""

    def __init__(self, orientation: Qt.Orientation, grid: TileGrid) -> None:
        super().__init__(orientation, grid)
        self.setFont(small_font())
        self.setMinimumSectionSize(1)
        self.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.viewport().setAutoFillBackground(False)

    def _label(self, section: int) -> str:
        return str(self.model().headerData(section, self.orientation()))

    def _widest(self) -> int:
        ends = {0, self.count() - 1} if self.count() else set()
        return max(self.fontMetrics().horizontalAdvance(text) for text in ("-99", *map(self._label, ends)))

    def sizeHint(self) -> QSize:
        return QSize(self._widest() + GRID, self.fontMetrics().height() + HALF_GRID)

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.count():
            return
        painter = QPainter(self.viewport())
        painter.setPen(QColor(current_theme().muted))
        is_across = self.orientation() == Qt.Orientation.Horizontal
        size, high, wide = self.sectionSize(0), self.fontMetrics().height(), self._widest()
        every = math.ceil((wide + HALF_GRID if is_across else high) / size)
        # Of the three rows with results the last is named.
        every = min(every, 2) if self.count() <= 3 else every
        for section in range(0, self.count(), every):
            middle = self.sectionViewportPosition(section) + size // 2
            if middle < 0:
                continue
            if is_across:
                # Whole at the left edge too.
                half = min(wide, middle)
                place = QRect(middle - half, 0, half + wide, high)
                align = Qt.AlignmentFlag.AlignHCenter if half == wide else Qt.AlignmentFlag.AlignLeft
            else:
                place = QRect(0, middle - high, self.width() - HALF_GRID, 2 * high)
                align = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
            painter.drawText(place, int(align), self._label(section))
        painter.end()


class TileState(PassesQuestion[BlockTiles]):
    """The tile of one block of the chosen kernel, or the reason why there is none."""

    no_filter = (
        "Tiles are drawn of convolutions only.\n"
        "Choose Convolution under Operation to see who loads which cell."
    )
    no_picture = "Open a picture: the tile of a block of the chosen kernel appears here, cell by cell."
    no_engine = "The tile appears once the engine is up."
    asking = "Finding out who loads which cell."
    passes = "tiles"
    others = (
        "\n\nSelect another kernel in the list of kernels: blocks are interpreted, so it need not run here."
    )

    def __init__(self, selection: Selection, link: EngineLink) -> None:
        super().__init__(selection, link)
        # A block runs 0.1 s in the engine, and the next preview waits for it: not at each step of an edit.
        self._timer.setInterval(question.COMPILE_AFTER_MS)
        self._at: tuple[int, int] | None = None
        self._before = selection.known, selection.block  # the kernel and the block that both are of

    @property
    def plan(self) -> TilePlan | None:
        """The tile that is shown, of a pass or of a warp's strip; None with `words`."""
        return self.of_pass(self.answer)

    def choose_block(self, across: int, down: int) -> None:
        self._at = across, down
        self.ask_now()

    def _request_about(self, job: PictureJob) -> TileRequest:
        return TileRequest(job, self._at)

    def _ask(self) -> None:
        selection = self.selection
        before, self._before = self._before, (selection.known, selection.block)
        if before != self._before:
            self._at = None
            self._pass = self._pass if before[0] == selection.known else 0
        super()._ask()


_COLOUR_NAMES = dict(zip(ColourBy, ("Role", "Step of the load", "Thread that loads"), strict=True))
_COLOUR_TIP = (
    "What the colours show: the role of a cell in this block, the step in which it is loaded, or the thread "
    "that loads it. Hatched cells lie outside the picture; dotted ones are read from global memory directly."
)
_GRID_TIP = "Point at a cell, or use the arrow keys. + and - change the size, 0 fits it to the panel."
_SENTENCE_LINES = 3
_BESIDE_FROM = 48 * GRID  # with less width, what is side by side stands below one another


class TilePanel(QWidget):
    """The tile of one block, cell by cell."""

    def __init__(self, tile: TileState) -> None:
        super().__init__()
        self._tile = tile
        self.across = _coordinate_box("Block across", "counted from the left")
        self.down = _coordinate_box("Block down", "counted from above")
        self.grid_size = quiet_label()
        self.passes = NarrowBox("Pass", "Which pass of the kernel, or which warp's strip, is shown.", 8)
        self.colours = NarrowBox("Colours of the tile", _COLOUR_TIP, 8, _COLOUR_NAMES)
        self.grid = TileGrid()
        self.grid.setToolTip(_GRID_TIP)
        self.legend = Legend("What the colours of the tile mean")
        # They keep room for their lines, so that nothing jumps under the mouse.
        self.used, self.loaded = (
            ElidedLabel(_SENTENCE_LINES, most=_SENTENCE_LINES, is_plain=True, name=name)
            for name in ("Cells that the result uses", "Who loads the cell")
        )
        self.summary = ElidedLabel(most=4, small=True)
        self.refusal = RefusalLabel()
        self.refusal.setFont(small_font())
        sides = label_for("B&lock", self.across), self.across, self.down, self.grid_size
        controls = folding_row(row(*sides, spacing=HALF_GRID), self.passes, (self.colours, 1))
        words = boxed(column(self.legend, self.used, self.loaded, self.summary, 1, spacing=HALF_GRID))
        # The words beside the tile, which is wide and low, as the panel is.
        body = folding_row((self.grid, 3), (words, 2), beside_from=_BESIDE_FROM)
        parts = controls, self.refusal, (body, 1)
        self.stack = PlaceholderStack(boxed(column(*parts, spacing=HALF_GRID, margins=PANEL_MARGINS)))
        self.stack.label.setContentsMargins(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
        self.setLayout(column((self.stack, 1), margins=(0, HALF_GRID, 0, 0)))
        self.grid.current_changed.connect(self._show_current)
        self.passes.chosen.connect(tile.choose_pass)
        for box in (self.across, self.down):
            box.valueChanged.connect(lambda: tile.choose_block(self.across.value(), self.down.value()))
            box.refused.connect(self.refusal.say)
        for changed in (self.colours.currentIndexChanged, theme_notifier().changed):
            changed.connect(self._show_colours)
        follow(self._show, tile.changed)

    def _show(self) -> None:
        answer, plan = self._tile.answer, self._tile.plan
        self.stack.say(self._tile.words if plan is None else "")
        self.grid.show_plan(plan)
        if answer is None or plan is None:
            return
        self.refusal.say("")
        across, down = answer.grid
        self.across.show_place(answer.at[0], across)
        self.down.show_place(answer.at[1], down)
        fill_box(self.passes, dict(enumerate(one.title for one in answer.tiles)), self._tile.pass_number)
        self.passes.setVisible(len(answer.tiles) > 1)
        self.grid_size.setText(f"of {across:,} × {down:,}")
        other = self._tile.other
        compared = f"{other.variant}: {summary(other.tiles[0])}" if other and other.tiles else ""
        self.summary.setText(" ".join(filter(None, (summary(plan), compared))))
        self._show_colours()

    def _show_colours(self) -> None:
        by, plan = ColourBy(self.colours.currentData()), self._tile.plan
        self.grid.show_colours(by)
        self.legend.show_entries(legend_of(plan, by, current_theme()) if plan is not None else [])

    def _show_current(self) -> None:
        for label, text in zip((self.used, self.loaded), self.grid.sentences(), strict=True):
            label.setText(text)


def _coordinate_box(name: str, how: str) -> NumberBox:
    box = NumberBox(name, 0, 0, "a whole number")
    box.setToolTip(f"{name}: the index of the block in the grid, {how}, from 0.")
    box.setMinimumWidth(box.fontMetrics().horizontalAdvance("9,999") + 4 * GRID)
    return box

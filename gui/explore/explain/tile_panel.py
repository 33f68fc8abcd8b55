"""The panel Tile: a block of the selected kernel, its cells, their meaning in colours and in words."""

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QWidget

from gui.explore.explain.tile_grid import TileGrid
from gui.explore.explain.tile_painter import ColourBy, legend_of, summary
from gui.explore.explain.tile_state import TileState
from gui.style.metrics import GRID, HALF_GRID, small_font
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.fields import NumberBox
from gui.widgets.labels import ElidedLabel, Legend
from gui.widgets.panel_parts import (
    Placeholder,
    Refusal,
    column,
    fill_box,
    folding_row,
    icon_button,
    label_for,
    narrow_box,
    quiet_label,
    row,
)

_COLOUR_NAMES = {
    ColourBy.ROLE: "Role",
    ColourBy.STEP: "Step of the load",
    ColourBy.THREAD: "Thread that loads",
}
_COLOUR_TIP = (
    "What the colours show: the role of a cell in this block, the step in which it is loaded, or the thread "
    "that loads it. Hatched cells lie outside the picture; dotted ones are read from global memory directly."
)
_GRID_TIP = "Point at a cell, or use the arrow keys. + and - change the size, 0 fits it to the panel."
_SENTENCE_LINES = 3
# With less width, what is side by side stands below one another.
_BESIDE_FROM = 48 * GRID


class TilePanel(QWidget):
    """The tile of one block, cell by cell."""

    def __init__(self, tile: TileState) -> None:
        super().__init__()
        self._tile = tile
        self.across = _CoordinateBox("Block across", "counted from the left")
        self.down = _CoordinateBox("Block down", "counted from above")
        self.grid_size = quiet_label()
        self.passes = narrow_box("Pass", "Which pass of the kernel, or which warp's strip, is shown.", 8)
        self.colours = narrow_box("Colours of the tile", _COLOUR_TIP, 8)
        self.zoom_out = icon_button("zoom-out", "Smaller cells", "Smaller cells (-)")
        self.zoom_in = icon_button("zoom-in", "Larger cells", "Larger cells (+)")
        self.zoom_fit = icon_button("zoom-fit", "Fit the tile to the panel", "Fit the tile to the panel (0)")
        self.grid = TileGrid()
        self.legend = Legend("What the colours of the tile mean")
        # They keep room for their lines, so that nothing jumps under the mouse.
        self.used, self.loaded = (ElidedLabel(_SENTENCE_LINES, most=_SENTENCE_LINES) for _ in range(2))
        self.summary = ElidedLabel(most=4, small=True)
        self.refusal = Refusal()
        self.refusal.setFont(small_font())
        self._build()
        tile.changed.connect(self._show)
        self.grid.current_changed.connect(self._show_current)
        self.passes.activated.connect(tile.choose_pass)
        self.colours.currentIndexChanged.connect(self._show_colours)
        for box in (self.across, self.down):
            box.valueChanged.connect(self._choose_block)
            box.refused.connect(self.refusal.say)
        self.zoom_in.clicked.connect(lambda: self.grid.zoom(1))
        self.zoom_out.clicked.connect(lambda: self.grid.zoom(-1))
        self.zoom_fit.clicked.connect(lambda: self.grid.zoom(0))
        theme_notifier().changed.connect(self._show_colours)
        self._show()

    def _choose_block(self) -> None:
        self._tile.choose_block(self.across.value(), self.down.value())

    def _show(self) -> None:
        found, plan = self._tile.found, self._tile.plan
        self.stack.say(self._tile.words if plan is None else "")
        self.grid.show_plan(plan)
        if found is None or plan is None:
            return
        self.refusal.say("")
        across, down = found.grid
        self.across.show_place(found.at[0], across)
        self.down.show_place(found.at[1], down)
        fill_box(self.passes, dict(enumerate(one.title for one in found.tiles)), self._tile.pass_number)
        self.passes.setVisible(len(found.tiles) > 1)
        self.grid_size.setText(f"of {across:,} × {down:,}")
        self._show_colours()

    def _show_colours(self) -> None:
        by = ColourBy(self.colours.currentData())
        self.grid.show_colours(by)
        plan = self._tile.plan
        self.legend.show_entries(legend_of(plan, by, current_theme()) if plan is not None else [])
        self._show_summary()

    def _show_summary(self) -> None:
        plan = self._tile.plan
        if plan is not None:
            other = self._tile.other
            compared = f"{other.variant}: {summary(other.tiles[0])}" if other and other.tiles else ""
            self.summary.setText(" ".join(filter(None, (summary(plan), compared))))

    def _show_current(self) -> None:
        self._tile.look_at(self.grid.current)
        for label, text in zip((self.used, self.loaded), self.grid.sentences(), strict=True):
            label.setText(text)
            label.setToolTip(text)

    def _build(self) -> None:
        self.grid.setToolTip(_GRID_TIP)
        for sentence in (self.used, self.loaded):
            sentence.setForegroundRole(QPalette.ColorRole.WindowText)
        self.used.setAccessibleName("Cells that the result uses")
        self.loaded.setAccessibleName("Who loads the cell")
        fill_box(self.colours, _COLOUR_NAMES, ColourBy.ROLE)
        sides = label_for("B&lock", self.across), self.across, self.down, self.grid_size
        coordinates = row(*sides, spacing=HALF_GRID)
        buttons = self.zoom_out, self.zoom_in, self.zoom_fit
        look = row((self.colours, 1), *buttons, spacing=HALF_GRID)
        controls = folding_row(coordinates, self.passes, (look, 1))
        said = self.legend, self.used, self.loaded, self.summary
        words = QWidget()
        words.setLayout(column(*said, 1, spacing=HALF_GRID))
        # The words beside the tile, which is wide and low, as the panel is.
        body = folding_row((self.grid, 3), (words, 2), beside_from=_BESIDE_FROM)
        cells = QWidget()
        parts = controls, self.refusal, (body, 1)
        cells.setLayout(column(*parts, spacing=HALF_GRID, margins=(GRID, 0, GRID, HALF_GRID)))
        self.stack = Placeholder(cells)
        self.stack.label.setContentsMargins(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
        self.setLayout(column((self.stack, 1), margins=(0, HALF_GRID, 0, 0)))


class _CoordinateBox(NumberBox):
    """The index of a block in the grid along one side."""

    def __init__(self, name: str, how: str) -> None:
        super().__init__(name, 0, 0, "a whole number")
        self.setToolTip(f"{name}: the index of the block in the grid, {how}, from 0.")
        self.setMinimumWidth(self.fontMetrics().horizontalAdvance("9,999") + 4 * GRID)

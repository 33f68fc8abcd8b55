"""Every layer's values of the drawing as pictures, from the first convolution to the ten scores."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QImage, QKeyEvent, QMouseEvent, QPainter, QPaintEvent, QPen, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from engine.tasks.network.problem import LAYERS, Layer
from gui.network import layers
from gui.network.drawing import draw_frames, picture_of, shades
from gui.network.network_state import NetworkState
from gui.style.metrics import GRID, HALF_GRID, follow, number_font, scaled_font
from gui.style.theme import cell_background, current_theme, readable_text, theme_notifier
from gui.widgets.labels import ElidedLabel
from gui.widgets.number_table import short_number
from gui.widgets.panel_parts import ROUND_MARGINS, PlaceholderStack, boxed, column, quiet_label, row, scrolled

# With 22 maps in a line, 64 of them take three lines in a window of 1280 pixels.
_GAP = 3
# So few values of a vector are written in their cells, as the ten scores are.
_FEW = 16
_STRIP_ROW = 2 * GRID
_SCORE_ROW = 4 * GRID
_KEYS = (
    "Arrow keys choose a cell, Page Up and Page Down a map, Home and End the first and the last map, "
    "Esc releases the cell."
)
_FAR = 10_000
# Maps, rows and columns that a key goes on.
_STEPS = {
    Qt.Key.Key_Left: (0, 0, -1),
    Qt.Key.Key_Right: (0, 0, 1),
    Qt.Key.Key_Up: (0, -1, 0),
    Qt.Key.Key_Down: (0, 1, 0),
    Qt.Key.Key_PageUp: (-1, 0, 0),
    Qt.Key.Key_PageDown: (1, 0, 0),
    Qt.Key.Key_Home: (-_FAR, 0, 0),
    Qt.Key.Key_End: (_FAR, 0, 0),
}
Window = tuple[int | None, range, range]
"""A map, or None for all of them, and its rows and columns."""


def is_scores(layer: Layer) -> bool:
    """Return whether a layer gives so few values that each is written."""
    return layers.is_vector(layer) and layer.values <= _FEW


@dataclass(frozen=True, slots=True)
class MapGrid:
    """Maps of some cells, sizes in pixels; a vector is one map, whose last row may lack some values."""

    layer: Layer
    maps: int
    rows: int
    columns: int
    cell_width: int
    cell_height: int
    per_line: int

    @property
    def height(self) -> int:
        return math.ceil(self.maps / self.per_line) * (self.rows * self.cell_height + _GAP) - _GAP

    def map_rect(self, number: int) -> QRectF:
        width, height = self.columns * self.cell_width, self.rows * self.cell_height
        down, across = divmod(number, self.per_line)
        return QRectF(1 + across * (width + _GAP), 1 + down * (height + _GAP), width, height)

    def window_rect(self, number: int, rows: range, columns: range) -> QRectF:
        wide, high = self.cell_width, self.cell_height
        corner = self.map_rect(number).topLeft() + QPointF(columns.start * wide, rows.start * high)
        return QRectF(corner.x(), corner.y(), len(columns) * wide, len(rows) * high)

    def cell_rect(self, cell: layers.LayerCell) -> QRectF:
        down, column = divmod(cell.column, self.columns)
        row = cell.row + down
        return self.window_rect(cell.map, range(row, row + 1), range(column, column + 1))

    def cell_at(self, point: QPointF, position: int) -> layers.LayerCell | None:
        """Return the cell of a layer under a point; None between maps."""
        number = next((at for at in range(self.maps) if self.map_rect(at).contains(point)), None)
        if number is None:
            return None
        inside = point - self.map_rect(number).topLeft()
        # The right and the lower edge belong to the last cells.
        row = min(int(inside.y() // self.cell_height), self.rows - 1)
        column = min(int(inside.x() // self.cell_width), self.columns - 1)
        if not layers.is_vector(self.layer):
            return layers.LayerCell(position, number, row, column)
        value = row * self.columns + column
        return layers.LayerCell(position, column=value) if value < self.layer.values else None


def grid_of(layer: Layer, side: int, width: int) -> MapGrid:
    """Return where the maps of a layer stand in so much width, each about `side` pixels wide."""
    if layers.is_vector(layer):
        columns = layer.values
        while not is_scores(layer) and columns > _FEW and width // columns < GRID:
            # Thin cells stand in two lines or more.
            columns = math.ceil(columns / 2)
        cell = max(1, (width - 2) // columns), _SCORE_ROW if is_scores(layer) else _STRIP_ROW
        return MapGrid(layer, 1, math.ceil(layer.values / columns), columns, *cell, per_line=1)
    maps, rows, columns = layer.shape
    scale = max(1, round(side / max(rows, columns)))
    most = max(1, min(maps, (width + _GAP) // (scale * columns + _GAP)))
    # Lines are alike: a number that divides all of them, where there is one.
    per_line = math.ceil(maps / math.ceil(maps / most))
    return MapGrid(layer, maps, rows, columns, scale, scale, per_line)


class LayerView(QWidget):
    """The maps of a layer side by side, or a vector as a strip: mouse and keys choose the cell of the state.

    All maps of a layer share one scale, from 0 to the layer's largest value.
    """

    def __init__(self, network: NetworkState, layer: Layer, position: int) -> None:
        super().__init__(focusPolicy=Qt.FocusPolicy.StrongFocus, mouseTracking=True)
        self._network = network
        self.layer, self.position = layer, position
        self.grid = grid_of(layer, 1, 1)
        self._values: layers.Floats | None = None
        self._images: list[QImage] = []
        self._cell: layers.LayerCell | None = None
        self._window: Window | None = None
        self._shown: int | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(f"{layer.title}: {layers.shape_text(layer)}")
        self.setAccessibleDescription(_KEYS)
        self.setToolTip(f"Point at a cell to see where its value comes from; a click keeps it. {_KEYS}")
        theme_notifier().changed.connect(self._paint_images)

    def show_values(self, values: layers.Floats | None) -> None:
        self._values = values
        self._paint_images()

    def mark(
        self, cell: layers.LayerCell | None, window: Window | None, shown: int | None, words: str
    ) -> None:
        """Mark the chosen cell of this layer, or the window behind it; `shown` is the map in figures."""
        self.setAccessibleDescription(f"{words} {_KEYS}".strip())
        if (cell, window, shown) != (self._cell, self._window, self._shown):
            self._cell, self._window, self._shown = cell, window, shown
            self.update()

    def show_grid(self, grid: MapGrid) -> None:
        self.grid = grid
        self.setFixedHeight(grid.height + 2)
        self._paint_images()

    def sizeHint(self) -> QSize:
        return QSize(60 * GRID, self.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
        theme, grid = current_theme(), self.grid
        if self._values is not None and is_scores(self.layer):
            self._paint_scores(painter, self._values)
        for number, image in enumerate(self._images):
            painter.drawImage(grid.map_rect(number), image)
        painter.setPen(QPen(QColor(theme.line), 1))
        if self._values is not None and layers.is_vector(self.layer):
            painter.drawRects(list(self._cell_rects()))
        for number in range(len(self._images)):
            painter.drawRect(grid.map_rect(number).adjusted(-0.5, -0.5, 0.5, 0.5))
        if self._window is not None:
            draw_frames(painter, self._window_frames(self._window), theme, 1)
            if self._shown is not None:
                draw_frames(painter, self._window_frames((self._shown, *self._window[1:])), theme, 3)
        if self._cell is not None:
            draw_frames(painter, [grid.cell_rect(self._cell).adjusted(-1, -1, 1, 1)], theme, 2)
        if self.hasFocus():
            painter.setPen(QPen(QColor(theme.accent), 1, Qt.PenStyle.DotLine))
            painter.drawRect(self.rect().adjusted(0, 0, -1, -1))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        cell = self.grid.cell_at(event.position(), self.position)
        if cell is not None:
            self._network.point(cell)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        cell = self.grid.cell_at(event.position(), self.position)
        if event.button() != Qt.MouseButton.LeftButton or cell is None:
            return
        if self._network.is_kept and cell == self._cell:
            self._network.release_cell()
        else:
            self._network.point(cell, keep=True)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, keys = Qt.Key(event.key()), Qt.Key
        if key == keys.Key_Escape and self._network.is_kept:
            self._network.release_cell()
        elif key in _STEPS:
            self._network.point(self._stepped(key), keep=True)
        else:
            super().keyPressEvent(event)

    def _stepped(self, key: Qt.Key) -> layers.LayerCell:
        at = self._cell or layers.LayerCell(self.position)
        (maps, rows, columns), limits = _STEPS[key], self.layer.shape
        if layers.is_vector(self.layer):
            columns += rows * self.grid.columns + (maps if abs(maps) == _FAR else 0)
            limits = 1, 1, self.layer.values
        moved = zip((at.map + maps, at.row + rows, at.column + columns), limits, strict=True)
        return layers.LayerCell(self.position, *(min(max(to, 0), most - 1) for to, most in moved))

    def _paint_images(self) -> None:
        self._images = []
        if self._values is not None and not is_scores(self.layer):
            colours, values, grid = shades(current_theme()), self._values, self.grid
            if layers.is_vector(self.layer):
                lacking = grid.rows * grid.columns - values.size
                values = np.pad(values, (0, lacking)).reshape(1, grid.rows, grid.columns)
            # Negative ones are 0.
            shares = values / values.max() if values.max() > 0 else np.zeros_like(values)
            steps = np.rint(np.clip(shares, 0.0, 1.0) * 255.0).astype(np.uint8)
            self._images = [picture_of(one, colours) for one in steps]
        self.update()

    def _cell_rects(self) -> Iterator[QRectF]:
        for at in range(self.layer.values):
            yield self.grid.cell_rect(layers.LayerCell(self.position, column=at))

    def _paint_scores(self, painter: QPainter, values: layers.Floats) -> None:
        theme, largest = current_theme(), float(abs(values).max())
        painter.setFont(number_font())
        for at, (rect, value) in enumerate(zip(self._cell_rects(), values.tolist(), strict=True)):
            ground = cell_background(value, largest, theme)
            painter.fillRect(rect, ground)
            painter.setPen(readable_text(ground, theme))
            painter.drawText(rect, int(Qt.AlignmentFlag.AlignCenter), f"{at}\n{short_number(value)}")

    def _window_frames(self, window: Window) -> Iterator[QRectF]:
        chosen, rows, columns = window
        for number in range(self.grid.maps) if chosen is None else [chosen]:
            if layers.is_vector(self.layer):
                yield self.grid.map_rect(number)
            else:
                yield self.grid.window_rect(number, rows, columns)


_STARTING = "The network is shown here once the engine is ready."
_SIDES = range(12 * GRID, 3 * GRID - 1, -HALF_GRID)
"""Sides of a map, pixels, the largest first: that which fits the panel is taken."""


class MapsPanel(QWidget):
    """A picture for each map; the chosen cell and the windows that it comes from are marked."""

    def __init__(self, network: NetworkState) -> None:
        super().__init__()
        self._network = network
        # Now, not with the engine's facts: widgets made later come last for Tab.
        self.views = [LayerView(network, layer, at) for at, layer in enumerate(LAYERS)]
        self._titles = [_title_of(view) for view in self.views]
        parts = chain.from_iterable(zip(self._titles, self.views, strict=True))
        self._area = scrolled(boxed(column(*parts, 1, spacing=HALF_GRID, margins=ROUND_MARGINS)))
        self.stack = PlaceholderStack(self._area)
        self.empty_text = self.stack.label
        self.empty_text.setContentsMargins(4 * GRID, GRID, 4 * GRID, GRID)
        self.setLayout(column(self.stack))
        network.cell_changed.connect(self._mark)
        follow(self._show, network.facts_changed, network.answer_changed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _show(self) -> None:
        network = self._network
        has_values = network.answer is not None and network.facts is not None
        why_not = network.why_no_answer or "The drawing is being recognised."
        if network.facts is None:
            why_not = network.why_no_facts or _STARTING
        self.stack.say("" if has_values else why_not)
        for view in self.views:
            view.show_values(network.answer.values[view.position] if network.answer else None)
        self._mark()

    def _mark(self) -> None:
        network = self._network
        cell, facts, origin = network.cell, network.facts, network.shown_origin
        marks: dict[int, tuple[layers.LayerCell | None, Window | None, int | None, str]] = {}
        if facts is not None and cell is not None and origin is not None:
            words = layers.where_from(facts, cell, network.value_of(cell), network.all_origins())
            marks[cell.layer] = cell, None, None, f"{layers.cell_name(facts.layers, cell)}: {words}"
            for at, rows, columns in layers.windows(facts.layers, cell):
                # A pool keeps maps apart; a convolution and a connected layer take all input maps.
                is_apart = all(map(layers.is_pool, facts.layers[at + 1 : cell.layer + 1]))
                window = cell.map if is_apart else None, rows, columns
                marks[at] = None, window, origin.map if origin.before == at else None, ""
        for view in self.views:
            view.mark(*marks.get(view.position, (None, None, None, "")))

    def _fit(self) -> None:
        """Take the largest maps with which all layers are in view, or else the smallest."""
        width, free_height = self.width() - 2 * GRID, self.height() - GRID
        titles = sum(title.sizeHint().height() for title in self._titles)
        free_height -= titles + HALF_GRID * 2 * len(self.views) + 2 * len(self.views)
        for side in _SIDES:
            grids = [grid_of(view.layer, side, width) for view in self.views]
            if sum(grid.height for grid in grids) <= free_height:
                break
        else:
            width -= self._area.verticalScrollBar().sizeHint().width()
            grids = [grid_of(view.layer, _SIDES[-1], width) for view in self.views]
        for view, grid in zip(self.views, grids, strict=True):
            view.show_grid(grid)


def _title_of(view: LayerView) -> QWidget:
    """Return the name of a layer, and what it gives and how, which is cut where there is no room."""
    name, details = quiet_label(view.layer.title), ElidedLabel(small=True)
    name.setFont(scaled_font(0.9, bold=True))
    name.setBuddy(view)
    before = layers.name_of(LAYERS, view.position - 1)
    how = f"5 × 5 filters on {'all maps of ' * (view.position > 0)}{before}"
    if layers.is_pool(view.layer):
        how = "averages of 2 × 2 cells"
    elif layers.is_vector(view.layer):
        how = f"weighted sums of all values of {before}"
    details.setText(f"{layers.shape_text(view.layer)} · {how}")
    return boxed(row(name, (details, 1), spacing=2 * GRID))

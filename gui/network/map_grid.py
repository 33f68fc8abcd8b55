"""Where the maps of a layer stand: maps of one size side by side in lines, a vector as lines of cells."""

import math
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF

from engine.tasks.network.problem import Layer
from gui.network.layers import Cell, is_vector
from gui.style.metrics import GRID

# With 22 maps in a line, 64 of them take three lines in a window of 1280 pixels.
_GAP = 3
# So few values of a vector are written in their cells, as the ten scores are.
_FEW = 16
_STRIP_ROW = 2 * GRID
_SCORE_ROW = 4 * GRID


def is_scores(layer: Layer) -> bool:
    """Return whether a layer gives so few values that each is written."""
    return is_vector(layer) and layer.values <= _FEW


@dataclass(frozen=True, slots=True)
class MapGrid:
    """Maps of some cells; of a vector the one map has its values row by row, of which the last may lack some.

    `cell_width` and `cell_height` are in pixels, `per_line` counts maps.
    """

    layer: Layer
    maps: int
    rows: int
    columns: int
    cell_width: int
    cell_height: int
    per_line: int

    @property
    def height(self) -> int:
        """Height of all maps, pixels."""
        return math.ceil(self.maps / self.per_line) * (self.rows * self.cell_height + _GAP) - _GAP

    def map_rect(self, number: int) -> QRectF:
        """Return where a map is."""
        width, height = self.columns * self.cell_width, self.rows * self.cell_height
        down, across = divmod(number, self.per_line)
        return QRectF(1 + across * (width + _GAP), 1 + down * (height + _GAP), width, height)

    def window_rect(self, number: int, rows: range, columns: range) -> QRectF:
        """Return where some cells of a map are."""
        corner = self.map_rect(number).topLeft()
        left, top = columns.start * self.cell_width, rows.start * self.cell_height
        return QRectF(
            corner.x() + left, corner.y() + top, len(columns) * self.cell_width, len(rows) * self.cell_height
        )

    def cell_rect(self, cell: Cell) -> QRectF:
        """Return where a cell is."""
        down, column = divmod(cell.column, self.columns)
        row = cell.row + down
        return self.window_rect(cell.map, range(row, row + 1), range(column, column + 1))

    def cell_at(self, point: QPointF, position: int) -> Cell | None:
        """Return the cell of a layer under a point; None between maps."""
        width, height = self.columns * self.cell_width + _GAP, self.rows * self.cell_height + _GAP
        across, down = int((point.x() - 1) // width), int((point.y() - 1) // height)
        number = down * self.per_line + across
        if not (0 <= across < self.per_line and 0 <= number < self.maps):
            return None
        corner = self.map_rect(number).topLeft()
        row = int((point.y() - corner.y()) // self.cell_height)
        column = int((point.x() - corner.x()) // self.cell_width)
        if row >= self.rows or column >= self.columns:
            return None
        if not is_vector(self.layer):
            return Cell(position, number, row, column)
        value = row * self.columns + column
        return Cell(position, column=value) if value < self.layer.values else None


def grid_of(layer: Layer, side: int, width: int) -> MapGrid:
    """Return where the maps of a layer stand in so much width, each about `side` pixels wide."""
    if is_vector(layer):
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

"""Paints a map of blocks: cells, names of rows and columns, the best one, the legend."""

import math
from dataclasses import dataclass

from PySide6.QtCore import QRectF, QSizeF, Qt
from PySide6.QtGui import QBrush, QColor, QFontMetricsF, QLinearGradient, QPainter, QPen

from engine.geometry.block import Block
from gui.explore.blocks.map_cells import BlockMapData, Kind, MapCell
from gui.style.heat import HEAT, heat, text_on
from gui.style.metrics import GRID, HALF_GRID, number_font, small_font
from gui.style.theme import Theme

# Beyond this the map does not tell times apart: a block of one thread would leave one colour for the rest.
_MOST_RATIO = 8.0
_LEAST_RATIO = 1.25
_STAR = "★"
_CORNER = "y \\ x"
_LEGEND_FROM_WIDTH = 34 * GRID
_MOST_CELL = QSizeF(12 * GRID, 6 * GRID)
_MOST_ASPECT = 2.5
_LEAST_WIDTH = 2.0 * GRID
_SWATCH = GRID + HALF_GRID
_LINE = 2 * GRID + 2
_CENTRE = Qt.AlignmentFlag.AlignCenter
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
_RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
_SIGNS = {Kind.WAITING: "·", Kind.NO_NUMBER: "✓", Kind.FAILED: "!", Kind.REFUSED: "✕"}


@dataclass(frozen=True, slots=True)
class MapFrame:
    """Where things lie: the area of the cells, a cell's size, the left edge of the legend."""

    area: QRectF
    cell: QSizeF
    legend: float

    def rect(self, column: int, row: int) -> QRectF:
        """Return a cell in whole pixels, with a pixel between neighbours; row 0 is the lowest."""
        left, right = (round(self.area.left() + at * self.cell.width()) for at in (column, column + 1))
        bottom, top = (round(self.area.bottom() - at * self.cell.height()) for at in (row, row + 1))
        return QRectF(left, top, right - left - 1, bottom - top - 1)


def frame_of(data: BlockMapData, width: float, height: float) -> MapFrame:
    """Return where a map lies in a widget of that size; the legend is left out where it has no room."""
    metrics = QFontMetricsF(number_font())
    left = max(metrics.horizontalAdvance(name) for name in (_CORNER, *map(str, data.ys))) + GRID
    legend = width - _legend_width(data) if width >= _LEGEND_FROM_WIDTH else width
    bottom = height - metrics.height() - HALF_GRID
    columns, rows = max(1, len(data.xs)), max(1, len(data.ys))
    cell = QSizeF((legend - left - GRID) / columns, (bottom - HALF_GRID) / rows).boundedTo(_MOST_CELL)
    # Room for a number, else not much wider than high.
    cell.setWidth(min(cell.width(), max(_MOST_ASPECT * cell.height(), _LEAST_WIDTH)))
    area = QRectF(left, bottom - rows * cell.height(), columns * cell.width(), rows * cell.height())
    return MapFrame(area, cell, min(legend, area.right() + GRID))


def paint_map(
    painter: QPainter, data: BlockMapData, frame: MapFrame, size: QSizeF, marks: "Marks", theme: Theme
) -> None:
    """Paint a map; 200 cells take 2 ms."""
    painter.setFont(number_font())
    _paint_names(painter, data, frame, size, theme)
    places = {
        Block(x, y): frame.rect(column, row)
        for column, x in enumerate(data.xs)
        for row, y in enumerate(data.ys)
    }
    for block, rect in places.items():
        _paint_cell(painter, rect, data, block, theme)
    if marks.loaded in places:
        # Two lines: one of them is seen on any colour.
        for inset, colour in ((-1.0, theme.accent), (0.0, theme.base)):
            painter.setPen(QPen(QColor(colour), 1))
            painter.drawRect(places[marks.loaded].adjusted(inset, inset, -inset - 1, -inset - 1))
    if marks.cursor in places:
        painter.setPen(QPen(QColor(theme.text), 1, Qt.PenStyle.DotLine))
        painter.drawRect(places[marks.cursor].adjusted(-1, -1, 0, 0))
    if frame.legend < size.width():
        _paint_legend(painter, data, frame, size, theme)


@dataclass(frozen=True, slots=True)
class Marks:
    """The block of the workspace, and the one that the keyboard is at."""

    loaded: Block | None
    cursor: Block | None


def _paint_names(painter: QPainter, data: BlockMapData, frame: MapFrame, size: QSizeF, theme: Theme) -> None:
    """Write widths below the columns and heights left of the rows, as many as have room."""
    metrics = QFontMetricsF(painter.font())
    area, ends = frame.area, frame.area.left() - HALF_GRID
    below, high = area.bottom() + 1, metrics.height()
    painter.setPen(QColor(theme.muted))
    painter.drawText(QRectF(0, below, ends, high), _RIGHT, _CORNER)
    free_from = ends + HALF_GRID / 2
    for column, x in enumerate(data.xs):
        centre, half = frame.rect(column, 0).center().x(), metrics.horizontalAdvance(str(x)) / 2
        if centre - half >= free_from:
            painter.drawText(QRectF(centre - half - 1, below, 2 * half + 2, high), _CENTRE, str(x))
            free_from = centre + half + HALF_GRID
    free_to = size.height()
    for row, y in enumerate(data.ys):
        centre = frame.rect(0, row).center().y()
        if centre + high / 2 - 2 <= free_to:
            painter.drawText(QRectF(0, centre - high / 2, ends, high), _RIGHT, str(y))
            free_to = centre - high / 2 + 2


def _paint_cell(painter: QPainter, rect: QRectF, data: BlockMapData, block: Block, theme: Theme) -> None:
    cell: MapCell = data.cells[block]
    if cell.kind is not Kind.VALUE:
        _paint_kind(painter, rect, cell.kind, theme)
        return
    colour = _colour(data, cell)
    painter.fillRect(rect, colour)
    painter.setPen(text_on(colour))
    is_best = block == data.best
    number = data.text(block)
    for text in (f"{_STAR} {number}", f"{_STAR}{number}", _STAR) if is_best else (number,):
        metrics = QFontMetricsF(painter.font())
        fits = metrics.horizontalAdvance(text) <= rect.width() - 2 and metrics.height() <= rect.height() + 4
        # The star is seen also where it is larger than its cell.
        if fits or text == _STAR:
            painter.drawText(rect.adjusted(-GRID, -GRID, GRID, GRID), _CENTRE, text)
            return


def _paint_kind(painter: QPainter, rect: QRectF, kind: Kind, theme: Theme) -> None:
    """Paint a cell that has no value by what it is: a pattern or a sign, never a colour alone."""
    if kind is Kind.NOT_CHOSEN:
        painter.setPen(QPen(QColor(theme.line), 1))
        painter.drawRect(rect.adjusted(0, 0, -1, -1))
    elif kind is Kind.ILLEGAL:
        painter.fillRect(rect, QBrush(QColor(theme.outline), Qt.BrushStyle.BDiagPattern))
    else:
        painter.fillRect(rect, QColor(theme.raised))
        painter.setPen(QColor(theme.error if kind is Kind.FAILED else theme.muted))
        painter.drawText(rect.adjusted(-GRID, -GRID, GRID, GRID), _CENTRE, _SIGNS[kind])


def _colour(data: BlockMapData, cell: MapCell) -> QColor:
    span = math.log(min(max(data.worst_ratio, _LEAST_RATIO), _MOST_RATIO))
    return heat(1.0 - math.log(data.ratio(cell)) / span)


def _legend_kinds(data: BlockMapData) -> list[Kind]:
    kinds = {cell.kind for cell in data.cells.values()} - {Kind.VALUE}
    return [kind for kind in Kind if kind in kinds]


def _legend_width(data: BlockMapData) -> float:
    metrics = QFontMetricsF(small_font())
    words = (metrics.horizontalAdvance(kind) for kind in _legend_kinds(data))
    return max((*words, 7.0 * GRID)) + _SWATCH + 2 * GRID


def _paint_legend(painter: QPainter, data: BlockMapData, frame: MapFrame, size: QSizeF, theme: Theme) -> None:
    painter.setFont(small_font())
    high, top, left = QFontMetricsF(small_font()).height(), float(HALF_GRID), frame.legend
    width = size.width() - left - GRID
    if data.best:
        bar = QRectF(left, top, min(12.0 * GRID, width), _SWATCH)
        gradient = QLinearGradient(bar.topLeft(), bar.topRight())
        for number, colour in enumerate(reversed(HEAT)):
            gradient.setColorAt(number / (len(HEAT) - 1), QColor(colour))
        painter.fillRect(bar, gradient)
        worst = max(data.worst_ratio, _LEAST_RATIO)
        painter.setPen(QColor(theme.muted))
        line = QRectF(bar.left(), bar.bottom() + 1, bar.width(), high)
        painter.drawText(line, _LEFT, f"{_STAR} best")
        painter.drawText(line, _RIGHT, f"≥{_MOST_RATIO:g}×" if worst >= _MOST_RATIO else f"{worst:.2g}×")
        top = line.bottom() + HALF_GRID
        # Only where cells have room for one.
        if data.unit and frame.cell.height() >= high:
            painter.drawText(QRectF(left, top, width, _LINE), _LEFT, f"numbers in {data.unit}")
            top += _LINE
    for kind in _legend_kinds(data):
        if top + _LINE > size.height():
            return
        painter.setFont(number_font())
        _paint_kind(painter, QRectF(left, top + (_LINE - _SWATCH) // 2, _SWATCH, _SWATCH), kind, theme)
        painter.setFont(small_font())
        painter.setPen(QColor(theme.muted))
        painter.drawText(QRectF(left + _SWATCH + HALF_GRID, top, width, _LINE), _LEFT, str(kind))
        top += _LINE

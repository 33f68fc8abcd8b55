"""Original and result as layers: which part of the pane each takes, and how one is painted."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import product
from typing import NamedTuple

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen

from engine.results.answer import Mark
from engine.verify.verification import Region
from gui.explore.picture.levels import PictureLevels
from gui.explore.picture.view import ViewTransform
from gui.style.metrics import GRID, HALF_GRID, number_font
from gui.style.theme import current_theme

# Between two panes side by side, device pixels.
_GAP = 2
_NO_RESULT = "The result comes here."

# Device pixels per pixel of the picture; for numbers, of a screen without a scale factor.
_LINES_FROM_ZOOM = 16.0
_NUMBERS_FROM_ZOOM = 48.0

_LINE = QColor(128, 128, 128, 110)
_BRIGHT = 120


class ViewMode(StrEnum):
    """What is shown of original and result."""

    SPLIT = "split"
    SIDE_BY_SIDE = "side by side"
    ORIGINAL = "original"
    RESULT = "result"
    DIFFERENCE = "difference"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class CanvasLayer:
    """One picture on the canvas, and its place there in device pixels."""

    levels: PictureLevels | None
    label: str  # what it is, written on it
    texts: Callable[[int, int], tuple[str, ...]]  # returns the numbers of a row and a column
    empty: str = _NO_RESULT  # what is shown where there is nothing to paint
    is_right: bool = False  # whether the label stands at the right edge
    pane: QRectF = field(default_factory=QRectF)  # where the transform counts from
    clip: QRectF = field(default_factory=QRectF)  # the part of the canvas that it may paint on


def pane_width(mode: ViewMode, canvas_width: int) -> int:
    """Return the width that one picture has for itself, device pixels."""
    return max(1, (canvas_width - _GAP) // 2) if mode == ViewMode.SIDE_BY_SIDE else canvas_width


def arranged(
    mode: ViewMode,
    canvas: QRectF,
    split: float,
    original: CanvasLayer,
    result: CanvasLayer,
    difference: CanvasLayer,
) -> list[CanvasLayer]:
    """Return the layers that a mode shows, each with its place; `split` is that of the handle, 0 to 1."""
    if mode in (ViewMode.DIFFERENCE, ViewMode.ERROR):
        return [replace(difference, pane=canvas, clip=canvas)]
    if mode == ViewMode.RESULT:
        return [replace(result, pane=canvas, clip=canvas)]
    if mode == ViewMode.ORIGINAL or (mode == ViewMode.SPLIT and result.levels is None):
        return [replace(original, pane=canvas, clip=canvas)]
    left, right = QRectF(canvas), QRectF(canvas)
    if mode == ViewMode.SIDE_BY_SIDE:
        left.setWidth(pane_width(mode, round(canvas.width())))
        right.setLeft(canvas.right() - left.width())
        return [replace(original, pane=left, clip=left), replace(result, pane=right, clip=right)]
    left.setRight(round(split * canvas.width()))
    right.setLeft(left.right())
    return [replace(original, pane=canvas, clip=left), replace(result, pane=canvas, clip=right)]


Pixel = tuple[int, int]


class DragTool(StrEnum):
    """What dragging over the picture does."""

    PAN = "pan"
    REGION = "region"
    LINE = "line"

    def shape(self, first: Pixel, last: Pixel) -> "Region | PixelLine":
        """Return the line between two pixels, or the rectangle with them as corners; both are in it."""
        if self is DragTool.LINE:
            return PixelLine(first, last)
        (top, bottom), (left, right) = (sorted(ends) for ends in zip(first, last, strict=True))
        return Region(top, bottom + 1, left, right + 1)


class PixelLine(NamedTuple):
    """A straight line between two pixels (row, column), both on it."""

    first: Pixel
    last: Pixel


class LayerPainter:
    """Paints a layer, and what lies on it, in device pixels: `ratio` of them for one of the widget."""

    def __init__(
        self, painter: QPainter, layer: CanvasLayer, at: ViewTransform, font: QFont, ratio: float
    ) -> None:
        self._painter, self._layer, self._at, self._ratio = painter, layer, at, ratio
        self._font = QFont(font)
        self._font.setPointSizeF(font.pointSizeF() * ratio)
        painter.setClipRect(layer.clip)
        painter.translate(layer.pane.topLeft())

    def paint(self) -> None:
        """Paint the picture, its numbers where they have room, and what it is."""
        painter, layer, at, levels = self._painter, self._layer, self._at, self._layer.levels
        seen = layer.clip.translated(-layer.pane.topLeft())
        painter.setFont(self._font)
        if levels is None:
            painter.setPen(QColor(current_theme().muted))
            wrapped = int(Qt.AlignmentFlag.AlignCenter) | int(Qt.TextFlag.TextWordWrap)
            painter.drawText(seen.adjusted(GRID, GRID, -GRID, -GRID), wrapped, layer.empty)
        else:
            levels.paint(painter, at, seen)
            left, top, right, bottom = at.seen_in(seen)
            rows = range(max(0, math.floor(top)), min(int(levels.size.height), math.ceil(bottom)))
            columns = range(max(0, math.floor(left)), min(int(levels.size.width), math.ceil(right)))
            if rows and columns and at.zoom >= _LINES_FROM_ZOOM:
                self._paint_lines(rows, columns)
            if at.zoom >= _NUMBERS_FROM_ZOOM * self._ratio:
                self._paint_numbers(levels, rows, columns)
        painter.setFont(self._font)
        if levels is not None or layer.empty == _NO_RESULT:
            self._paint_label(seen)

    def mark(self, mark: Mark, text: str = "") -> None:
        """Frame a rectangle of the picture, such as the best match of a patch, and write a text at it."""
        frame, ratio = self._at.place_of(mark.row, mark.column, mark.height, mark.width), self._ratio
        # Beside the pixels, so that all of them are seen.
        frame.adjust(-ratio, -ratio, ratio, ratio)
        self._draw(frame, is_thick=True)
        if text:
            step, words = HALF_GRID * ratio, self._painter.fontMetrics().boundingRect(text)
            box = QRectF(0, 0, words.width() + 2 * step, words.height() + step)
            box.moveTopLeft(frame.bottomLeft())
            box.translate(0, step)
            if box.bottom() > self._layer.clip.bottom():
                box.moveBottom(frame.top() - step)
            self._paint_words(box, text, 0.0)

    def region(self, region: Region) -> None:
        """Frame a region in dashes."""
        height, width = region.bottom - region.top, region.right - region.left
        frame = self._at.place_of(region.top, region.left, height, width)
        self._draw(frame, is_dashed=True)

    def line(self, line: PixelLine) -> None:
        """Draw a line from the middle of one pixel to that of the other."""
        first, last = (self._at.to_pane(column + 0.5, row + 0.5) for row, column in line)
        self._draw(QLineF(*first, *last))

    def _draw(self, shape: QRectF | QLineF, *, is_thick: bool = False, is_dashed: bool = False) -> None:
        """Draw a frame or a line in the accent, dark around it: seen on any picture."""
        painter, theme, styles = self._painter, current_theme(), Qt.PenStyle
        painter.setBrush(Qt.BrushStyle.NoBrush)
        accent = theme.accent, 2.0 if is_thick else 1.5, styles.DashLine if is_dashed else styles.SolidLine
        for colour, width, line in ((theme.base, 5.0 if is_thick else 4.0, styles.SolidLine), accent):
            painter.setPen(QPen(QColor(colour), width * self._ratio, line, j=Qt.PenJoinStyle.MiterJoin))
            if isinstance(shape, QLineF):
                painter.drawLine(shape)
            else:
                painter.drawRect(shape)

    def _paint_label(self, seen: QRectF) -> None:
        painter, step = self._painter, GRID * self._ratio
        # In a narrow pane the end is left out: that it is an earlier result must be seen.
        width = round(seen.width() - 4 * step)
        words = painter.fontMetrics().elidedText(self._layer.label, Qt.TextElideMode.ElideRight, width)
        text = painter.fontMetrics().boundingRect(words)
        box = QRectF(0, step, text.width() + 2 * step, text.height() + step)
        box.moveLeft(seen.right() - step - box.width() if self._layer.is_right else seen.left() + step)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_words(box, words, step / 2)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)

    def _paint_words(self, box: QRectF, text: str, radius: float) -> None:
        painter = self._painter
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(current_theme().raised))
        painter.drawRoundedRect(box, radius, radius)
        painter.setPen(QColor(current_theme().text))
        painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)

    def _paint_lines(self, rows: range, columns: range) -> None:
        at = self._at
        left, top = at.to_pane(columns.start, rows.start)
        right, bottom = at.to_pane(columns.stop, rows.stop)
        xs = [left + n * at.zoom for n in range(len(columns) + 1)]
        ys = [top + n * at.zoom for n in range(len(rows) + 1)]
        lines = [QLineF(x, top, x, bottom) for x in xs] + [QLineF(left, y, right, y) for y in ys]
        self._painter.setPen(QPen(_LINE, 1))
        self._painter.drawLines(lines)

    def _paint_numbers(self, levels: PictureLevels, rows: range, columns: range) -> None:
        """Write its numbers into every pixel: black on bright pixels, white on dark ones."""
        font, painter = number_font(), self._painter
        # So that three channels fit.
        font.setPixelSize(round(self._ratio * max(9.0, min(16.0, self._at.zoom / self._ratio / 4.8))))
        painter.setFont(font)
        for at in product(rows, columns):
            painter.setPen(QColor("#000000" if levels.brightness(*at) > _BRIGHT else "#ffffff"))
            cell, texts = self._at.place_of(*at), self._layer.texts(*at)
            painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, "\n".join(texts))

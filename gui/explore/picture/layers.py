"""Original and result as layers: which part of the pane each takes, and how one is painted."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import NamedTuple

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter, QPen

from engine.results.problem import Mark
from engine.verify.verification import Region
from gui.explore.picture.levels import PictureLevels
from gui.explore.picture.view import Size, ViewTransform
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
# The frame of a mark, and the dark one around it.
_WIDTH, _AROUND = 2.0, 5.0


class ViewMode(StrEnum):
    """Each with its icon, and a sentence on what it shows."""

    icon_name: str
    sentence: str

    SPLIT = (
        "split", "compare",
        "One picture: the original left of the handle, the result right of it. Drag the handle.",
    )  # fmt: skip
    SIDE_BY_SIDE = (
        "side by side", "view-split-vertical",
        "Original and result beside each other, at the same place and zoom.",
    )  # fmt: skip
    ORIGINAL = "original", "original", "The original alone."
    RESULT = "result", "result", "The result alone."
    DIFFERENCE = (
        "difference", "plus-minus-variant",
        "The result less the original: middle grey where they are equal, scaled to the largest difference.",
    )  # fmt: skip
    ERROR = (
        "error", "target",
        "How far the result is from the float64 reference, in units of the rounding bound.",
    )  # fmt: skip

    def __new__(cls, value: str, icon_name: str, sentence: str) -> "ViewMode":
        mode = str.__new__(cls, value)
        mode._value_, mode.icon_name, mode.sentence = value, icon_name, sentence
        return mode


@dataclass(frozen=True, slots=True)
class Layer:
    """One picture on the canvas, and its place there in device pixels."""

    levels: PictureLevels | None
    label: str
    """What it is, written on it."""
    texts: Callable[[int, int], tuple[str, ...]]
    """Returns the numbers of a row and a column."""
    empty: str = _NO_RESULT
    """What is said where there is nothing to paint."""
    is_right: bool = False
    """Whether the label stands at the right edge."""
    pane: QRectF = field(default_factory=QRectF)
    """Where the transform counts from."""
    clip: QRectF = field(default_factory=QRectF)
    """The part of the canvas that it may paint on."""


def pane_width(mode: ViewMode, canvas_width: int) -> int:
    """Return the width that one picture has for itself, device pixels."""
    return max(1, (canvas_width - _GAP) // 2) if mode == ViewMode.SIDE_BY_SIDE else canvas_width


def arranged(
    mode: ViewMode, canvas: QRectF, split: float, original: Layer, result: Layer, difference: Layer
) -> list[Layer]:
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


def paint_layer(painter: QPainter, layer: Layer, transform: ViewTransform, font: QFont, ratio: float) -> None:
    """Paint a layer with a painter that works in device pixels, `ratio` of them for one of the widget."""
    _begin_on(painter, layer)
    seen = layer.clip.translated(-layer.pane.topLeft())
    painter.setFont(_scaled(font, ratio))
    if layer.levels is None:
        painter.setPen(QColor(current_theme().muted))
        wrapped = int(Qt.AlignmentFlag.AlignCenter) | int(Qt.TextFlag.TextWordWrap)
        painter.drawText(seen.adjusted(GRID, GRID, -GRID, -GRID), wrapped, layer.empty)
    else:
        layer.levels.paint(painter, transform, seen)
        rows, columns = _seen_pixels(transform, seen, layer.levels.size)
        if rows and columns and transform.zoom >= _LINES_FROM_ZOOM:
            _paint_lines(painter, transform, rows, columns)
        if transform.zoom >= _NUMBERS_FROM_ZOOM * ratio:
            _paint_numbers(painter, transform, rows, columns, layer, layer.levels, ratio)
    painter.setFont(_scaled(font, ratio))
    if layer.levels is not None or layer.empty == _NO_RESULT:
        _paint_label(painter, layer, seen, ratio)
    painter.restore()


def paint_mark(
    painter: QPainter,
    layer: Layer,
    mark: Mark,
    text: str,
    transform: ViewTransform,
    font: QFont,
    ratio: float,
) -> None:
    """Paint a frame around a rectangle of the picture, such as the best match of a patch, and a text."""
    _begin_on(painter, layer)
    left, top = transform.to_pane(mark.column, mark.row)
    frame = QRectF(left, top, mark.width * transform.zoom, mark.height * transform.zoom)
    # Beside the pixels, so that all of them are seen.
    frame.adjust(-ratio, -ratio, ratio, ratio)
    _draw(painter, frame, ratio, (_AROUND, _WIDTH))
    if text:
        painter.setFont(_scaled(font, ratio))
        step = HALF_GRID * ratio
        words = painter.fontMetrics().boundingRect(text)
        box = QRectF(0, 0, words.width() + 2 * step, words.height() + step)
        box.moveTopLeft(frame.bottomLeft())
        box.translate(0, step)
        if box.bottom() > layer.clip.bottom():
            box.moveBottom(frame.top() - step)
        _paint_words(painter, box, text, 0.0)
    painter.restore()


def _begin_on(painter: QPainter, layer: Layer) -> None:
    """Paint in the place of a layer until the painter is restored."""
    painter.save()
    painter.setClipRect(layer.clip)
    painter.translate(layer.pane.topLeft())


def _paint_label(painter: QPainter, layer: Layer, seen: QRectF, ratio: float) -> None:
    step = GRID * ratio
    # In a narrow pane the end is left out: that it is an earlier result must be seen.
    room = round(seen.width() - 4 * step)
    words = painter.fontMetrics().elidedText(layer.label, Qt.TextElideMode.ElideRight, room)
    text = painter.fontMetrics().boundingRect(words)
    box = QRectF(0, step, text.width() + 2 * step, text.height() + step)
    box.moveLeft(seen.right() - step - box.width() if layer.is_right else seen.left() + step)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    _paint_words(painter, box, words, step / 2)


def _paint_words(painter: QPainter, box: QRectF, text: str, radius: float) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(current_theme().raised))
    painter.drawRoundedRect(box, radius, radius)
    painter.setPen(QColor(current_theme().text))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, text)


def _scaled(font: QFont, ratio: float) -> QFont:
    """Return a font for a painter that works in device pixels."""
    font = QFont(font)
    font.setPointSizeF(font.pointSizeF() * ratio)
    return font


def _seen_pixels(transform: ViewTransform, seen: QRectF, picture: Size) -> tuple[range, range]:
    """Return the rows and columns of the picture that lie in a part of the pane."""
    left, top = transform.to_picture(seen.left(), seen.top())
    right, bottom = transform.to_picture(seen.right(), seen.bottom())
    rows = range(max(0, math.floor(top)), min(int(picture.height), math.ceil(bottom)))
    columns = range(max(0, math.floor(left)), min(int(picture.width), math.ceil(right)))
    return rows, columns


def _paint_lines(painter: QPainter, transform: ViewTransform, rows: range, columns: range) -> None:
    """Paint a thin line around every pixel."""
    left, top = transform.to_pane(columns.start, rows.start)
    right, bottom = transform.to_pane(columns.stop, rows.stop)
    xs = [left + n * transform.zoom for n in range(len(columns) + 1)]
    ys = [top + n * transform.zoom for n in range(len(rows) + 1)]
    painter.setPen(QPen(_LINE, 1))
    painter.drawLines([*(QLineF(x, top, x, bottom) for x in xs), *(QLineF(left, y, right, y) for y in ys)])


def _paint_numbers(
    painter: QPainter,
    transform: ViewTransform,
    rows: range,
    columns: range,
    layer: Layer,
    levels: PictureLevels,
    ratio: float,
) -> None:
    """Write its numbers into every pixel: black on bright pixels, white on dark ones."""
    font = number_font()
    # So that three channels fit.
    font.setPixelSize(round(ratio * max(9.0, min(16.0, transform.zoom / ratio / 4.8))))
    painter.setFont(font)
    for row in rows:
        for column in columns:
            is_bright = levels.brightness(row, column) > _BRIGHT
            painter.setPen(QColor("#000000" if is_bright else "#ffffff"))
            cell = QRectF(*transform.to_pane(column, row), transform.zoom, transform.zoom)
            painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, "\n".join(layer.texts(row, column)))


Pixel = tuple[int, int]

_DRAWN_WIDTH, _DRAWN_AROUND = 1.5, 4.0


class Drawing(StrEnum):
    """What dragging over the picture does."""

    PAN = "pan"
    REGION = "region"
    LINE = "line"

    def shape(self, first: Pixel, last: Pixel) -> "Region | Line":
        """Return the line between two pixels, or the rectangle with them as corners; both are in it."""
        if self is Drawing.LINE:
            return Line(first, last)
        (top, bottom), (left, right) = (sorted(ends) for ends in zip(first, last, strict=True))
        return Region(top, bottom + 1, left, right + 1)


class Line(NamedTuple):
    """A straight line between two pixels (row, column), both on it."""

    first: Pixel
    last: Pixel


def paint_region(painter: QPainter, layer: Layer, region: Region, at: ViewTransform, ratio: float) -> None:
    """Paint the frame of a region in dashes."""
    left, top = at.to_pane(region.left, region.top)
    right, bottom = at.to_pane(region.right, region.bottom)
    frame = QRectF(left, top, right - left, bottom - top)
    _begin_on(painter, layer)
    _draw(painter, frame, ratio, (_DRAWN_AROUND, _DRAWN_WIDTH), Qt.PenStyle.DashLine)
    painter.restore()


def paint_line(painter: QPainter, layer: Layer, line: Line, at: ViewTransform, ratio: float) -> None:
    """Paint a line from the middle of one pixel to that of the other."""
    ends = [at.to_pane(column + 0.5, row + 0.5) for row, column in line]
    _begin_on(painter, layer)
    _draw(painter, QLineF(*ends[0], *ends[1]), ratio, (_DRAWN_AROUND, _DRAWN_WIDTH))
    painter.restore()


def _draw(
    painter: QPainter,
    shape: QRectF | QLineF,
    ratio: float,
    widths: tuple[float, float],
    style: Qt.PenStyle = Qt.PenStyle.SolidLine,
) -> None:
    """Draw a frame or a line in the accent, dark around it: seen on any picture."""
    theme = current_theme()
    painter.setBrush(Qt.BrushStyle.NoBrush)
    looks = (theme.base, Qt.PenStyle.SolidLine), (theme.accent, style)
    for width, (colour, line) in zip(widths, looks, strict=True):
        painter.setPen(QPen(QColor(colour), width * ratio, line, j=Qt.PenJoinStyle.MiterJoin))
        if isinstance(shape, QLineF):
            painter.drawLine(shape)
        else:
            painter.drawRect(shape)

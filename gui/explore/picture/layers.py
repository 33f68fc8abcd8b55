"""Original and result as layers: which part of the pane each takes, and how one is painted."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QFont, QPainter

from gui.explore.picture.levels import PictureLevels
from gui.explore.picture.pixel_grid import paint_lines, paint_numbers
from gui.explore.picture.view_mode import ViewMode
from gui.explore.picture.view_transform import ViewTransform
from gui.style.metrics import GRID, number_font
from gui.style.theme import current_theme

# Between two panes side by side, device pixels.
_GAP = 2
_NO_RESULT = "The result comes here."


@dataclass(frozen=True, slots=True)
class Layer:
    """One picture on the canvas, and its place there in device pixels."""

    levels: PictureLevels | None
    label: str
    """What it is, written on it."""
    texts: Callable[[int, int], tuple[str, ...]]
    """Returns the numbers of a row and a column."""
    is_right: bool = False
    """Whether the label stands at the right edge."""
    pane: QRectF = field(default_factory=QRectF)
    """Where the transform counts from."""
    clip: QRectF = field(default_factory=QRectF)
    """The part of the canvas that it may paint on."""


def pane_width(mode: ViewMode, canvas_width: int) -> int:
    """Return the width that one picture has for itself, device pixels."""
    return max(1, (canvas_width - _GAP) // 2) if mode == ViewMode.SIDE_BY_SIDE else canvas_width


def arranged(mode: ViewMode, canvas: QRectF, split: float, original: Layer, result: Layer) -> list[Layer]:
    """Return the layers that a mode shows, each with its place; `split` is that of the handle, 0 to 1."""
    left, right = QRectF(canvas), QRectF(canvas)
    if mode == ViewMode.SIDE_BY_SIDE:
        width = pane_width(mode, round(canvas.width()))
        left.setWidth(width)
        right.setLeft(canvas.right() - width)
        return [replace(original, pane=left, clip=left), replace(result, pane=right, clip=right)]
    if mode == ViewMode.RESULT:
        return [replace(result, pane=canvas, clip=canvas)]
    if mode == ViewMode.ORIGINAL or result.levels is None:
        return [replace(original, pane=canvas, clip=canvas)]
    left.setRight(round(split * canvas.width()))
    right.setLeft(left.right())
    return [replace(original, pane=canvas, clip=left), replace(result, pane=canvas, clip=right)]


def paint_layer(painter: QPainter, layer: Layer, transform: ViewTransform, font: QFont, ratio: float) -> None:
    """Paint a layer with a painter that works in device pixels, `ratio` of them for one of the widget."""
    painter.save()
    painter.setClipRect(layer.clip)
    painter.translate(layer.pane.topLeft())
    seen = layer.clip.translated(-layer.pane.topLeft())
    painter.setFont(_scaled(font, ratio))
    if layer.levels is None:
        painter.setPen(QColor(current_theme().muted))
        painter.drawText(seen, Qt.AlignmentFlag.AlignCenter, _NO_RESULT)
    else:
        layer.levels.paint(painter, transform, seen)
        paint_lines(painter, transform, seen, layer.levels.size)
        paint_numbers(painter, transform, seen, layer.levels.full_image, layer.texts, number_font(), ratio)
        painter.setFont(_scaled(font, ratio))
    _paint_label(painter, layer, seen, ratio)
    painter.restore()


def _paint_label(painter: QPainter, layer: Layer, seen: QRectF, ratio: float) -> None:
    theme, step = current_theme(), GRID * ratio
    text = painter.fontMetrics().boundingRect(layer.label)
    box = QRectF(0, step, text.width() + 2 * step, text.height() + step)
    box.moveLeft(seen.right() - step - box.width() if layer.is_right else seen.left() + step)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(theme.raised))
    painter.drawRoundedRect(box, step / 2, step / 2)
    painter.setPen(QColor(theme.text))
    painter.drawText(box, Qt.AlignmentFlag.AlignCenter, layer.label)


def _scaled(font: QFont, ratio: float) -> QFont:
    """Return a font for a painter that works in device pixels."""
    font = QFont(font)
    font.setPointSizeF(font.pointSizeF() * ratio)
    return font

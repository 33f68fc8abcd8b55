"""Original and result as layers: which part of the pane each takes, and how one is painted."""

from collections.abc import Callable
from dataclasses import dataclass

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

Texts = Callable[[int, int], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Layer:
    """One picture on the canvas.

    Parameters
    ----------
    levels
        The picture; None while there is none yet.
    label
        What it is, written on it.
    pane
        Where the transform counts from, device pixels of the canvas.
    clip
        The part of the canvas that it may paint on.
    texts
        Gives the numbers of a row and a column.
    is_right
        The label stands at the right edge.
    """

    levels: PictureLevels | None
    label: str
    pane: QRectF
    clip: QRectF
    texts: Texts
    is_right: bool = False


def pane_width(mode: ViewMode, canvas_width: int) -> int:
    """Return the width that one picture has for itself, device pixels."""
    return max(1, (canvas_width - _GAP) // 2) if mode == ViewMode.SIDE_BY_SIDE else canvas_width


def arranged(mode: ViewMode, canvas: QRectF, split: float, original: Layer, result: Layer) -> list[Layer]:
    """Return the layers that a mode shows, each with its place.

    Parameters
    ----------
    mode
        How the canvas is shared.
    canvas
        Its rectangle, device pixels.
    split
        Where the handle is, as a part of the width.
    original, result
        The two layers; their places are ignored.
    """
    left, right = QRectF(canvas), QRectF(canvas)
    if mode == ViewMode.SIDE_BY_SIDE:
        width = pane_width(mode, round(canvas.width()))
        left.setWidth(width)
        right.setLeft(canvas.right() - width)
        return [_placed(original, left, left), _placed(result, right, right)]
    if mode == ViewMode.RESULT:
        return [_placed(result, canvas, canvas)]
    if mode == ViewMode.ORIGINAL or result.levels is None:
        return [_placed(original, canvas, canvas)]
    left.setRight(round(split * canvas.width()))
    right.setLeft(left.right())
    return [_placed(original, canvas, left), _placed(result, canvas, right)]


def paint_layer(painter: QPainter, layer: Layer, transform: ViewTransform, font: QFont, ratio: float) -> None:
    """Paint a layer with a painter that works in device pixels.

    Parameters
    ----------
    painter, layer, transform
        What is painted where.
    font
        For the words on it.
    ratio
        Device pixels of one pixel of the widget.
    """
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


def _placed(layer: Layer, pane: QRectF, clip: QRectF) -> Layer:
    return Layer(layer.levels, layer.label, pane, clip, layer.texts, layer.is_right)


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

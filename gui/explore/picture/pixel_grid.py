"""What a large zoom adds to the picture: lines between the pixels, and their numbers in them."""

import math
from collections.abc import Callable

from PySide6.QtCore import QLineF, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QImage, QPainter, QPen, qGray

from gui.explore.picture.view_transform import Size, ViewTransform

LINES_FROM_ZOOM = 16.0
NUMBERS_FROM_ZOOM = 48.0

_LINE = QColor(128, 128, 128, 110)
_BRIGHT = 120


def seen_pixels(transform: ViewTransform, seen: QRectF, picture: Size) -> tuple[range, range]:
    """Return the rows and columns of the picture that lie in a part of the pane."""
    left, top = transform.to_picture(seen.left(), seen.top())
    right, bottom = transform.to_picture(seen.right(), seen.bottom())
    rows = range(max(0, math.floor(top)), min(int(picture.height), math.ceil(bottom)))
    columns = range(max(0, math.floor(left)), min(int(picture.width), math.ceil(right)))
    return rows, columns


def paint_lines(painter: QPainter, transform: ViewTransform, seen: QRectF, picture: Size) -> None:
    """Paint a thin line around every pixel, from a zoom of 1600 %."""
    if transform.zoom < LINES_FROM_ZOOM:
        return
    rows, columns = seen_pixels(transform, seen, picture)
    if not rows or not columns:
        return
    left, top = transform.to_pane(columns.start, rows.start)
    right, bottom = transform.to_pane(columns.stop, rows.stop)
    xs = [left + n * transform.zoom for n in range(len(columns) + 1)]
    ys = [top + n * transform.zoom for n in range(len(rows) + 1)]
    lines = [*(QLineF(x, top, x, bottom) for x in xs), *(QLineF(left, y, right, y) for y in ys)]
    painter.setPen(QPen(_LINE, 1))
    painter.drawLines(lines)


def paint_numbers(
    painter: QPainter,
    transform: ViewTransform,
    seen: QRectF,
    image: QImage,
    texts: Callable[[int, int], tuple[str, ...]],
    font: QFont,
    ratio: float,
) -> None:
    """Write its numbers into every pixel, from a zoom of 4800 %: black on bright pixels, white on dark ones.

    `image` is the picture in full size; the size of the font is set here, so that three channels fit.
    """
    if transform.zoom < NUMBERS_FROM_ZOOM * ratio:
        return
    rows, columns = seen_pixels(transform, seen, Size(image.width(), image.height()))
    font = QFont(font)
    font.setPixelSize(round(ratio * max(9.0, min(16.0, transform.zoom / ratio / 4.8))))
    painter.setFont(font)
    for row in rows:
        for column in columns:
            x, y = transform.to_pane(column, row)
            is_bright = qGray(image.pixel(column, row)) > _BRIGHT
            painter.setPen(QColor("#000000" if is_bright else "#ffffff"))
            cell = QRectF(x, y, transform.zoom, transform.zoom)
            painter.drawText(cell, Qt.AlignmentFlag.AlignCenter, "\n".join(texts(row, column)))

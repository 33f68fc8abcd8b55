"""Values as pictures: from the ground for 0 to the colour of text for the largest. No widgets in here."""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter, QPen

from gui.style.cell_colours import mixed
from gui.style.theme import Theme


@lru_cache(maxsize=4)
def shades(theme: Theme) -> NDArray[np.uint32]:
    """Return 256 colours from the ground to the colour of text, as a QRgb each."""
    ground, text = QColor(theme.base), QColor(theme.text)
    found = np.array([mixed(ground, text, step / 255).rgb() for step in range(256)], np.uint32)
    found.flags.writeable = False
    return found


def as_steps(values: NDArray[np.float32], largest: float) -> NDArray[np.uint8]:
    """Return values as steps from 0 to 255; negative ones are 0."""
    if not largest > 0:
        return np.zeros(values.shape, np.uint8)
    found: NDArray[np.uint8] = np.rint(np.clip(values / largest, 0.0, 1.0) * 255.0).astype(np.uint8)
    return found


def picture_of(steps: NDArray[np.uint8], colours: NDArray[np.uint32]) -> QImage:
    """Return a picture with a pixel for each value."""
    rows, columns = steps.shape
    # Not an indexed picture: a table of colours takes PySide 28 µs, and there are 360 digits.
    kept = colours[steps]
    return QImage(kept.data, columns, rows, 4 * columns, QImage.Format.Format_RGB32).copy()


def draw_frames(painter: QPainter, frames: Iterable[QRectF], theme: Theme, width: int = 2) -> None:
    """Draw frames that are seen on ink and on paper: the accent colour between two lines of the ground."""
    painter.save()
    for frame in frames:
        painter.setPen(QPen(QColor(theme.base), width + 2))
        painter.drawRect(frame)
        painter.setPen(QPen(QColor(theme.accent), width))
        painter.drawRect(frame)
    painter.restore()

"""Ink: the drawing with its brush and history, and values as pictures. No widgets in here."""

from collections.abc import Iterable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QObject, QRectF, Signal
from PySide6.QtGui import QColor, QImage, QPainter, QPen, QUndoCommand, QUndoStack

from engine.tasks.network.operands import fitted
from gui.style.theme import Theme, mixed

SIDE = 28
Ink = NDArray[np.uint8]
Point = tuple[float, float]
"""Column and row, in cells: the centre of the first cell is at 0.5, 0.5."""

# Held-out digits have strokes of 4 cells with soft edges; what is drawn much thinner is misclassified.
_RADIUS = 2.0
_SOFT_EDGE = 1.5


class Drawing(QObject):
    """The ink, 0 for paper to 255; a stroke is one step of the undo stack however long it is."""

    changed = Signal()

    def __init__(self, undo_stack: QUndoStack | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.undo_stack = undo_stack or QUndoStack(self)
        self.ink: Ink = np.zeros((SIDE, SIDE), np.uint8)
        self.digit: int | None = None
        """Number of the held-out digit that it is; None for what was drawn."""
        self._before: tuple[Ink, int | None] | None = None
        self._last: Point = (0.0, 0.0)

    @property
    def is_empty(self) -> bool:
        return not self.ink.any()

    def begin(self, point: Point, *, erases: bool = False) -> None:
        """Begin a stroke; on a held-out digit it begins a new drawing, unless it erases."""
        self.end()
        self._before = self.ink, self.digit
        if self.digit is not None and not erases:
            self.ink = np.zeros((SIDE, SIDE), np.uint8)
        self._last = point
        self.extend(point, erases=erases)

    def extend(self, point: Point, *, erases: bool = False, begin: Point | None = None) -> None:
        """Draw on, in a straight line; where no stroke has begun, one begins at `begin`."""
        if self._before is None and begin is not None:
            self.begin(begin)
        if self._before is not None:
            touched = coverage(self._last, point, _RADIUS)
            self._last = point
            self.show(np.minimum(self.ink, 255 - touched) if erases else np.maximum(self.ink, touched), None)

    def end(self, text: str = "Stroke") -> None:
        """End the stroke: it is one step of the history."""
        if self._before is None:
            return
        before, self._before = self._before, None
        if not np.array_equal(before[0], self.ink):
            self.undo_stack.push(_StrokeEdit(self, text, before, (self.ink, None)))

    def dot(self, point: Point, *, erases: bool = False) -> None:
        self.begin(point, erases=erases)
        self.end("Erase" if erases else "Dot")

    def clear(self) -> None:
        """Take all ink away; nothing happens where there is none."""
        self.show_ink(np.zeros_like(self.ink), None, "Clear")

    @property
    def seen(self) -> Ink:
        """What the network sees: what was drawn is enlarged and centred, as its training's digits are."""
        return self.ink if self.digit is not None else fitted(self.ink)

    @property
    def is_enlarged(self) -> bool:
        """Whether the network sees it larger than it was drawn."""
        return self.digit is None and not np.array_equal(self.seen, self.ink)

    def start_with(self, number: int, pixels: Ink) -> None:
        """Show a held-out digit where nothing was drawn yet; that is not a step."""
        if self.is_empty and not self.undo_stack.count():
            self.show(pixels, number)

    def show_ink(self, ink: Ink, number: int | None, text: str) -> None:
        """Take other ink, which may be that of a held-out digit, instead of what was drawn."""
        self.end()
        if not np.array_equal(ink, self.ink):
            self.undo_stack.push(_StrokeEdit(self, text, (self.ink, self.digit), (ink, number)))

    def show(self, ink: Ink, digit: int | None) -> None:
        """Show ink, and which held-out digit it is; that alone is no step."""
        if digit != self.digit or not np.array_equal(ink, self.ink):
            self.ink, self.digit = ink, digit
            self.changed.emit()


class _StrokeEdit(QUndoCommand):
    """Ink and digit before and after; the first `redo` of a stroke finds it painted."""

    def __init__(self, drawing: Drawing, text: str, *shown: tuple[Ink, int | None]) -> None:
        super().__init__(text)
        self._drawing, (self._before, self._after) = drawing, shown

    def redo(self) -> None:
        self._drawing.show(*self._after)

    def undo(self) -> None:
        self._drawing.show(*self._before)


def coverage(begin: Point, end: Point, radius: float) -> Ink:
    """Return how much of each cell a round brush covers on its way, 0 to 255: its edge is soft."""
    rows, columns = np.mgrid[0:SIDE, 0:SIDE] + 0.5
    way_x, way_y = end[0] - begin[0], end[1] - begin[1]
    from_x, from_y = columns - begin[0], rows - begin[1]
    length = way_x * way_x + way_y * way_y
    # Nearest point of the stroke to each cell.
    part = np.clip((from_x * way_x + from_y * way_y) / length, 0.0, 1.0) if length else 0.0
    distance = np.hypot(from_x - part * way_x, from_y - part * way_y)
    share = np.clip((radius + _SOFT_EDGE / 2 - distance) / _SOFT_EDGE, 0.0, 1.0)
    ink: Ink = np.rint(share * 255.0).astype(np.uint8)
    return ink


@lru_cache(maxsize=4)
def shades(theme: Theme) -> NDArray[np.uint32]:
    """Return 256 colours from the ground to the colour of text, as a QRgb each."""
    ground, text = QColor(theme.base), QColor(theme.text)
    colours = np.array([mixed(ground, text, step / 255).rgb() for step in range(256)], np.uint32)
    colours.flags.writeable = False
    return colours


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

"""The lens on the picture: the mouse and the keys lead it, and frames show its window and its pixel."""

from PySide6.QtCore import QObject

from engine.results.found import Mark
from gui.explore.lens.lens import FilterLens, OperationLens
from gui.explore.lens.lens_state import LensState
from gui.explore.picture.canvas import PictureCanvas


class LensMarks(QObject):
    """Joins the lens and the canvas."""

    def __init__(self, lens: LensState, canvas: PictureCanvas) -> None:
        super().__init__(lens)
        self._lens, self._canvas = lens, canvas
        canvas.pixel_hovered.connect(lens.point)
        canvas.pixel_clicked.connect(lens.pin)
        canvas.walked.connect(lens.walk)
        canvas.let_go.connect(lens.let_go)
        lens.pinned_changed.connect(self._pin)
        lens.frames_changed.connect(self._frame)

    def _pin(self) -> None:
        self._canvas.is_pinned = self._lens.is_pinned
        if self._lens.is_pinned:
            self._canvas.setFocus()

    def _frame(self) -> None:
        lens = self._lens
        if not lens.is_visible or lens.pixel is None:
            self._canvas.set_frames(None, None)
            return
        (row, column), seen = lens.pixel, lens.seen
        pixel = Mark(row, column, 1, 1)
        if isinstance(seen, FilterLens):
            (up, left), mask = seen.step.applied.anchor, seen.step.applied
            window = Mark(row - up, column - left, mask.rows, mask.columns)
        elif isinstance(seen, OperationLens) and seen.cells is not None:
            half = seen.cells.shape[0] // 2
            window = Mark(row - half, column - half, 2 * half + 1, 2 * half + 1)
        else:
            window = pixel
        self._canvas.set_frames(window, pixel if window != pixel else None)

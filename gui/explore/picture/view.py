"""Where a picture lies in a pane, in device pixels, and what changes that. No widgets in here.

One device pixel of a picture at 100 % is one pixel of the screen, also on screens with a scale factor.
"""

import math
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, QRectF, Signal

# Of pictures that are not smaller still when they are fitted.
SMALLEST_ZOOM = 1.0 / 64.0
LARGEST_ZOOM = 128.0

# The stops of the zoom keys and the wheel: factors of the square root of two meet 50, 100 and 200 % exactly.
_STOPS_PER_OCTAVE = 2


@dataclass(frozen=True, slots=True)
class Size:
    """Width and height, of a picture in its pixels or of a pane in device pixels."""

    width: float
    height: float


@dataclass(frozen=True, slots=True)
class ViewTransform:
    """The place of a picture in a pane: its zoom (device pixels per pixel), and its top left corner there."""

    zoom: float = 1.0
    left: float = 0.0
    top: float = 0.0

    def to_picture(self, x: float, y: float) -> tuple[float, float]:
        """Return the place in the picture under a point of the pane: column and row with fractions."""
        return (x - self.left) / self.zoom, (y - self.top) / self.zoom

    def to_pane(self, column: float, row: float) -> tuple[float, float]:
        """Return the point of the pane where a place of the picture lies."""
        return self.left + column * self.zoom, self.top + row * self.zoom

    def seen_in(self, area: QRectF) -> tuple[float, float, float, float]:
        """Return the places under the edges of a part of the pane: left, top, right, bottom."""
        return *self.to_picture(area.left(), area.top()), *self.to_picture(area.right(), area.bottom())

    def place_of(self, row: float, column: float, height: float = 1, width: float = 1) -> QRectF:
        """Return where a rectangle of the picture lies in the pane, by default a pixel."""
        return QRectF(*self.to_pane(column, row), width * self.zoom, height * self.zoom)

    def kept_in(self, pane: Size, picture: Size) -> "ViewTransform":
        """Return the transform moved so that the middle of the pane lies on the picture."""
        middle_x, middle_y = pane.width / 2.0, pane.height / 2.0
        left = min(max(self.left, middle_x - picture.width * self.zoom), middle_x)
        top = min(max(self.top, middle_y - picture.height * self.zoom), middle_y)
        return replace(self, left=left, top=top)


def fitted(pane: Size, picture: Size) -> ViewTransform:
    """Return the transform that shows the whole picture in the middle; a small one a whole factor larger."""
    zoom = min(pane.width / picture.width, pane.height / picture.height)
    if zoom >= 1.0:
        zoom = math.floor(zoom)
    return centred(min(zoom, LARGEST_ZOOM), pane, picture)


def centred(zoom: float, pane: Size, picture: Size) -> ViewTransform:
    """Return the transform of a zoom with the middle of the picture in the middle of the pane."""
    # Whole device pixels, so that 100 % is neither blurred nor uneven.
    left = round((pane.width - picture.width * zoom) / 2.0)
    top = round((pane.height - picture.height * zoom) / 2.0)
    return ViewTransform(zoom, left, top)


def next_zoom(zoom: float, steps: float, smallest: float = SMALLEST_ZOOM) -> float:
    """Return the zoom that lies so many stops further in (positive) or out; whole steps end on a stop."""
    stops = math.log2(zoom) * _STOPS_PER_OCTAVE
    if steps == int(steps):
        # A zoom between two stops (after fitting) goes to the next one, not past it.
        stops = math.ceil(stops - 1e-6) - 1 if steps < 0 else math.floor(stops + 1e-6) + 1
        stops += steps - math.copysign(1.0, steps)
    else:
        stops += steps
    return min(max(2.0 ** (stops / _STOPS_PER_OCTAVE), smallest), LARGEST_ZOOM)


class ViewState(QObject):
    """Keeps the picture in its pane through zooming, panning, new sizes and new pictures."""

    changed = Signal()  # the picture lies elsewhere or has another size on the screen

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pane = Size(1.0, 1.0)
        self._picture = Size(1.0, 1.0)
        self.transform = ViewTransform()
        self.is_fitted = True  # whether the picture follows the size of the pane

    @property
    def middle(self) -> tuple[int, int]:
        """Row and column of the picture in the middle of the pane."""
        column, row = self.transform.to_picture(self._pane.width / 2.0, self._pane.height / 2.0)
        return int(row), int(column)

    @property
    def seen(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """The rows and the columns of the picture that lie in the pane: first, and past the last."""
        pane = QRectF(0.0, 0.0, self._pane.width, self._pane.height)
        left, top, right, bottom = self.transform.seen_in(pane)
        rows = max(0.0, top), min(bottom, self._picture.height)
        return rows, (max(0.0, left), min(right, self._picture.width))

    def set_picture_size(self, picture: Size) -> None:
        """Set the size of a new picture: one of the same size stays where it is, another one is fitted."""
        if picture != self._picture:
            self._picture = picture
            self.fit()

    def set_pane_size(self, pane: Size) -> None:
        """Set the size of the pane; the place in its middle stays there."""
        if pane == self._pane:
            return
        right, down = (pane.width - self._pane.width) / 2.0, (pane.height - self._pane.height) / 2.0
        self._pane = pane
        if self.is_fitted:
            self.fit()
        else:
            self.pan(round(right), round(down))

    def fit(self) -> None:
        """Show the whole picture, also when the pane changes its size later."""
        self._set(fitted(self._pane, self._picture), is_fitted=True)

    def show_actual(self) -> None:
        """Show one pixel as one pixel of the screen, with the middle of the pane where it was."""
        if self.transform.zoom != 1.0 and self.is_fitted:
            self._set(centred(1.0, self._pane, self._picture))
        elif self.transform.zoom != 1.0:
            self.zoom_to(1.0, self._pane.width / 2.0, self._pane.height / 2.0)

    def zoom_by(self, steps: float, x: float | None = None, y: float | None = None) -> None:
        """Zoom in by stops (out by negative ones) around a point of the pane, by default its middle."""
        x, y = self._pane.width / 2.0 if x is None else x, self._pane.height / 2.0 if y is None else y
        self.zoom_to(next_zoom(self.transform.zoom, steps, self._smallest()), x, y)

    def zoom_to(self, zoom: float, x: float, y: float) -> None:
        """Set the zoom; the place under a point of the pane stays there."""
        self._place(zoom, *self.transform.to_picture(x, y), x, y)

    def look_at(self, zoom: float, row: float, column: float) -> None:
        """Set the zoom with a place of the picture in the middle of the pane."""
        self._place(zoom, column, row, self._pane.width / 2.0, self._pane.height / 2.0)

    def pan(self, right: float, down: float) -> None:
        """Move the picture by device pixels."""
        at = self.transform
        self._set(replace(at, left=at.left + right, top=at.top + down))

    def pixel_at(self, x: float, y: float) -> tuple[int, int] | None:
        """Return the row and column of the pixel under a point of the pane, or None beside the picture."""
        column, row = self.transform.to_picture(x, y)
        inside = 0 <= column < self._picture.width and 0 <= row < self._picture.height
        return (int(row), int(column)) if inside else None

    def nearest_pixel(self, x: float, y: float) -> tuple[int, int]:
        """Return the row and column of the pixel under a point of the pane, or of the nearest one."""
        column, row = self.transform.to_picture(x, y)
        last_row, last_column = self._picture.height - 1, self._picture.width - 1
        return int(min(max(row, 0), last_row)), int(min(max(column, 0), last_column))

    def _place(self, zoom: float, column: float, row: float, x: float, y: float) -> None:
        """Set the zoom with a place of the picture under a point of the pane."""
        zoom = min(max(zoom, self._smallest()), LARGEST_ZOOM)
        self._set(ViewTransform(zoom, x - column * zoom, y - row * zoom))

    def _smallest(self) -> float:
        return min(SMALLEST_ZOOM, fitted(self._pane, self._picture).zoom)

    def _set(self, transform: ViewTransform, *, is_fitted: bool = False) -> None:
        self.is_fitted = is_fitted
        transform = transform.kept_in(self._pane, self._picture)
        if transform != self.transform:
            self.transform = transform
            self.changed.emit()

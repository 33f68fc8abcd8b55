"""The zoom and the place of the picture, and what changes them. No widgets in here."""

from PySide6.QtCore import QObject, Signal

from gui.explore.picture.view_transform import Size, ViewTransform, centred, fitted, next_zoom


class ViewState(QObject):
    """Keeps the picture in its pane through zooming, panning, new sizes and new pictures.

    Signals
    -------
    changed()
        The picture lies elsewhere or has another size on the screen.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pane = Size(1.0, 1.0)
        self._picture = Size(1.0, 1.0)
        self._transform = ViewTransform()
        self._is_fitted = True

    @property
    def transform(self) -> ViewTransform:
        return self._transform

    @property
    def is_fitted(self) -> bool:
        """Whether the picture follows the size of the pane."""
        return self._is_fitted

    def set_picture_size(self, picture: Size) -> None:
        """Take another picture: one of the same size stays where it is, another one is fitted."""
        if picture != self._picture:
            self._picture = picture
            self.fit()

    def set_pane_size(self, pane: Size) -> None:
        """Take another size of the pane; what was in its middle stays there."""
        if pane == self._pane:
            return
        right, down = (pane.width - self._pane.width) / 2.0, (pane.height - self._pane.height) / 2.0
        self._pane = pane
        if self._is_fitted:
            self.fit()
        else:
            self._set(self._transform.moved(round(right), round(down)))

    def fit(self) -> None:
        """Show the whole picture, also when the pane changes its size later."""
        self._is_fitted = True
        self._set(fitted(self._pane, self._picture))

    def show_actual(self) -> None:
        """Show one pixel as one pixel of the screen, with the middle of the pane where it was."""
        if self._transform.zoom == 1.0:
            return
        x, y = self._pane.width / 2.0, self._pane.height / 2.0
        if self._is_fitted:
            self._is_fitted = False
            self._set(centred(1.0, self._pane, self._picture))
        else:
            self.zoom_to(1.0, x, y)

    def zoom_by(self, steps: float, x: float | None = None, y: float | None = None) -> None:
        """Zoom in by stops (out by negative ones) around a point of the pane, by default its middle."""
        self.zoom_to(
            next_zoom(self._transform.zoom, steps),
            self._pane.width / 2.0 if x is None else x,
            self._pane.height / 2.0 if y is None else y,
        )

    def zoom_to(self, zoom: float, x: float, y: float) -> None:
        """Take a zoom; what lies under a point of the pane stays there."""
        self._is_fitted = False
        self._set(self._transform.zoomed(zoom, x, y))

    def pan(self, right: float, down: float) -> None:
        """Move the picture by device pixels."""
        self._is_fitted = False
        self._set(self._transform.moved(right, down))

    def pixel_at(self, x: float, y: float) -> tuple[int, int] | None:
        """Return the row and column of the pixel under a point of the pane, or None beside the picture."""
        column, row = self._transform.to_picture(x, y)
        if 0 <= column < self._picture.width and 0 <= row < self._picture.height:
            return int(row), int(column)
        return None

    def _set(self, transform: ViewTransform) -> None:
        transform = transform.kept_in(self._pane, self._picture)
        if transform != self._transform:
            self._transform = transform
            self.changed.emit()

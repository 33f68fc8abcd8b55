"""The picture pane: original and result at one place and zoom, and the numbers under the cursor."""

from PySide6.QtCore import QRect, Signal, Slot
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QResizeEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from engine.host.protocol import Filtered, PictureHandle
from gui.engine_link.engine_state import EngineState
from gui.explore.picture.canvas import PictureCanvas
from gui.explore.picture.dropped_files import dropped_files
from gui.explore.picture.empty_state import DropHighlight, EmptyState
from gui.explore.picture.levels import PictureLevels
from gui.explore.picture.pixel_values import PixelValues
from gui.explore.picture.readout import Readout
from gui.explore.picture.toolbar import PictureToolbar
from gui.explore.picture.view_mode import ViewMode
from gui.explore.workspace import Workspace


class PictureView(QWidget):
    """Shows the workspace's picture and the newest result; holds views of shared memory, never copies.

    Signals
    -------
    files_dropped(list)
        Local paths, as str, that were dropped here.
    open_requested(), sample_requested()
        A button of the empty pane was pressed.
    """

    files_dropped = Signal(list)
    open_requested = Signal()
    sample_requested = Signal()

    def __init__(
        self, workspace: Workspace, engine_state: EngineState, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._picture: PictureHandle | None = None
        self._values: PixelValues | None = None
        self._state = engine_state
        self._hovered: tuple[int, int] | None = None
        self.toolbar = PictureToolbar(workspace)
        self.canvas = PictureCanvas()
        self.readout = Readout()
        self.empty_state = EmptyState()
        self._pages = QStackedWidget()
        self._pages.addWidget(self.empty_state)
        self._pages.addWidget(self.canvas)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.toolbar)
        column.addWidget(self._pages, 1)
        column.addWidget(self.readout)
        self._highlight = DropHighlight(self)
        self.setAcceptDrops(True)
        self.setAccessibleName("Picture view")
        self._connect(workspace, engine_state)
        self._show_picture(workspace.picture)
        if engine_state.last_result is not None:
            self._show_result(engine_state.last_result)
        self._name_result()

    @property
    def mode(self) -> ViewMode:
        return self.canvas.mode

    def set_mode(self, mode: ViewMode | str) -> None:
        """Share the pane between original and result in another way."""
        self.canvas.set_mode(ViewMode(mode))
        self.toolbar.show_mode(self.canvas.mode)
        self._describe()

    @Slot()
    def zoom_in(self) -> None:
        """Show pixels larger, around the middle."""
        self.canvas.view.zoom_by(1)

    @Slot()
    def zoom_out(self) -> None:
        """Show pixels smaller, around the middle."""
        self.canvas.view.zoom_by(-1)

    @Slot()
    def fit_to_window(self) -> None:
        """Show the whole picture, also when the window changes its size."""
        self.canvas.view.fit()

    @Slot()
    def zoom_to_actual(self) -> None:
        """Show one pixel as one pixel of the screen."""
        self.canvas.view.show_actual()

    def release_pixels(self) -> None:
        """Let go of all shared memory; the pane is empty until the next picture."""
        self._show_picture(None)

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if dropped_files(event.mimeData()):
            event.acceptProposedAction()
            self._highlight.setGeometry(self.rect())
            self._highlight.raise_()
            self._highlight.show()

    def dragLeaveEvent(self, event: QDragLeaveEvent) -> None:
        self._highlight.hide()

    def dropEvent(self, event: QDropEvent) -> None:
        self._highlight.hide()
        paths = dropped_files(event.mimeData())
        if paths:
            event.acceptProposedAction()
            self.files_dropped.emit(paths)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self._highlight.setGeometry(QRect(self.rect()))

    def _connect(self, workspace: Workspace, engine_state: EngineState) -> None:
        workspace.picture_changed.connect(self._show_picture)
        engine_state.filtered.connect(self._show_result)
        engine_state.result_aged.connect(self._name_result)
        self.toolbar.mode_chosen.connect(self.set_mode)
        self.toolbar.zoom_in_clicked.connect(self.zoom_in)
        self.toolbar.zoom_out_clicked.connect(self.zoom_out)
        self.toolbar.fit_clicked.connect(self.fit_to_window)
        self.toolbar.actual_clicked.connect(self.zoom_to_actual)
        self.canvas.view.changed.connect(self._describe)
        self.canvas.pixel_hovered.connect(self._hover)
        engine_state.progress_changed.connect(self._show_stage)
        self.empty_state.open_requested.connect(self.open_requested)
        self.empty_state.sample_requested.connect(self.sample_requested)

    def _show_picture(self, picture: PictureHandle | None) -> None:
        self._picture = picture
        self._hovered = None
        self._values = PixelValues(picture) if picture is not None else None
        self.canvas.set_picture(PictureLevels(picture.screen) if picture is not None else None, self._values)
        self.readout.set_layout_for(self._values)
        self._pages.setCurrentWidget(self.canvas if picture is not None else self.empty_state)
        self._describe()

    def _show_result(self, filtered: Filtered) -> None:
        # A failed run has no picture; the last one that there was stays, because the numbers beside say what happened.
        if (
            self._picture is None
            or self._values is None
            or filtered.values is None
            or filtered.screen is None
        ):
            return
        if filtered.values.shape[:2] != self._picture.pixels.shape[:2]:
            return
        self._values.set_result(filtered.values)
        self.canvas.set_result(PictureLevels(filtered.screen))
        self._hover(self._hovered)

    def _show_stage(self) -> None:
        self.empty_state.show_stage(self._state.stage)

    def _name_result(self) -> None:
        name = "earlier result" if self._state.result_is_earlier else "result"
        self.canvas.name_result(name)
        self.readout.name_result(name)
        self._hover(self._hovered)
        self._describe()

    def _hover(self, pixel: tuple[int, int] | None) -> None:
        self._hovered = pixel
        reading = self._values.at(*pixel) if self._values is not None and pixel is not None else None
        self.readout.show_reading(reading)

    def _describe(self) -> None:
        zoom = self.canvas.view.transform.zoom
        self.toolbar.show_zoom(zoom if self._picture is not None else None)
        title = self._picture.description if self._picture is not None else "No picture yet"
        self.canvas.setAccessibleDescription(
            f"{title}, {self.mode.value}, {self.canvas.result_name}, zoom {100 * zoom:.0f} %"
        )

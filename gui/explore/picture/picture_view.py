"""The picture pane: original and result at one place and zoom, and the numbers under the cursor."""

from PySide6.QtWidgets import QStackedWidget, QWidget

from engine.host.protocol import Filtered, PictureHandle
from gui.engine_link.engine_state import EngineState
from gui.explore.picture.canvas import PictureCanvas
from gui.explore.picture.empty_state import EmptyState
from gui.explore.picture.layers import ViewMode
from gui.explore.picture.levels import PictureLevels
from gui.explore.picture.pixel_values import PixelValues
from gui.explore.picture.readout import Readout
from gui.explore.picture.toolbar import PictureToolbar
from gui.explore.workspace import Workspace
from gui.widgets.panel_parts import column


class PictureView(QWidget):
    """Shows the workspace's picture and the newest result; holds views of shared memory, never copies."""

    def __init__(self, workspace: Workspace, engine_state: EngineState) -> None:
        super().__init__()
        self._picture: PictureHandle | None = None
        self._values: PixelValues | None = None
        self._state = engine_state
        self._hovered: tuple[int, int] | None = None
        self.canvas = PictureCanvas()
        self.toolbar = PictureToolbar(workspace, self.canvas.view)
        self.readout = Readout()
        self.empty_state = EmptyState()
        self._pages = QStackedWidget()
        self._pages.addWidget(self.empty_state)
        self._pages.addWidget(self.canvas)
        self.setLayout(column(self.toolbar, (self._pages, 1), self.readout, spacing=0))
        self.setAccessibleName("Picture view")
        workspace.picture_changed.connect(self._show_picture)
        engine_state.filtered.connect(self._show_result)
        engine_state.result_aged.connect(self._name_result)
        engine_state.progress_changed.connect(self._show_stage)
        self.toolbar.mode_chosen.connect(self.set_mode)
        self.canvas.view.changed.connect(self._describe)
        self.canvas.pixel_hovered.connect(self._hover)
        self._show_picture(workspace.picture)
        if engine_state.last_result is not None:
            self._show_result(engine_state.last_result)
        self._name_result()

    def set_mode(self, mode: ViewMode) -> None:
        self.canvas.set_mode(mode)
        self.toolbar.show_mode(mode)
        self._describe()

    def _show_picture(self, picture: PictureHandle | None) -> None:
        self._picture = picture
        self._hovered = None
        self._values = PixelValues(picture) if picture is not None else None
        self.canvas.set_picture(PictureLevels(picture.screen) if picture is not None else None, self._values)
        self.readout.set_layout_for(self._values)
        self._pages.setCurrentWidget(self.canvas if picture is not None else self.empty_state)
        self._describe()

    def _show_result(self, filtered: Filtered) -> None:
        # A failed run has no picture; the last one stays, because the numbers beside say what happened.
        values, screen = filtered.values, filtered.screen
        if self._values is None or values is None or screen is None:
            return
        if values.shape[:2] == self._values.original.shape[:2]:
            self._values.set_result(values)
            self.canvas.set_result(PictureLevels(screen))
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
        self.readout.show_pixel(pixel if self._values is not None else None)

    def _describe(self) -> None:
        zoom = self.canvas.view.transform.zoom
        self.toolbar.show_zoom(zoom if self._picture is not None else None)
        title = self._picture.description if self._picture is not None else "No picture yet"
        self.canvas.setAccessibleDescription(
            f"{title}, {self.canvas.mode.value}, {self.canvas.result_name}, zoom {100 * zoom:.0f} %"
        )

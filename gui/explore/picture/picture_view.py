"""The picture pane: original and result at one place and zoom, and the numbers under the cursor."""

import math
from typing import Any

import numpy as np
from PySide6.QtCore import QPointF, QSize, Qt, Signal
from PySide6.QtGui import QDrag, QMouseEvent
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QStackedWidget, QToolButton, QWidget

from engine.errors import EngineError, ImageReadError
from engine.host.protocol import CloseTiled, Filtered, PictureHandle, ScreenLevels, TiledScreen
from engine.host.request import ComputedResult, Seen, SharedArray
from engine.host.shared import attach
from engine.image.formats import titles
from engine.verify.verification import Region
from engine.work.filtering.clipping import Clipped
from gui.engine_link.engine_link import Ask
from gui.explore.picture.canvas import PictureCanvas
from gui.explore.picture.comparison import Comparison, Window
from gui.explore.picture.layers import ViewMode
from gui.explore.picture.levels import PictureLevels, finest_for
from gui.explore.picture.tiled import AskedValues, Numbers, TiledLevels, numbers_of, value_text
from gui.explore.picture.toolbar import PictureToolbar, Readout, ReadoutStrip
from gui.explore.workspace import Workspace
from gui.page.contract import Services
from gui.page.messages import PageMessages, Severity, WindowMessage
from gui.style.icons import icon
from gui.style.metrics import GRID, scaled_font
from gui.widgets.panel_parts import ICON_BUTTON_SIDE, centred_text, column, named, row

_TEXT = (
    "Open a picture with Ctrl+O, drop one here, or take a sample.\n"
    "The original and the filtered result are shown here."
)
_TITLE = "No picture yet"


class EmptyState(QWidget):
    """The invitation, with its two buttons."""

    def __init__(self) -> None:
        super().__init__()
        self.title = QLabel(_TITLE, alignment=Qt.AlignmentFlag.AlignCenter)
        self.title.setFont(scaled_font(1.5))
        self.text = centred_text(_TEXT)
        self.open_button = QPushButton("Open picture…")
        self.open_button.setToolTip(f"Choose a {titles()} file (Ctrl+O).")
        self.sample_button = QPushButton("Use a sample")
        self.sample_button.setToolTip("Show a picture that came with the program.")
        buttons = row(1, self.open_button, self.sample_button, 1)
        self.setLayout(column(1, self.title, self.text, buttons, 1, spacing=2 * GRID))

    def show_stage(self, stage: str) -> None:
        """Show the stage of opening a picture; empty brings the invitation back."""
        self.title.setText(f"{stage[:1].upper()}{stage[1:]} …" if stage else _TITLE)
        for widget in (self.text, self.open_button, self.sample_button):
            widget.setVisible(not stage)


_DRAG_TIP = (
    "Drag the result from here into a folder or another program: it is a PNG file there.\n"
    "A click copies it as a picture (Ctrl+Alt+C)."
)
_ICON_SIDE = 18


class DragHandle(QToolButton):
    """A button that can also be dragged."""

    dragged = Signal()  # the mouse left it with its button down, once for each press

    def __init__(self) -> None:
        super().__init__(autoRaise=True)
        self.setObjectName("dragHandle")
        self._pressed_at: QPointF | None = None
        named(self, "Drag or copy the result", _DRAG_TIP)
        self.setIcon(icon("drag"))
        self.setIconSize(QSize(_ICON_SIDE, _ICON_SIDE))
        self.setFixedSize(ICON_BUTTON_SIDE, ICON_BUTTON_SIDE)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.hide()
        self.setCursor(Qt.CursorShape.OpenHandCursor)

    def run_drag(self, drag: QDrag) -> None:
        """Drag until the button is released."""
        drag.exec(Qt.DropAction.CopyAction)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        super().mousePressEvent(event)
        if event.button() == Qt.MouseButton.LeftButton:
            self._pressed_at = event.position()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        # Not the button's own, which is up again as soon as the mouse leaves it.
        if self._pressed_at is None:
            return
        way = (event.position() - self._pressed_at).manhattanLength()
        if way >= QApplication.startDragDistance():
            self._pressed_at = None
            self.dragged.emit()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        was_dragged, self._pressed_at = self._pressed_at is None, None
        if was_dragged:
            # Too early for the file: neither a drag nor a click.
            self.setDown(False)
        else:
            super().mouseReleaseEvent(event)


FILE_SOURCE = "picture file"
_TWO_SIZES = (
    "Preview at 1/{reduced:,}: the mask covers {reduced:,} times more. Saved files are filtered in full size."
)


class PictureView(QWidget):
    """Shows the picture and its newest result, as views of shared memory; of a large one the tiles seen."""

    # The result that is shown is not kept any more where it was computed: it is to be computed again.
    result_gone = Signal()
    values_arrived = Signal()  # requested values have come

    def __init__(self, workspace: Workspace, services: Services, messages: PageMessages) -> None:
        super().__init__(accessibleName="Picture view")
        engine_state, link = services.state, services.link
        self._workspace, self._state, self._link, self._messages = workspace, engine_state, link, messages
        self._picture: PictureHandle | None = None
        self.values: Numbers | None = None
        """The numbers of the picture and of its newest result; None without a picture."""
        self._original: TiledLevels | None = None
        self._result: TiledLevels | None = None
        self._result_levels: PictureLevels | None = None
        self._server = ""  # the server that computed the result; empty for this computer
        self._hovered: tuple[int, int] | None = None
        self._last_message: WindowMessage | None = None
        self.canvas = PictureCanvas()
        of = workspace, engine_state, link
        self.comparison = Comparison(*of)
        self.windows = Window(*of, of_result=False), Window(*of, of_result=True)
        """What is black and white of the original, and of the result."""
        self.toolbar = PictureToolbar(workspace, services.actions)
        self.drag_handle = DragHandle()
        # In the corner of the result.
        self.canvas.setLayout(column(1, row(1, self.drag_handle, margins=(0, 0, GRID, GRID))))
        self.readout = Readout()
        self.empty_state = EmptyState()
        self._pages = QStackedWidget()
        self._pages.addWidget(self.empty_state)
        self._pages.addWidget(self.canvas)
        self.setLayout(column(self.toolbar, (self._pages, 1), ReadoutStrip(self.readout), spacing=0))
        workspace.picture_changed.connect(self._show_picture)
        engine_state.filtered.connect(self._show_result)
        engine_state.result_aged.connect(self._name_result)
        engine_state.machine_changed.connect(self._forget_elsewhere)
        # Its line is to be free for the preview of the next one.
        workspace.job_changed.connect(self._stop_elsewhere)
        engine_state.progress_changed.connect(self._show_stage)
        link.ready.connect(self._ask_again)
        self.toolbar.mode_chosen.connect(self.set_mode)
        self.toolbar.channel_chosen.connect(lambda channel: self.canvas.show_scene(channel=channel))
        self.canvas.blinked.connect(self.blink)
        self.canvas.region_drawn.connect(workspace.select)
        workspace.region_changed.connect(lambda: self.canvas.show_scene(region=workspace.region))
        self.comparison.changed.connect(self._show_comparison)
        for window in self.windows:
            window.changed.connect(self._show_windows)
        self.canvas.view.changed.connect(self._describe)
        self.canvas.pixel_hovered.connect(self._hover)
        self._show_picture(workspace.picture)
        self._name_result()

    def blink(self) -> None:
        """Show the original alone, or the result where that is shown already."""
        is_original = self.canvas.scene.mode == ViewMode.ORIGINAL
        self.set_mode(ViewMode.RESULT if is_original else ViewMode.ORIGINAL)

    @property
    def seen(self) -> Seen | None:
        """What of a result is on the screen; None where it has no other size than that of the screen."""
        picture, view = self._picture, self.canvas.view
        if picture is None or isinstance(picture.screen, TiledScreen):
            return None
        level = finest_for(view.transform.zoom, len(picture.screen.levels))
        rows, columns = ((int(first / 2**level), math.ceil(last / 2**level)) for first, last in view.seen)
        return Seen(level, rows, columns)

    @property
    def is_complete(self) -> bool:
        return self.canvas.is_complete

    def set_mode(self, mode: ViewMode) -> None:
        self.canvas.show_scene(mode=mode)
        self._compare()
        self.toolbar.show_mode(mode)
        self._describe()

    def _compare(self) -> None:
        """Have the difference of picture and result made where it is visible."""
        view = self.canvas.view
        rows, columns = ((math.floor(first), math.ceil(last)) for first, last in view.seen)
        self.comparison.show(self.canvas.scene.mode, Region(*rows, *columns))

    def _show_comparison(self) -> None:
        screen = self.comparison.screen
        shown = self._in_memory(screen) if screen else None
        self.canvas.show_scene(difference=shown, difference_words=self.comparison.words)

    def _show_windows(self) -> None:
        """Paint what a window makes of the values, or else the picture and its result as they came."""
        original, result = self.windows
        if self._picture is not None and isinstance(self._picture.screen, ScreenLevels):
            self.canvas.show_scene(original=self._in_memory(original.screen or self._picture.screen))
        if result.screen is not None:
            self.canvas.show_scene(result=self._in_memory(result.screen))
        elif self._result_levels is not None:
            self.canvas.show_scene(result=self._result_levels)
        self.canvas.show_scene(original_name=f"original{_window_words(original)}")
        self._name_result()

    def _show_picture(self, picture: PictureHandle | None) -> None:
        self._let_go()
        self._result_levels = None
        self._picture = picture
        self._hovered = None
        levels: PictureLevels | None = None
        if picture is None:
            self.values = None
        elif isinstance(picture.screen, TiledScreen):
            self._original = levels = self._watched(TiledLevels(picture.screen, self._link))
            self.values = Numbers(self._values_of(picture.screen), np.dtype(picture.dtype))
        else:
            self.values, levels = numbers_of(picture), self._in_memory(picture.screen)
        self.canvas.show_scene(original=levels, result=None, values=self.values)
        self.readout.set_layout_for(self.values)
        self._pages.setCurrentWidget(self.canvas if picture is not None else self.empty_state)
        self._show_stage()
        self._describe()

    def _show_result(self, filtered: Filtered) -> None:
        # A failed run has no picture; the last one stays, because the numbers beside say what happened.
        screen, shown = filtered.screen, self.values
        if shown is None:
            return
        values = filtered.values
        if isinstance(screen, TiledScreen):
            self._show_tiled(shown, screen, filtered)
        elif screen is None or not shown.are_here or not isinstance(values, SharedArray):
            pass
        elif values.shape[:2] == shown.shape[:2]:
            shown.result = attach(values)
            self._show_levels(self._in_memory(screen))

    def _show_tiled(self, shown: Numbers, screen: TiledScreen, filtered: Filtered) -> None:
        computed, tiles = filtered.values, filtered.tiles
        job = computed.job if isinstance(computed, ComputedResult) else None
        if shown.are_here:
            is_of_it = (tiles or job is not None) and screen.levels[0] == shown.shape[:2]
        else:
            job = self._workspace.job()
            is_of_it = job is not None and job.filter is not None
        if not is_of_it:
            return
        shown.result = self._values_of(screen, job)
        before = None if job is None else self._result
        self._show_levels(self._watched(TiledLevels(screen, self._link, job, before, tiles)))
        if self._state.result_is_passing:
            self._stop_elsewhere()

    def _values_of(self, screen: TiledScreen, job: Any = None) -> AskedValues:
        assert self._picture is not None
        values = AskedValues(screen, self._picture.pixels.shape, self._link, job)
        values.updated.connect(self._read_again)
        return values

    def _show_levels(self, levels: PictureLevels) -> None:
        self._stop_elsewhere()
        self._result = levels if isinstance(levels, TiledLevels) else None
        machine = self._state.machine
        is_elsewhere = self._result is not None and self._result.is_elsewhere
        self._server = machine.title if machine is not None and is_elsewhere else ""
        self._result_levels = levels
        # That of a window follows, and the one before is shown until then.
        if self.windows[1].screen is None:
            self.canvas.show_scene(result=levels)
        self._name_result()

    def _stop_elsewhere(self) -> None:
        """Ask no more for a result on another machine."""
        if self._result is not None and self._result.is_elsewhere:
            self._result.stop()

    def _forget_elsewhere(self) -> None:
        """Let go of a result that went with the connection; what has come of it stays on the screen."""
        self._stop_elsewhere()
        if self._server and self.values is not None:
            self.values.result = None

    def _in_memory(self, screen: ScreenLevels) -> PictureLevels:
        levels = PictureLevels(screen)
        levels.updated.connect(self.canvas.update)
        return levels

    def _watched(self, levels: TiledLevels) -> TiledLevels:
        levels.updated.connect(self.canvas.update)
        levels.faulted.connect(self._tell)
        levels.gone.connect(self.result_gone)
        levels.noted.connect(self._tell_note)
        return levels

    def _let_go(self) -> None:
        """Ask no more for the picture before, and have its file closed."""
        for levels in (self._original, self._result):
            if levels is not None:
                levels.stop()
        if self._picture is not None and isinstance(self._picture.screen, TiledScreen):
            self._messages.clear(FILE_SOURCE)
            self._link.ask(Ask(CloseTiled(self._picture.screen), lambda _: None, lambda _: None))
        self._original = self._result = self._last_message = None
        self._server = ""

    def _ask_again(self) -> None:
        if self._original is not None:
            self._original.again()

    def _tell(self, error: EngineError) -> None:
        what = error.what
        if isinstance(error, ImageReadError) and self._picture is not None:
            what = f"A part of {self._picture.title} cannot be read"
        message = WindowMessage(FILE_SOURCE, Severity.WARNING, what, error.why, error.remedy)
        if self._last_message != message:
            self._last_message = message
            self._messages.show(message)

    def _tell_note(self, note: str) -> None:
        # Its numbers grow while the file is read: once is enough.
        if self._picture is not None and self._last_message is None:
            self._last_message = WindowMessage(FILE_SOURCE, Severity.INFO, self._picture.title, note)
            self._messages.show(self._last_message)

    def _read_again(self) -> None:
        self.canvas.update()
        self._hover(self._hovered)
        self.values_arrived.emit()

    def _say_size(self) -> None:
        """Say in the line below at which size a result is previewed, while nothing is pointed at."""
        result, self.readout.hint = self._result, ""
        if result is not None:
            reduced = result.reduced_by(self.canvas.view.transform.zoom)
            sentences = _TWO_SIZES.format(reduced=reduced) if reduced > 1 else "", result.note
            self.readout.hint = " ".join(filter(None, sentences))
        if self._hovered is None:
            self._hover(None)

    def _show_stage(self) -> None:
        if self._pages.currentWidget() is self.empty_state:
            self.empty_state.show_stage(self._state.stage)

    def _name_result(self) -> None:
        state = self._state
        self.drag_handle.setVisible(state.last_result is not None)
        name = "earlier result" if state.result_is_earlier else "result"
        self.readout.result_name = name
        number = self._workspace.shown_step
        if name == "result" and number:
            name = f"result of step {number}"
        name = f"{name} on {self._server}" if self._server else name
        name += _window_words(self.windows[1])
        has_range = state.last_result is not None and self.windows[1].screen is None
        clipped = Clipped(*state.last_result.clipped) if has_range and state.last_result else Clipped()
        self.toolbar.show_clipped(clipped.in_shortest)
        self.canvas.show_scene(result_name=", ".join(filter(None, (name, clipped.in_short))))
        self._hover(self._hovered)
        self._describe()

    def _hover(self, pixel: tuple[int, int] | None) -> None:
        self._hovered = pixel
        self.readout.show_pixel(pixel if self.values is not None else None)

    def _describe(self) -> None:
        self._say_size()
        view, zoom = self.canvas.view, self.canvas.view.transform.zoom
        picture, scene = self._picture, self.canvas.scene
        self._workspace.view_middle = view.middle if picture is not None else None
        self._compare()
        self.toolbar.show_zoom(zoom if picture is not None else None)
        title = picture.description if picture is not None else _TITLE
        words = f"{title}, {scene.mode.value}, {scene.result_name}, zoom {100 * zoom:.0f} %"
        self.canvas.setAccessibleDescription(words)


def _window_words(window: Window) -> str:
    if window.screen is None or window.ends is None:
        return ""
    return ", black {} to white {}".format(*(value_text(np.float64(end)) for end in window.ends))

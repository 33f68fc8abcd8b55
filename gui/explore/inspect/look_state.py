"""What the panel Look shows of picture and result: counts of the engine, and the values along a line."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QTimer

from engine.errors import EngineError
from engine.host.picture_numbers import MeasurePicture, PictureNumbers
from engine.host.tiles import TiledScreen
from engine.image.convert import full_scale_of
from gui.engine_link.engine_link import EngineLink, Newest, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.explore.explain.question import Question
from gui.explore.picture.layers import Drawing, Line
from gui.explore.picture.picture_view import PictureView
from gui.explore.picture.pixel_values import NotYet, Numbers
from gui.explore.workspace import Workspace

HISTOGRAM, PROFILE = "histogram", "profile"

_NO_PICTURE = "Open a picture: its histogram and a profile along a line are shown here."
_IN_PARTS = (
    "This picture stays in its file, and is not counted as a whole.\n"
    "Select a region with Shift and drag, and crop to it (menu Region)."
)
_DRAW = "Drag a line over the picture: the values along it are shown here."
_ASKING = "Counting."
_READING = "Reading the values."
_WAIT_MS = 100
# Values that come one after the other are shown together.
_ARRIVED_MS = 15
# Of a longer line so many points are read.
_LONGEST_LINE, _POINTS = 16_000, 1000


class Profile(NamedTuple):
    """Values along a line: (points, channels)."""

    original: NDArray[Any]
    result: NDArray[Any] | None


class LookState(Question):
    """What is counted and read of picture and result."""

    def __init__(self, workspace: Workspace, state: EngineState, link: EngineLink, view: PictureView) -> None:
        # While a mask is dragged, the counts would be those of the result before.
        changes = workspace.region_changed, state.filtered, state.ready_changed
        super().__init__(*changes, delay_ms=_WAIT_MS)
        self._workspace, self._state, self._view = workspace, state, view
        self.windows = view.windows
        self._newest = Newest(link)
        self.tool = HISTOGRAM
        self.channel = 0
        self.line: Line | None = None
        self.numbers: PictureNumbers | None = None
        self.profile: Profile | None = None
        """The values along the line, a point for each row or column that it crosses."""
        self._counted: MeasurePicture | None = None
        self._refused, self._reading = "", _READING
        self._arrived = QTimer(self, singleShot=True, interval=_ARRIVED_MS)
        self._arrived.timeout.connect(self._read)
        view.values_arrived.connect(self._note_arrived)
        view.canvas.line_drawn.connect(self._take_line)
        workspace.picture_changed.connect(self._forget)
        # A preview waits while values are computed to be counted.
        workspace.job_changed.connect(self._newest.cancel)

    def watch(self, is_visible: bool) -> None:
        super().watch(is_visible)
        self._take_mouse()
        self.ask_now()

    def choose(self, tool: str) -> None:
        """Show another one of the tools."""
        self.tool = tool
        self._take_mouse()
        self._read()
        self.ask_now()

    def choose_channel(self, channel: int) -> None:
        """Show the numbers of another channel."""
        self.channel = channel
        self.changed.emit()

    @property
    def channels(self) -> int:
        """Channels of the picture."""
        picture = self._workspace.picture
        return 0 if picture is None else picture.channels

    @property
    def white(self) -> float:
        """The value that is white where no window is chosen."""
        picture = self._workspace.picture
        return full_scale_of(np.dtype(picture.dtype)) if picture is not None else 255.0

    @property
    def region_text(self) -> str:
        """What is counted, in words."""
        picture, region = self._workspace.picture, self._workspace.region
        if picture is None:
            return ""
        if region is None:
            return f"Whole picture, {picture.width:,} × {picture.height:,}"
        rows, columns = map(len, region.ranges)
        return f"Region {columns:,} × {rows:,} from row {region.top}, column {region.left}"

    @property
    def area(self) -> int:
        """Pixels that are counted."""
        picture, region = self._workspace.picture, self._workspace.region
        return region.pixels if region else picture.width * picture.height if picture else 0

    @property
    def words(self) -> str:
        """Why there is nothing to see; empty where there is something."""
        picture = self._workspace.picture
        if picture is None:
            return _NO_PICTURE
        if self.tool == PROFILE:
            return _DRAW if self.line is None else self._reading if self.profile is None else ""
        if isinstance(picture.screen, TiledScreen):
            return _IN_PARTS
        return "" if self.numbers is not None else self._refused or _ASKING

    @property
    def is_settled(self) -> bool:
        """Whether nothing is on its way."""
        return super().is_settled and (not self._is_visible or self._newest.in_flight is None)

    def _read(self) -> None:
        """Read the values along the line; the last ones stay until they come."""
        values = self._view.values
        try:
            if self.tool == PROFILE:
                self.profile = None if values is None or self.line is None else _profile(values, self.line)
        except NotYet:
            self._reading = _READING
        except EngineError as error:
            self._reading, self.profile = str(error), None
        self.changed.emit()

    def _note_arrived(self) -> None:
        if self._is_visible and self.tool != HISTOGRAM and not self._arrived.isActive():
            self._arrived.start()

    def _take_mouse(self) -> None:
        """Let dragging draw a line while the profile is looked at."""
        canvas, draws = self._view.canvas, self._is_visible and self.tool == PROFILE
        if draws:
            canvas.drawing = Drawing.LINE
        elif canvas.drawing is Drawing.LINE:
            canvas.drawing = Drawing.PAN
        canvas.show_scene(line=self.line if draws else None)

    def _take_line(self, line: Line) -> None:
        self.line = line
        self._read()

    def _forget(self) -> None:
        self.line = self.profile = self.numbers = self._counted = None
        self._newest.forget()
        self._take_mouse()
        self.refresh()
        self.changed.emit()

    def _ask(self) -> None:
        self._read()
        picture, result = self._workspace.picture, self._state.last_result
        if picture is None or isinstance(picture.screen, TiledScreen) or self.tool != HISTOGRAM:
            return
        values = None if result is None else result.values
        request = MeasurePicture(picture, values, self._workspace.region)
        if request != self._counted and request != self._newest.in_flight:
            self._newest.ask(request, lambda numbers: self._count(request, numbers), self._failed)

    def _count(self, request: MeasurePicture, numbers: PictureNumbers) -> None:
        self._counted, self.numbers, self._refused = request, numbers, ""
        self.changed.emit()

    def _failed(self, error: EngineError) -> None:
        if not needs_no_message(error):
            self._refused, self.numbers = str(error), None
            self.changed.emit()


def _profile(values: Numbers, line: Line) -> Profile:
    (row, column), (last_row, last_column) = line
    count = max(abs(last_row - row), abs(last_column - column)) + 1
    if count > _LONGEST_LINE:
        count = _POINTS
    rows = np.rint(np.linspace(row, last_row, count)).astype(np.int64)
    columns = np.rint(np.linspace(column, last_column, count)).astype(np.int64)
    original, result = values.original[rows, columns], values.result
    return Profile(original, None if result is None else result[rows, columns])

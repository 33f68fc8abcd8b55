"""The panel Histogram: counts of picture and result with what is clipped, a profile along a line."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtWidgets import QLabel, QMenu, QSizePolicy, QStackedWidget, QWidget

from engine.errors import EngineError
from engine.host.protocol import PERCENTILES, ChannelNumbers, MeasurePicture, PictureNumbers, TiledScreen
from engine.image.convert import full_scale_of
from gui.engine_link.engine_link import EngineLink, Newest, needs_no_message
from gui.engine_link.engine_state import EngineState
from gui.explore.explain.question import Question
from gui.explore.inspect.histogram_plot import HistogramPlot, channel_colour
from gui.explore.inspect.lens import channel_name
from gui.explore.picture.comparison import Window
from gui.explore.picture.layers import DragTool, PixelLine
from gui.explore.picture.picture_view import PictureView
from gui.explore.picture.tiled import NotYet, Numbers, value_text
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID, follow, number_font, small_font
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import (
    PANEL_MARGINS,
    NarrowBox,
    PlaceholderStack,
    boxed,
    column,
    fill_box,
    folding_row,
    menu_button,
    named,
    quiet_label,
    row,
)
from gui.widgets.plot import Plot, pg

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
_ARRIVED_MS = 15  # values that come one after the other are shown together
_LONGEST_LINE, _POINTS = 16_000, 1000  # of a longer line so many points are read


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
        self._asks = self._newest = Newest(link)
        self.tool = HISTOGRAM
        self.channel = 0
        self.line: PixelLine | None = None
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
        self.tool = tool
        self._take_mouse()
        self._read()
        self.ask_now()

    def choose_channel(self, channel: int) -> None:
        self.channel = channel
        self.changed.emit()

    @property
    def channels(self) -> int:
        picture = self._workspace.picture
        return 0 if picture is None else picture.channels

    @property
    def white(self) -> float:
        """The value that is white where no window is chosen."""
        picture = self._workspace.picture
        return full_scale_of(np.dtype(picture.dtype)) if picture is not None else 255.0

    @property
    def region_text(self) -> str:
        picture, region = self._workspace.picture, self._workspace.region
        if region is not None:
            rows, columns = map(len, region.ranges)
            return f"Region {columns:,} × {rows:,} from row {region.top}, column {region.left}"
        return f"Whole picture, {picture.width:,} × {picture.height:,}" if picture is not None else ""

    @property
    def area(self) -> int:
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
        if self.is_visible and self.tool != HISTOGRAM and not self._arrived.isActive():
            self._arrived.start()

    def _take_mouse(self) -> None:
        """Let dragging draw a line while the profile is visible."""
        canvas, draws = self._view.canvas, self.is_visible and self.tool == PROFILE
        if draws:
            canvas.drawing = DragTool.LINE
        elif canvas.drawing is DragTool.LINE:
            canvas.drawing = DragTool.PAN
        canvas.show_scene(line=self.line if draws else None)

    def _take_line(self, line: PixelLine) -> None:
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


def _profile(values: Numbers, line: PixelLine) -> Profile:
    (row, column), (last_row, last_column) = line
    count = max(abs(last_row - row), abs(last_column - column)) + 1
    points = np.linspace(*line, count if count <= _LONGEST_LINE else _POINTS)
    rows, columns = np.rint(points).astype(np.int64).T
    result = values.result
    return Profile(values.original[rows, columns], None if result is None else result[rows, columns])


class ProfilePlot(Plot):
    """One channel, or all of them."""

    def __init__(self) -> None:
        super().__init__()
        self._profile: Profile | None = None
        self.setAccessibleName("Profile along the line")
        self.setMinimumHeight(20 * GRID)
        theme_notifier().changed.connect(self._draw)

    def show_profile(self, profile: Profile | None) -> None:
        self._profile = profile
        self._draw()

    def _draw(self) -> None:
        theme, profile = current_theme(), self._profile
        self.clear()
        self.colour(theme)
        for axis in self.axes:
            axis.setTickFont(small_font())
        if profile is None:
            return
        count, channels = profile.original.shape
        at = np.arange(count)
        for channel in range(channels):
            colour = channel_colour(channel, channels)
            dashed = pg.mkPen(colour, width=1, style=Qt.PenStyle.DashLine)
            self.draw(pg.PlotCurveItem(at, profile.original[:, channel].astype(float), pen=dashed))
            if profile.result is not None and channel < profile.result.shape[1]:
                values = profile.result[:, channel].astype(float)
                solid = pg.mkPen(colour, width=1.75)
                self.draw(pg.PlotCurveItem(at, values, pen=solid, connect="finite", antialias=True))
        self.box.autoRange(padding=0.03)
        ends = f"{int(profile.original.min()):,} to {int(profile.original.max()):,}"
        self.setAccessibleDescription(f"{count:,} points; the original has {ends}.")


_TOOLS = {HISTOGRAM: "Histogram", PROFILE: "Line profile"}
_TOOL_TIP = (
    "Histogram: how often each brightness occurs, in the picture or its region. Line profile: drag a line "
    "over the picture."
)
_PERCENTILES, _AS_RANGE = "{} to {} % of the values".format(*PERCENTILES), "As the display range"
_LINES = {
    "Mean": "mean", "Deviation": "deviation", "Minimum": "least", "Maximum": "most",
    "Below black": "below", "Above white": "above", "NaN or infinite": "not_finite",
}  # fmt: skip
_WINDOW_TIP = (
    "Which values are black and which are white on the screen: drag the two handles in a histogram, or "
    "choose. Values and files stay as they are."
)
_LEAST_PLOT = 11 * GRID


class LookPanel(QWidget):
    """Numbers of picture and result."""

    def __init__(self, look: LookState) -> None:
        super().__init__()
        self._look = look
        self.tool = NarrowBox("What to look at", _TOOL_TIP, 6, _TOOLS)
        self.channel = NarrowBox("Channel", "Whose numbers are shown.", 4)
        self.what = ElidedLabel(most=2, small=True)
        self.before, self.after = self._plots = HistogramPlot(), HistogramPlot()
        for plot, name in zip(self._plots, ("original", "result"), strict=True):
            plot.setAccessibleName(f"Histogram of the {name}")
            plot.setMinimumHeight(_LEAST_PLOT)
        flags, rich = Qt.TextInteractionFlag, Qt.TextFormat.RichText
        read = QLabel(textFormat=rich, textInteractionFlags=flags.TextSelectableByMouse)
        self.numbers = named(read, "Numbers of original and result")
        self.numbers.setFont(number_font())
        self.numbers.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.profile = ProfilePlot()
        before, self._after_title = (quiet_label(name, small=True) for name in ("Original", "Result"))
        lines = quiet_label("Dashed: the original. Solid: the result.", small=True, wraps=True)
        histograms = before, (self.before, 1), self._after_title, (self.after, 1), self.numbers
        self._pages = QStackedWidget()
        for parts in (histograms, (lines, (self.profile, 1))):
            self._pages.addWidget(boxed(column(*parts, spacing=HALF_GRID)))
        self.stack = PlaceholderStack(self._pages)
        menu = QMenu(self)
        for text, choose in ((_PERCENTILES, Window.choose_percentiles), (_AS_RANGE, Window.forget)):
            menu.addAction(text).triggered.connect(lambda _on, of=choose: [*map(of, look.windows)])
        self._as_range = menu.actions()[-1]
        self.window_button = menu_button("Window", "Window of the values", _WINDOW_TIP, menu)
        head = folding_row((self.tool, 1), self.channel, spacing=HALF_GRID)
        what = row((self.what, 1), self.window_button, spacing=HALF_GRID)
        self.setLayout(column(head, what, (self.stack, 1), spacing=HALF_GRID, margins=PANEL_MARGINS))
        self.tool.chosen.connect(look.choose)
        self.channel.chosen.connect(look.choose_channel)
        for plot, window in zip(self._plots, look.windows, strict=True):
            plot.window_moved.connect(window.choose)
            window.changed.connect(self._show_windows)
        follow(self._show, look.changed, theme_notifier().changed)

    def sizeHint(self) -> QSize:
        return QSize(35 * GRID, 50 * GRID)

    def _show(self) -> None:
        look = self._look
        self.stack.say(look.words)
        fill_box(self.tool, _TOOLS, look.tool)
        channels = look.channels
        names = {at: channel_name(at, channels).capitalize() for at in range(channels)}
        fill_box(self.channel, names, min(look.channel, max(0, channels - 1)))
        self.channel.setVisible(channels > 1 and look.tool != PROFILE)
        self.window_button.setVisible(look.tool == HISTOGRAM and not look.words)
        self._pages.setCurrentIndex(list(_TOOLS).index(look.tool))
        self.what.say(look.region_text if look.tool == HISTOGRAM else "")
        if look.words:
            return
        if look.tool == PROFILE:
            self.profile.show_profile(look.profile)
        elif look.numbers is not None:
            self._show_numbers(look.numbers)

    def _show_numbers(self, numbers: PictureNumbers) -> None:
        self.before.show_counts(tuple(one.counts for one in numbers.before), numbers.before_ends)
        self.after.show_counts(tuple(one.counts for one in numbers.after), numbers.after_ends)
        self._show_windows()
        for part in (self.after, self._after_title):
            part.setVisible(bool(numbers.after))
        shown = [one[min(self._look.channel, len(one) - 1)] for one in (numbers.before, numbers.after) if one]
        self.numbers.setText(_numbers_html(shown, self._look.area))

    def _show_windows(self) -> None:
        for plot, window in zip(self._plots, self._look.windows, strict=True):
            plot.show_window(window.ends or (0.0, self._look.white))
        self._as_range.setEnabled(any(window.is_wanted for window in self._look.windows))


def _numbers_html(both: Sequence[ChannelNumbers], area: int) -> str:
    theme = current_theme()
    rows = [("", *("Original", "Result")[: len(both)])]
    for title, name in _LINES.items():
        if name != "not_finite" or any(one.not_finite for one in both):
            rows.append((title, *(_number(getattr(one, name), one, name) for one in both)))
    rows.append(("Area, pixels", f"{area:,}"))
    lines = ""
    for at, (title, *texts) in enumerate(rows):
        colour = theme.text if at else theme.muted
        cells = "".join(f"<td align='right' style='color:{colour}'>{one}</td>" for one in texts)
        lines += f"<tr><td style='color:{theme.muted}'>{title}</td>{cells}</tr>"
    return f"<table width='100%' cellspacing='1' cellpadding='1'>{lines}</table>"


def _number(value: float, one: ChannelNumbers, name: str) -> str:
    if name not in ("below", "above", "not_finite"):
        return value_text(np.float64(value))
    share = 100 * value / one.total if one.total else 0.0
    return f"{share:.1f} %" if value else "0"

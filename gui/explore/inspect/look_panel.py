"""The panel Look: histograms before and after with what is clipped, a profile along a line."""

import numpy as np
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QLabel, QMenu, QSizePolicy, QStackedWidget, QWidget

from engine.host.picture_numbers import PERCENTILES, ChannelNumbers
from gui.explore.inspect.histogram_plot import HistogramPlot, channel_colour
from gui.explore.inspect.lens import channel_name
from gui.explore.inspect.look_state import HISTOGRAM, PROFILE, LookState, Profile
from gui.explore.picture.pixel_values import value_text
from gui.plots.plot import Plot, pg
from gui.style.metrics import GRID, HALF_GRID, number_font, small_font
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.labels import ElidedLabel
from gui.widgets.panel_parts import (
    PANEL_MARGINS,
    Placeholder,
    column,
    fill_box,
    folding_row,
    menu_button,
    narrow_box,
    quiet_label,
    row,
)


class ProfilePlot(Plot):
    """One channel, or all of them."""

    def __init__(self) -> None:
        super().__init__()
        self._profile: Profile | None = None
        self.setAccessibleName("Profile along the line")
        self.setMinimumHeight(20 * GRID)
        theme_notifier().changed.connect(self._draw)

    def show_profile(self, profile: Profile | None) -> None:
        """Show the values along another line."""
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
        ends = [f"{int(values.min()):,} to {int(values.max()):,}" for values in (profile.original,)]
        self.setAccessibleDescription(f"{count:,} points; the original has {ends[0]}.")


_TOOLS = {HISTOGRAM: "Histogram", PROFILE: "Line profile"}
_TOOL_TIP = (
    "Histogram: how often each brightness occurs, in the picture or its region. Line profile: drag a line "
    "over the picture."
)
_PERCENTILES = "{} to {} % of the values".format(*PERCENTILES)
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
        self.tool = narrow_box("What to look at", _TOOL_TIP, 6)
        self.channel = narrow_box("Channel", "Whose numbers are shown.", 4)
        self.what = ElidedLabel(most=2, small=True)
        self.before, self.after = HistogramPlot(), HistogramPlot()
        self.numbers = QLabel()
        self.profile = ProfilePlot()
        fill_box(self.tool, _TOOLS, look.tool)
        self._build()
        self.tool.activated.connect(lambda at: look.choose(self.tool.itemData(at)))
        self.channel.activated.connect(look.choose_channel)
        look.changed.connect(self._show)
        for plot, window in zip((self.before, self.after), look.windows, strict=True):
            plot.window_moved.connect(window.choose)
            window.changed.connect(self._show_windows)
        theme_notifier().changed.connect(self._show)
        self._show()

    def sizeHint(self) -> QSize:
        return QSize(35 * GRID, 50 * GRID)

    def _build(self) -> None:
        self.numbers.setFont(number_font())
        self.numbers.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.numbers.setTextFormat(Qt.TextFormat.RichText)
        self.numbers.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.numbers.setAccessibleName("Numbers of original and result")
        for plot, name in ((self.before, "original"), (self.after, "result")):
            plot.setAccessibleName(f"Histogram of the {name}")
            plot.setMinimumHeight(_LEAST_PLOT)
        self._pages = QStackedWidget()
        before, after = quiet_label("Original", small=True), quiet_label("Result", small=True)
        self._after_title = after
        pages = (
            (before, (self.before, 1), after, (self.after, 1), self.numbers),
            (
                quiet_label("Dashed: the original. Solid: the result.", small=True, wraps=True),
                (self.profile, 1),
            ),
        )
        for parts in pages:
            page = QWidget()
            page.setLayout(column(*parts, spacing=HALF_GRID))
            self._pages.addWidget(page)
        self.stack = Placeholder(self._pages)
        self._window_menu = self._make_window_menu()
        self.window_button = menu_button("Window", "Window of the values", _WINDOW_TIP, self._window_menu)
        head = folding_row((self.tool, 1), self.channel, spacing=HALF_GRID)
        what = row((self.what, 1), self.window_button, spacing=HALF_GRID)
        self.setLayout(column(head, what, (self.stack, 1), spacing=HALF_GRID, margins=PANEL_MARGINS))

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
        self.what.setText(look.region_text if look.tool == HISTOGRAM else "")
        self.what.setVisible(look.tool == HISTOGRAM)
        if look.words:
            return
        {HISTOGRAM: self._show_numbers, PROFILE: self._show_profile}[look.tool]()

    def _show_numbers(self) -> None:
        numbers = self._look.numbers
        if numbers is None:
            return
        self.before.show_counts(tuple(one.counts for one in numbers.before), numbers.before_ends)
        self.after.show_counts(tuple(one.counts for one in numbers.after), numbers.after_ends)
        self._show_windows()
        for part in (self.after, self._after_title):
            part.setVisible(bool(numbers.after))
        chosen = min(self._look.channel, len(numbers.before) - 1)
        before = numbers.before[chosen]
        after = numbers.after[min(chosen, len(numbers.after) - 1)] if numbers.after else None
        self.numbers.setText(_numbers_html(before, after, self._look.area))

    def _show_windows(self) -> None:
        for plot, window in zip((self.before, self.after), self._look.windows, strict=True):
            plot.show_window(window.ends or (0.0, self._look.white))
        for action in self._window_menu.actions()[-1:]:
            action.setEnabled(any(window.is_wanted for window in self._look.windows))

    def _make_window_menu(self) -> QMenu:
        menu, windows = QMenu(self), self._look.windows
        for text, choose in (
            (_PERCENTILES, lambda window: window.choose_percentiles()),
            ("As the display range", lambda window: window.choose(None)),
        ):
            menu.addAction(text).triggered.connect(
                lambda _on=False, choose=choose: [choose(window) for window in windows]
            )
        return menu

    def _show_profile(self) -> None:
        self.profile.show_profile(self._look.profile)


def _numbers_html(before: ChannelNumbers, after: ChannelNumbers | None, area: int) -> str:
    theme = current_theme()
    lines = (
        ("Mean", "mean"), ("Deviation", "deviation"), ("Minimum", "least"), ("Maximum", "most"),
        ("Below black", "below"), ("Above white", "above"), ("NaN or infinite", "not_finite"),
    )  # fmt: skip
    rows = [_row("", "Original", "Result" if after else "", theme.muted, theme.muted)]
    for title, name in lines:
        first, second = (_number(getattr(one, name), one, name) if one else "" for one in (before, after))
        if name != "not_finite" or any(getattr(one, name) for one in (before, after) if one):
            rows.append(_row(title, first, second, theme.muted, theme.text))
    rows.append(_row("Area, pixels", f"{area:,}", "", theme.muted, theme.text))
    return f"<table width='100%' cellspacing='1' cellpadding='1'>{''.join(rows)}</table>"


def _number(value: float, one: ChannelNumbers, name: str) -> str:
    if name not in ("below", "above", "not_finite"):
        return value_text(np.float64(value))
    share = 100 * value / one.total if one.total else 0.0
    return f"{share:.1f} %" if value else "0"


def _row(title: str, before: str, after: str, muted: str, text: str) -> str:
    cells = "".join(f"<td align='right' style='color:{text}'>{one}</td>" for one in (before, after))
    return f"<tr><td style='color:{muted}'>{title}</td>{cells}</tr>"

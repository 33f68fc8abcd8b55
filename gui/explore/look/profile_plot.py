"""Values along a line as curves: the original dashed, the result solid."""

import numpy as np
from PySide6.QtCore import Qt

from gui.explore.look.look_state import Profile
from gui.explore.operation.histogram_plot import channel_colour
from gui.plots.library import pg
from gui.plots.plot import Plot
from gui.style.metrics import GRID, small_font
from gui.style.theme import current_theme, theme_notifier


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

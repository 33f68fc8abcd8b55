"""A plot with one row per name, because names of kernels are long and plots are low.

Values are placed by hand, by their logarithm where all are positive, so that ticks can be plain words (20 µs,
5 ms, 100×).
"""

import math
from collections.abc import Callable, Sequence

import pyqtgraph as pg
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QToolButton, QWidget

from gui.explore.run_words import EARLIER
from gui.plots.log_axis import LogAxis, colour_plot, make_still, text_over
from gui.plots.row_scroll import RowScroll
from gui.style.metrics import EARLIER_OPACITY, GRID, HALF_GRID, number_font
from gui.style.theme import current_theme
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import column, row

# In units of log10: a factor of 4, so that at least two ticks have a label.
_SMALLEST_SPAN = 0.6
_LEFT_ROOM = 0.05
_NAMES_WIDTH_FRACTION = 0.4
# Blanks before a number: half a mark is as wide.
_MARK_ROOM = "   "
_CAPTION_LINES = 4
# Drawing 200 rows anew takes 80 ms, those in view 8.
MANY_ROWS = 40


class RowPlot(QWidget):
    """Rows, an axis below them, a caption above with a button for the choice of the axis."""

    def __init__(self, tick_text: Callable[[float], str], axis_button: QToolButton) -> None:
        super().__init__()
        self._low, self._high, self._number_pixels = 0.0, 1.0, 0
        self._names: dict[int, str] = {}
        self._name_ticks: list[tuple[float, str]] = []
        self._drawn: list[pg.GraphicsObject] = []
        self._numbers: list[pg.TextItem] = []
        self._spare_numbers: list[pg.TextItem] = []
        self.axis = LogAxis(tick_text)
        self.caption = ElidedLabel(most=_CAPTION_LINES, small=True)
        self.axis_button = axis_button
        self.omitted = ElidedLabel()
        self.plot = pg.PlotWidget(axisItems={"bottom": self.axis})
        self.rows = RowScroll(self.plot)
        self.empty_text = text_over(self.plot)
        make_still(self.plot)
        self.plot.getAxis("left").setStyle(tickLength=0)
        self.axis.setStyle(tickLength=-HALF_GRID)
        self.axis.setGrid(40)
        top = row((self.caption, 1), self.axis_button)
        top.setAlignment(self.axis_button, Qt.AlignmentFlag.AlignTop)
        middle = row((self.plot, 1), self.rows, spacing=0)
        margins = (GRID, HALF_GRID, GRID, GRID)
        self.setLayout(column(top, (middle, 1), self.omitted, spacing=HALF_GRID, margins=margins))
        self.plot.getViewBox().sigResized.connect(self._fit_values)

    def begin(self) -> None:
        """Take away what was drawn."""
        for item in self._drawn:
            self.plot.removeItem(item)
        self._drawn = []
        self._spare_numbers, self._numbers = self._numbers[::-1], []
        colour_plot(self.plot, current_theme())
        self.plot.getAxis("left").setTextPen(pg.mkPen(current_theme().text))

    def end(
        self, caption: str, omitted: str, empty: str, words: Sequence[str], *, is_earlier: bool = False
    ) -> None:
        """Show the texts around the plot; `empty` in its place where there are no rows in words.

        What is for an earlier problem is dimmed, and the caption says so.
        """
        if is_earlier:
            caption = f"{EARLIER[0].upper()}{EARLIER[1:]} · {caption}"
        self.plot.getPlotItem().setOpacity(EARLIER_OPACITY if is_earlier else 1.0)
        for spare in self._spare_numbers:
            self.plot.removeItem(spare)
        self._spare_numbers = []
        if not words:
            self.set_rows(())
        # A size stays on one line.
        self.caption.setText(caption.replace(" × ", "\u00a0×\u00a0"))
        self.caption.setVisible(bool(caption))
        self.axis_button.setVisible(bool(caption))
        self.omitted.setText(omitted)
        self.omitted.setVisible(bool(omitted))
        self.empty_text.setText(empty)
        self.empty_text.setVisible(not words)
        for side in ("left", "bottom"):
            self.plot.getPlotItem().showAxis(side, bool(words))
        heard = "; ".join(words) or empty.replace("\n", " ")
        heard = f"{EARLIER}: {heard}" if is_earlier else heard
        self.setAccessibleDescription(f"{heard.rstrip('.')}. {omitted}".strip())

    def at(self, value: float) -> float:
        """Return where a value stands on the axis; 0 ms from a coarse clock is drawn as 1 ns."""
        return math.log10(max(value, 1e-6)) if self.axis.is_log else value

    def set_rows(self, names: Sequence[str]) -> range:
        """Name the rows, the first on top; return which to draw: all, or of very many those in view."""
        self.rows.set_rows(len(names))
        # Before there is a layout all rows are in view.
        drawn = range(len(names)) if len(names) <= MANY_ROWS else self.rows.in_view[: 2 * MANY_ROWS]
        self._names = {at_row: names[at_row] for at_row in drawn}
        self._show_names()
        return drawn

    def set_values(self, low: float, high: float, numbers: Sequence[str]) -> None:
        """Show places from `low` to `high`, with room on the right for the longest of `numbers`."""
        smallest = _SMALLEST_SPAN if self.axis.is_log else 1e-9
        if (missing := smallest - (high - low)) > 0:
            low, high = low - missing / 2, high + missing / 2
        metrics = QFontMetrics(number_font())
        self._number_pixels = max(metrics.horizontalAdvance(f"{_MARK_ROOM}{text}") for text in numbers) + GRID
        self._low, self._high = low, high
        self._fit_values()

    def add(self, item: pg.GraphicsObject) -> None:
        """Draw an item until everything is drawn anew."""
        self._drawn.append(item)
        self.plot.addItem(item)

    def add_number(self, text: str, x: float, at_row: int) -> None:
        """Write a number to the right of a mark."""
        # Making a text item takes 0.6 ms, so those of the last time are used again.
        if self._spare_numbers:
            item = self._spare_numbers.pop()
        else:
            item = pg.TextItem(anchor=(0, 0.5))
            item.setFont(number_font())
            self.plot.addItem(item)
        self._numbers.append(item)
        item.setText(f"{_MARK_ROOM}{text}", color=current_theme().text)
        item.setPos(x, -float(at_row))

    def minimumSizeHint(self) -> QSize:
        return QSize(30 * GRID, 16 * GRID)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._show_names()

    def _show_names(self) -> None:
        # The middle of a long name goes before the values have no room: variant and block stay known.
        metrics, most = QFontMetrics(number_font()), int(_NAMES_WIDTH_FRACTION * self.plot.width())
        ticks = [
            (-float(at_row), metrics.elidedText(name, Qt.TextElideMode.ElideMiddle, most))
            for at_row, name in self._names.items()
        ]
        if ticks != self._name_ticks:
            self._name_ticks = ticks
            self.plot.getAxis("left").setTicks([ticks])

    def _fit_values(self) -> None:
        # Numbers have a size in pixels, so their share of the axis changes with the panel's width.
        pixels = max(1.0, self.plot.getViewBox().width())
        room = min(0.75, self._number_pixels / pixels)
        span = (self._high - self._low) / (1.0 - room - _LEFT_ROOM)
        self.plot.setXRange(self._low - _LEFT_ROOM * span, self._high + room * span, padding=0)

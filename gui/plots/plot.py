"""A plot that is only read: a view with an axis to its left and one below."""

import math
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

from PySide6.QtCore import QRectF, Qt
from PySide6.QtWidgets import QGraphicsGridLayout, QLabel, QSizePolicy, QWidget

from gui.style.metrics import GRID, HALF_GRID, number_font
from gui.style.theme import Theme
from gui.widgets.panel_parts import centred_text, column

# A widget that nothing here uses, for which pyqtgraph loads CUDA's bindings: 12 MB of the window.
sys.modules.setdefault("pyqtgraph.widgets.RawImageWidget", ModuleType("not loaded"))

import pyqtgraph as pg  # noqa: E402

__all__ = ["pg"]
_MANTISSAS = ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0), (1.0, 2.0, 5.0), (1.0,))
_MOST_TICKS = 7
# Half of the longest word of a tick, which may be written to the left of where the axis begins.
_WORD_ROOM = 3 * GRID


class Plot(pg.GraphicsView):
    """Takes neither wheel, focus nor drops: nothing can be panned, and the window takes files.

    It has no form of 60 controls behind a menu, nor buttons, titles and averages, as pyqtgraph's `PlotWidget`
    has: that takes three times as long to make, and 8 ms is much where a panel has three plots.
    """

    def __init__(self, left: pg.AxisItem | None = None, bottom: pg.AxisItem | None = None) -> None:
        super().__init__()
        self.box = pg.ViewBox(enableMouse=False, enableMenu=False)
        self.left, self.bottom = left or pg.AxisItem("left"), bottom or pg.AxisItem("bottom")
        self.drawn: list[pg.GraphicsItem] = []
        self.whole = pg.GraphicsWidget()
        self._grid = QGraphicsGridLayout()
        self._build()

    @property
    def axes(self) -> tuple[pg.AxisItem, pg.AxisItem]:
        """The axis to the left and the one below."""
        return self.left, self.bottom

    def draw(self, item: pg.GraphicsItem) -> None:
        """Add a curve, marks, a line or words."""
        self.drawn.append(item)
        self.box.addItem(item, ignoreBounds=isinstance(item, pg.TextItem))

    def clear(self) -> None:
        """Take away all that was drawn."""
        for item in self.drawn:
            self.box.removeItem(item)
        self.drawn = []

    def show_range(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        """Show what lies between these ends."""
        self.box.setRange(xRange=x, yRange=y, padding=0)

    def colour(self, theme: Theme) -> None:
        """Take the colours of a theme."""
        self.setBackground(theme.base)
        for axis in self.axes:
            axis.setPen(pg.mkPen(theme.line))
            axis.setTextPen(pg.mkPen(theme.muted))
            axis.setTickFont(number_font())

    def set_margins(self, left: int, top: int, right: int, bottom: int) -> None:
        """Leave so much free around view and axes."""
        self._grid.setContentsMargins(left, top, right, bottom)

    def _build(self) -> None:
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        # Qt warned of a drag that left the plot and had begun elsewhere.
        for widget in (self, self.viewport()):
            widget.setAcceptDrops(False)
        self._grid.setSpacing(0)
        self.set_margins(GRID, HALF_GRID, GRID, HALF_GRID)
        self.whole.setLayout(self._grid)
        for item, row, position in ((self.box, 0, 1), (self.left, 0, 0), (self.bottom, 1, 1)):
            self._grid.addItem(item, row, position)
        self._grid.setRowStretchFactor(0, 100)
        self._grid.setColumnStretchFactor(1, 100)
        for axis in self.axes:
            axis.linkToView(self.box)
            # Otherwise pyqtgraph writes a factor such as (x0.001) beside the label.
            axis.enableAutoSIPrefix(False)
            # Its grid lies over a picture, and under what is drawn at 1.
            axis.setZValue(0.5)
        self.box.disableAutoRange()
        self.setCentralItem(self.whole)


def text_over(plot: QWidget, text: str = "") -> QLabel:
    """Return a quiet text that fills a plot, for as long as there is nothing to draw."""
    label = centred_text(text)
    plot.setLayout(column(label, margins=(2 * GRID, GRID, 2 * GRID, GRID)))
    return label


class LogAxis(pg.AxisItem):
    """An axis whose coordinates are log10 of a value, with ticks at round values and a word for each.

    While `is_log` is False, the coordinates are the values themselves.
    """

    def __init__(self, text: Callable[[float], str], side: str = "bottom", *, is_log: bool = True) -> None:
        super().__init__(side)
        self.is_log = is_log
        self._text = text

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: N803
        if not self.is_log:
            plain: list[tuple[float, list[float]]] = super().tickValues(minVal, maxVal, size)
            return plain[:1]
        return [(1.0, log_ticks(minVal, maxVal, min(_MOST_TICKS, max(2, int(size / (7 * GRID))))))]

    def tickStrings(self, values: Sequence[float], scale: float, spacing: float) -> list[str]:
        return [self._text(10**value if self.is_log else value) for value in values]

    def boundingRect(self) -> QRectF:
        # Otherwise the first tick has no word where half of it would lie outside; with a grid, pyqtgraph's
        # own style `hideOverlappingLabels` changes nothing.
        rect: QRectF = super().boundingRect()
        return rect.adjusted(-_WORD_ROOM, 0, 0, 0) if self.orientation == "bottom" else rect


def log_ticks(low: float, high: float, most: int) -> list[float]:
    """Return log10 of round values between 10**low and 10**high, at most `most` of them."""
    decades = range(math.floor(low), math.ceil(high) + 1)
    denser: list[float] = []
    for mantissas in _MANTISSAS:
        ticks = [decade + math.log10(mantissa) for decade in decades for mantissa in mantissas]
        inside = [tick for tick in ticks if low <= tick <= high]
        # One tick alone is no scale.
        if len(inside) <= min(1, most - 1) and denser:
            return denser[:: math.ceil(len(denser) / most)]
        if len(inside) <= most:
            return inside
        denser = inside
    return inside[:: math.ceil(len(inside) / most)]

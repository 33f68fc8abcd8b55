"""One number of the runs over the block size: a line per kernel, the best block of each with a ring."""

import math
from collections.abc import Sequence
from html import escape

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QLabel, QWidget

from engine.geometry.block import Block
from engine.geometry.block_list import by_size
from engine.results.quantities import rate_text, tick_text
from gui.explore.blocks.block_map import BlockMap, Kind
from gui.plots.log_axis import LogAxis, colour_plot, make_still, text_over
from gui.style.metrics import EARLIER_OPACITY, GRID, number_font
from gui.style.series import series_for
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.panel_parts import column

_MARK_SIZE, _SMALL_MARK_SIZE, _RING_SIZE = 9, 6, 17
_MARGIN = 0.08
_EMPTY = "One number of each kernel over the block size, a line per kernel."
_NO_NUMBER = (
    "{}: not known of any run.\nSimulated runs are not timed. Choose a count under Axis, such as "
    "operations per global load."
)


class BlockLines(QWidget):
    """Draws the measured cells of several maps, in the order of `by_size` from left to right."""

    chosen = Signal(str, object)  # key of the kernel and Block of a mark that was clicked

    def __init__(self) -> None:
        super().__init__()
        self._maps: Sequence[BlockMap] = ()
        self._blocks: list[Block] = []
        self._left = LogAxis(self._tick_text, "left")
        self._bottom = pg.AxisItem("bottom")
        self.legend = QLabel(wordWrap=True)
        self.plot = pg.PlotWidget(axisItems={"left": self._left, "bottom": self._bottom})
        self.empty_text = text_over(self.plot, _EMPTY)
        make_still(self.plot)
        self._left.setGrid(40)
        self._bottom.setStyle(hideOverlappingLabels=False)
        self._bottom.setLabel("block, width × height, by threads")
        self.legend.setContentsMargins(GRID, 0, GRID, 0)
        self.setLayout(column(self.legend, (self.plot, 1), spacing=0))
        self.setAccessibleName("Times over block sizes")
        self.plot.getViewBox().sigResized.connect(self._name_blocks)
        theme_notifier().changed.connect(self.redraw)
        self.redraw()

    def show_maps(self, maps: Sequence[BlockMap], *, is_earlier: bool = False) -> None:
        """Draw the cells of these kernels, all of one metric; dimmed if they are for an earlier problem."""
        self.plot.getPlotItem().setOpacity(EARLIER_OPACITY if is_earlier else 1.0)
        self._maps = maps
        self.redraw()

    def redraw(self) -> None:
        """Draw everything anew."""
        measured = [shown for shown in self._maps if shown.values]
        self._blocks = sorted({block for shown in measured for block in shown.values}, key=by_size)
        self.plot.clear()
        colour_plot(self.plot, current_theme())
        metric = self._maps[0].metric if self._maps else None
        has_run = any(cell.kind is Kind.NO_NUMBER for shown in self._maps for cell in shown.cells.values())
        self.empty_text.setText(_NO_NUMBER.format(metric.title) if has_run and metric else _EMPTY)
        self.empty_text.setVisible(not measured)
        for part in (self.legend, self._left, self._bottom):
            part.setVisible(bool(measured))
        if measured:
            self._draw(measured)
        heard = " ".join(
            f"{shown.variant}: {len(shown.values)} block{'s' if len(shown.values) > 1 else ''}, "
            f"best {shown.cells[shown.best].words}"
            for shown in measured
            if shown.best
        )
        self.setAccessibleDescription(heard or self.empty_text.text().replace("\n", " "))

    def sizeHint(self) -> QSize:
        return QSize(44 * GRID, 24 * GRID)

    def minimumSizeHint(self) -> QSize:
        return QSize(20 * GRID, 11 * GRID)

    def _draw(self, maps: Sequence[BlockMap]) -> None:
        theme = current_theme()
        numbers = [value for shown in maps for value in shown.values.values()]
        self._left.is_log = min(numbers) > 0
        xs = {block: x for x, block in enumerate(self._blocks)}
        # Marks that overlap are no marks.
        is_dense = self.plot.width() / len(self._blocks) < 2 * _MARK_SIZE
        size = _SMALL_MARK_SIZE if is_dense else _MARK_SIZE
        glyphs, spots = [], []
        for shown in maps:
            series, values = series_for(shown.variant), shown.values
            points = {block: (xs[block], self._at(values[block])) for block in sorted(values, key=by_size)}
            line = np.array(list(points.values())).T
            pen = pg.mkPen(series.colour, width=1.5)
            self.plot.addItem(pg.PlotCurveItem(*line, pen=pen, antialias=True))
            # Marks with the same pen and brush are rendered once.
            mark = {"symbol": series.symbol, "brush": pg.mkBrush(series.colour), "size": size}
            mark["pen"] = pg.mkPen(theme.base, width=1)
            spots += [{"pos": point, "data": (shown, block), **mark} for block, point in points.items()]
            if shown.best:
                ring = {"symbol": "o", "brush": pg.mkBrush(None), "size": _RING_SIZE}
                ring["pen"] = pg.mkPen(theme.text, width=1.5)
                spots.append({"pos": points[shown.best], "data": (shown, shown.best), **ring})
            name = escape(shown.variant).replace(" ", "&nbsp;")
            glyphs.append(f"<span style='color:{series.colour}'>{series.glyph}</span>&nbsp;{name}")
        # One item for all marks: each costs about 0.5 ms when the plot is drawn anew.
        marks = pg.ScatterPlotItem(spots=spots, hoverable=True, tip=lambda x, y, data: data[0].words(data[1]))
        marks.sigClicked.connect(self._clicked)
        self.plot.addItem(marks)
        self.legend.setText("&nbsp;&nbsp; ".join([*glyphs, "◯&nbsp;best"]))
        low, high = self._at(min(numbers)), self._at(max(numbers))
        above = max((high - low) * 0.12, 0.05 if self._left.is_log else 1e-9)
        self.plot.setYRange(low - above, high + above, padding=0)
        beside = max(1, len(self._blocks) - 1) * _MARGIN
        self.plot.setXRange(-beside, len(self._blocks) - 1 + beside, padding=0)
        self._name_blocks()

    def _clicked(self, _item: object, points: Sequence[pg.SpotItem], _event: object = None) -> None:
        if len(points):
            shown, block = points[0].data()
            self.chosen.emit(shown.variant, block)

    def _name_blocks(self) -> None:
        """Name as many blocks as there is room for."""
        names = [f"{block.x}×{block.y}" for block in self._blocks]
        widest = max(map(QFontMetrics(number_font()).horizontalAdvance, names), default=0) + GRID
        pixels = self.plot.getViewBox().width() / max(1.0, (len(names) - 1) * (1 + 2 * _MARGIN))
        self._bottom.setTicks([list(enumerate(names))[:: max(1, math.ceil(widest / max(pixels, 1.0)))]])

    def _at(self, value: float) -> float:
        return math.log10(max(value, 1e-6)) if self._left.is_log else value

    def _tick_text(self, value: float) -> str:
        metric = self._maps[0].metric if self._maps else None
        return tick_text(value) if metric is not None and metric.unit == "ms" else rate_text(value)

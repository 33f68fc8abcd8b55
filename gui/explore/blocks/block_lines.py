"""One number of the runs over the block size: a line per kernel, the best block of each with a ring."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby

import pyqtgraph as pg
from PySide6.QtCore import QSize, Signal
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QLabel, QWidget

from engine.geometry.block import Block
from engine.geometry.block_list import by_size
from engine.results.metrics import AnyMetric
from engine.results.quantities import rate_text, tick_text
from gui.explore.blocks.map_cells import BlockMapData, Kind
from gui.plots.log_axis import LogAxis, colour_plot, make_still
from gui.style.metrics import EARLIER_OPACITY, GRID, HALF_GRID, number_font
from gui.style.series import series_for
from gui.style.theme import current_theme, theme_notifier
from gui.widgets.panel_parts import centred_text, column

_MARK_SIZE = 9
_SMALL_MARK_SIZE = 6
_RING_SIZE = 17
_ROOM = 0.08
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
        self._maps: Sequence[BlockMapData] = ()
        self._blocks: list[Block] = []
        self._left = LogAxis(self._tick_text, "left")
        self._bottom = pg.AxisItem("bottom")
        self.legend = QLabel(wordWrap=True)
        self.plot = pg.PlotWidget(axisItems={"left": self._left, "bottom": self._bottom})
        self.empty_text = centred_text(_EMPTY, self.plot)
        make_still(self.plot)
        self._left.setGrid(40)
        self._bottom.setStyle(hideOverlappingLabels=False)
        self.legend.setContentsMargins(GRID, 0, GRID, 0)
        self.setLayout(column(self.legend, (self.plot, 1), spacing=0))
        self.setAccessibleName("Times over block sizes")
        self.plot.getViewBox().sigResized.connect(self._place_ticks)
        theme_notifier().changed.connect(self.redraw)
        self.redraw()

    def show_maps(self, maps: Sequence[BlockMapData], *, is_earlier: bool = False) -> None:
        """Draw the cells of these kernels, all of one metric; dimmed if they are for an earlier problem."""
        self.plot.getPlotItem().setOpacity(EARLIER_OPACITY if is_earlier else 1.0)
        self._maps = maps
        self.redraw()

    def redraw(self) -> None:
        """Draw everything anew."""
        theme = current_theme()
        values = {one.variant: _values(one) for one in self._maps}
        values = {variant: points for variant, points in values.items() if points}
        self._blocks = sorted({block for points in values.values() for block in points}, key=by_size)
        self.plot.clear()
        colour_plot(self.plot, theme)
        has_run = any(cell.kind is Kind.NO_NUMBER for one in self._maps for cell in one.cells.values())
        shown = self._metric
        self.empty_text.setText(_NO_NUMBER.format(shown.title) if has_run and shown else _EMPTY)
        self.empty_text.setVisible(not values)
        self.legend.setVisible(bool(values))
        for axis in (self._left, self._bottom):
            axis.setVisible(bool(values))
        if values:
            self._draw(values)
        self.setAccessibleDescription(self._accessible_text(values))

    def sizeHint(self) -> QSize:
        return QSize(44 * GRID, 24 * GRID)

    def minimumSizeHint(self) -> QSize:
        return QSize(20 * GRID, 11 * GRID)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self.empty_text.setGeometry(self.plot.rect().adjusted(GRID, GRID, -GRID, -GRID))

    @property
    def _metric(self) -> AnyMetric | None:
        return next((one.metric for one in self._maps), None)

    def _draw(self, values: Mapping[str, Mapping[Block, float]]) -> None:
        theme = current_theme()
        numbers = [value for points in values.values() for value in points.values()]
        self._left.is_log = min(numbers) > 0
        places = {block: place for place, block in enumerate(self._blocks)}
        # Marks that overlap are no marks.
        is_dense = self.plot.width() / len(self._blocks) < 2 * _MARK_SIZE
        mark_size = _SMALL_MARK_SIZE if is_dense else _MARK_SIZE
        edge = pg.mkPen(theme.base, width=1)
        glyphs = []
        spots: list[dict[str, object]] = []
        for variant, points in values.items():
            series = series_for(variant)
            ordered = sorted(points, key=places.__getitem__)
            xs, ys = [places[block] for block in ordered], [self._at(points[block]) for block in ordered]
            self.plot.addItem(
                pg.PlotCurveItem(xs, ys, pen=pg.mkPen(series.colour, width=1.5), antialias=True)
            )
            best = next(one.best for one in self._maps if one.variant == variant)
            # Marks with the same pen and brush are rendered once.
            look = {"symbol": series.symbol, "brush": pg.mkBrush(series.colour), "size": mark_size}
            for block, x, y in zip(ordered, xs, ys, strict=True):
                spots.append({"pos": (x, y), "data": (variant, block), "pen": edge, **look})
                if block == best:
                    ring = {"symbol": "o", "brush": pg.mkBrush(None), "size": _RING_SIZE}
                    pen = pg.mkPen(theme.text, width=1.5)
                    spots.append({"pos": (x, y), "data": (variant, block), "pen": pen, **ring})
            name = escape(variant).replace(" ", "&nbsp;")
            glyphs.append(f"<span style='color:{series.colour}'>{series.glyph}</span>&nbsp;{name}")
        # One item for all marks: each costs about 0.5 ms when the plot is drawn anew.
        marks = pg.ScatterPlotItem(spots=spots, hoverable=True, tip=lambda x, y, data: self._words(*data))
        marks.sigClicked.connect(self._clicked)
        self.plot.addItem(marks)
        self.legend.setText("&nbsp;&nbsp; ".join([*glyphs, "◯&nbsp;best"]))
        heights = [self._at(value) for value in numbers]
        low, high = min(heights), max(heights)
        room = max((high - low) * 0.12, 0.05 if self._left.is_log else 1e-9)
        self.plot.setYRange(low - room, high + room, padding=0)
        side = max(1, len(self._blocks) - 1) * _ROOM
        self.plot.setXRange(-side, len(self._blocks) - 1 + side, padding=0)
        self._place_ticks()

    def _clicked(self, _item: object, points: Sequence[pg.SpotItem], _event: object = None) -> None:
        if len(points):
            self.chosen.emit(*points[0].data())

    def _place_ticks(self) -> None:
        """Name each block where there is room, else only how many threads the next blocks have."""
        if not self._blocks:
            return
        metrics = QFontMetrics(number_font())
        box = self.plot.getViewBox()
        pixels = box.width() / max(1.0, (len(self._blocks) - 1) * (1 + 2 * _ROOM))
        names = [f"{block.x}×{block.y}" for block in self._blocks]
        widest = max(map(metrics.horizontalAdvance, names)) + HALF_GRID
        if widest <= pixels or len(names) == 1:
            self._bottom.setTicks([list(enumerate(names))])
            self._bottom.setLabel("block, width × height")
            return
        ticks, at, free_from = [], 0, -math.inf
        for threads, group in groupby(self._blocks, key=lambda block: block.threads):
            count, text = len(list(group)), f"{threads}"
            centre, half = at + (count - 1) / 2, metrics.horizontalAdvance(text) / 2
            at += count
            if centre * pixels - half >= free_from:
                ticks.append((centre, text))
                free_from = centre * pixels + half + HALF_GRID
        self._bottom.setTicks([ticks])
        self._bottom.setLabel("threads of the block, narrow ones first")

    def _at(self, value: float) -> float:
        return math.log10(max(value, 1e-6)) if self._left.is_log else value

    def _tick_text(self, value: float) -> str:
        shown = self._metric
        return tick_text(value) if shown is not None and shown.unit == "ms" else rate_text(value)

    def _words(self, variant: str, block: Block) -> str:
        return next(f"{variant}, {one.cells[block].words}" for one in self._maps if one.variant == variant)

    def _accessible_text(self, values: Mapping[str, Mapping[Block, float]]) -> str:
        if not values:
            return self.empty_text.text().replace("\n", " ")
        parts = (
            f"{one.variant}: {_blocks(len(values[one.variant]))}, best {one.cells[one.best].words}"
            for one in self._maps
            if one.variant in values and one.best
        )
        return " ".join(parts)


def _blocks(count: int) -> str:
    return f"{count} block{'s' if count != 1 else ''}"


def _values(one: BlockMapData) -> dict[Block, float]:
    return {
        block: cell.value
        for block, cell in one.cells.items()
        if cell.kind is Kind.VALUE and cell.value is not None
    }

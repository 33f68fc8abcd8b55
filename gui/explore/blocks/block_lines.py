"""One number of the runs over the block size: the marks of each kernel, its best block with a ring.

No line joins them: neighbours with as many threads have other shapes.
"""

from collections.abc import Sequence

from PySide6.QtCore import QSize
from PySide6.QtGui import QResizeEvent

from engine.course.paper import Figure, Series
from engine.geometry.block import Block
from engine.geometry.block_list import by_size
from engine.results.quantities import rate_text, tick_text
from gui.explore.blocks.block_map import BlockMap, Kind
from gui.plots.figure_plot import FigurePlot
from gui.style.metrics import GRID

_EMPTY = "One number of each kernel over the block size."
_NO_NUMBER = (
    "{}: not known of any run.\nSimulated runs are not timed. Choose a count under Axis, such as "
    "operations per global load."
)


# With less height the legend would leave no plot; colours and shapes are those of the kernel list.
_LEGEND_FROM = 26 * GRID


class BlockLines(FigurePlot):
    """Draws the measured cells of several maps, in the order of `by_size` from left to right."""

    joins_points = False

    def __init__(self) -> None:
        self._maps: dict[str, BlockMap] = {}
        self._blocks: list[Block] = []
        super().__init__(
            name="Times over block sizes",
            empty=_EMPTY,
            dashed="",
            x_text=lambda x: f"{self.block_at(x).x}×{self.block_at(x).y}",
            y_text=self._number_text,
        )
        self.show_figure(None)

    def block_at(self, x: float) -> Block:
        """Return the block that stands there."""
        return self._blocks[int(x)]

    def show_maps(self, maps: Sequence[BlockMap], *, is_earlier: bool = False) -> None:
        """Draw the cells of these kernels, all of one metric; dimmed if they are for an earlier problem."""
        metric = maps[0].metric if maps else None
        has_run = any(cell.kind is Kind.NO_NUMBER for shown in maps for cell in shown.cells.values())
        self.empty_text.setText(_NO_NUMBER.format(metric.title) if has_run and metric else _EMPTY)
        self._maps = {shown.variant: shown for shown in maps if shown.values}
        values = {key: shown.values for key, shown in self._maps.items()}
        self._blocks = sorted({block for own in values.values() for block in own}, key=by_size)
        places = {block: float(x) for x, block in enumerate(self._blocks)}
        curves = tuple(
            Series(key, tuple(map(places.__getitem__, ordered)), tuple(own[one] for one in ordered), key)
            for key, own in values.items()
            if (ordered := sorted(own, key=by_size))
        )
        rings = [(places[one.best], one.values[one.best]) for one in self._maps.values() if one.best]
        is_log = all(value > 0 for own in values.values() for value in own.values())
        figure = Figure("", "blocks, fewest threads first", "", curves, log_y=is_log)
        self.show_figure(figure if curves else None, rings=rings, is_earlier=is_earlier)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_legend()

    def _redraw(self) -> None:
        super()._redraw()
        self._show_legend()

    def _show_legend(self) -> None:
        self.caption.setVisible(bool(self._maps) and self.height() >= _LEGEND_FROM)

    def minimumSizeHint(self) -> QSize:
        return QSize(20 * GRID, 11 * GRID)

    def tip_of(self, name: str, x: float, y: float) -> str:
        return self._maps[name].words(self.block_at(x))

    def heard(self, drawn: object) -> str:
        return " ".join(
            f"{shown.variant}: {len(shown.values)} block{'s' if len(shown.values) > 1 else ''}, "
            f"best {shown.cells[shown.best].words}"
            for shown in self._maps.values()
            if shown.best
        )

    def _number_text(self, value: float) -> str:
        metric = next((shown.metric for shown in self._maps.values()), None)
        return tick_text(value) if metric is not None and metric.unit == "ms" else rate_text(value)

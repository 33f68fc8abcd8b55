"""Execution time by variant: the median in the variant's colour and shape, p20 to p80 as a bar, the minimum as a tick."""

import math
from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from engine.results import RunResult, Spread
from gui.plots.base import VariantPlot, newest_by_variant
from gui.state.comparison import ProblemKey
from gui.state.quantities import ms_text, tick_text
from gui.state.results_model import ResultsModel
from gui.state.workspace import Workspace
from gui.style.series import Series, series_for
from gui.style.theme import Theme

_EMPTY = (
    "The kernel time of each variant, with its spread.\n"
    "Press Run (Ctrl+R) to measure one, or Run all to compare all."
)
_MINIMUM_TICK = 0.22
_OLDER_OPACITY = 0.35


class TimePlot(VariantPlot):
    """Every verified run of the problem, a row a variant; older runs of a variant are paler."""

    def __init__(self, results: ResultsModel, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(results, tick_text, _EMPTY, parent)
        self._workspace = workspace
        self.setAccessibleName("Execution time by variant")
        self.redraw()

    def caption_text(self, key: ProblemKey) -> str:
        return f"Kernel time, log scale: median, p20 to p80, minimum · {key.text}"

    def draw(self, runs: Sequence[RunResult], theme: Theme) -> list[str]:
        newest = newest_by_variant(runs)
        spreads = [run.timing.kernel for run in runs if run.timing]
        if not spreads:
            return []
        rows = {variant: row for row, variant in enumerate(newest)}
        for run in runs:
            if run.timing:
                opacity = 1.0 if newest[run.variant] is run else _OLDER_OPACITY
                self._draw_run(run, run.timing.kernel, rows[run.variant], opacity, theme)
        self.set_rows(list(newest))
        lowest = min(spread.minimum_ms for spread in spreads)
        highest = max(spread.p80_ms for spread in spreads)
        self.set_values(math.log10(lowest), math.log10(highest), room=0.22)
        return [_words(run) for run in newest.values()]

    def _draw_run(self, run: RunResult, spread: Spread, row: int, opacity: float, theme: Theme) -> None:
        series = series_for(run.variant, theme)
        y = -float(row)
        low, high = math.log10(spread.p20_ms), math.log10(spread.p80_ms)
        minimum = math.log10(spread.minimum_ms)
        pen = pg.mkPen(series.colour, width=4, capStyle=Qt.PenCapStyle.FlatCap)
        thin = pg.mkPen(series.colour, width=1.5)
        lines = [
            pg.PlotCurveItem([low, high], [y, y], pen=pen),
            pg.PlotCurveItem([minimum, minimum], [y - _MINIMUM_TICK, y + _MINIMUM_TICK], pen=thin),
        ]
        for item in (*lines, _marker(run, spread, series, theme, y)):
            item.setOpacity(opacity)
            self.plot.addItem(item)
        if opacity == 1.0:
            self.add_number(ms_text(spread.median_ms), max(high, math.log10(spread.median_ms)), row, theme)


def _marker(run: RunResult, spread: Spread, series: Series, theme: Theme, y: float) -> pg.ScatterPlotItem:
    return pg.ScatterPlotItem(
        [math.log10(spread.median_ms)],
        [y],
        symbol=series.symbol,
        size=11,
        brush=series.colour,
        pen=pg.mkPen(theme.base, width=1),
        data=[run],
        hoverable=True,
        tip=lambda x, y, data: _words(data),
    )


def _words(run: RunResult) -> str:
    if run.timing is None:
        return run.variant
    kernel = run.timing.kernel
    block = f", block {run.block}" if run.block else ""
    return (
        f"{run.variant}{block}: {ms_text(kernel.median_ms)} "
        f"(p20 {ms_text(kernel.p20_ms)}, p80 {ms_text(kernel.p80_ms)}, minimum {ms_text(kernel.minimum_ms)})"
    )

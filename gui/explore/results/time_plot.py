"""Execution time by variant: the median in the variant's colour and shape, p20 to p80 as a bar, the minimum as a tick."""

from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QPainterPath
from PySide6.QtWidgets import QWidget

from engine.results.measurement import RunResult, Spread
from gui.explore.results.comparison import ProblemKey
from gui.explore.results.results_model import ResultsModel
from gui.explore.results.variant_plot import VariantPlot, log_ms, newest_by_row, row_name
from gui.explore.workspace import Workspace
from gui.style.series import series_for
from gui.style.theme import Theme
from engine.results.quantities import ms_text, tick_text

_EMPTY = (
    "The kernel time of each variant: the median, the spread from p20 to p80, the minimum.\n"
    "Press Run (Ctrl+R) to measure one, or Run all to compare all."
)
_FLAT = Qt.PenCapStyle.FlatCap
_OLDER_OPACITY = 0.35


class TimePlot(VariantPlot):
    """Every verified run of the problem, a row a variant (packed rows apart); older runs of a row are paler."""

    def __init__(self, results: ResultsModel, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(results, tick_text, _EMPTY, parent)
        self._workspace = workspace
        self.setAccessibleName("Execution time by variant")
        self.redraw()

    def caption_text(self, key: ProblemKey) -> str:
        return f"Kernel time, log scale · {key.text}"

    def draw(self, runs: Sequence[RunResult], theme: Theme) -> list[str]:
        newest = newest_by_row(runs)
        timed = [(run, run.timing.kernel) for run in runs if run.timing]
        if not timed:
            return []
        rows = {name: row for row, name in enumerate(newest)}
        older = [entry for entry in timed if newest[row_name(entry[0])] is not entry[0]]
        self._draw_runs(older, rows, _OLDER_OPACITY, theme)
        self._draw_runs(
            [entry for entry in timed if newest[row_name(entry[0])] is entry[0]], rows, 1.0, theme
        )
        ends: dict[str, float] = {}
        for run, spread in timed:
            ends[row_name(run)] = max(ends.get(row_name(run), 0.0), spread.p80_ms)
        numbers = {name: ms_text(run.kernel_ms or 0.0) for name, run in newest.items()}
        for name, number in numbers.items():
            self.add_number(number, log_ms(ends[name]), rows[name], theme)
        self.set_rows(list(newest))
        lowest = min(spread.minimum_ms for _, spread in timed)
        self.set_values(log_ms(lowest), log_ms(max(ends.values())), list(numbers.values()))
        return [_words(run) for run in newest.values()]

    def _draw_runs(
        self, timed: Sequence[tuple[RunResult, Spread]], rows: dict[str, int], opacity: float, theme: Theme
    ) -> None:
        if not timed:
            return
        items = []
        colours = {row_name(run): series_for(run.variant, theme).colour for run, _ in timed}
        thin = {name: pg.mkPen(colour, width=1.5) for name, colour in colours.items()}
        for name, colour in colours.items():
            ends = [log_ms(end) for run, s in timed if row_name(run) == name for end in (s.p20_ms, s.p80_ms)]
            pen = pg.mkPen(colour, width=5, capStyle=_FLAT)
            items.append(pg.PlotCurveItem(ends, [-float(rows[name])] * len(ends), pen=pen, connect="pairs"))
        # A scatter item, because its height is in pixels whatever the number of rows.
        items.append(
            pg.ScatterPlotItem(
                [log_ms(spread.minimum_ms) for _, spread in timed],
                [-float(rows[row_name(run)]) for run, _ in timed],
                symbol=_upright(),
                size=14,
                pen=[thin[row_name(run)] for run, _ in timed],
            )
        )
        for item in items:
            self.add(item)
        places = [(log_ms(spread.median_ms), rows[row_name(run)]) for run, spread in timed]
        items.append(self.add_marks([run for run, _ in timed], places, theme, _words))
        for item in items:
            item.setOpacity(opacity)


def _upright() -> QPainterPath:
    path = QPainterPath(QPointF(0.0, -0.5))
    path.lineTo(0.0, 0.5)
    return path


def _words(run: RunResult) -> str:
    if run.timing is None:
        return row_name(run)
    kernel = run.timing.kernel
    block = f", block {run.block}" if run.block else ""
    return (
        f"{row_name(run)}{block}: {ms_text(kernel.median_ms)} "
        f"(p20 {ms_text(kernel.p20_ms)}, p80 {ms_text(kernel.p80_ms)}, minimum {ms_text(kernel.minimum_ms)})"
    )

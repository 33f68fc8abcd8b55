"""Speed-up of each variant against the chosen baseline, on the same problem."""

import math
from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtWidgets import QWidget

from engine.results import RunResult, speed_up
from gui.plots.base import VariantPlot, newest_by_variant
from gui.state.comparison import ProblemKey
from gui.state.quantities import ratio_text
from gui.state.results_model import ResultsModel
from gui.state.workspace import Settings, Workspace
from gui.style.series import series_for
from gui.style.theme import Theme

_EMPTY = (
    "How many times faster each variant is than the baseline.\n"
    "Press Run all to measure every kernel on the same problem."
)


class SpeedupPlot(VariantPlot):
    """The newest verified run of each variant: a stem from 1× to its speed-up, the number at its end."""

    def __init__(self, results: ResultsModel, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(results, ratio_tick, _EMPTY, parent)
        self._baseline = workspace.settings.baseline
        self.setAccessibleName("Speed-up against the baseline")
        workspace.settings_changed.connect(self._follow)
        self.redraw()

    def caption_text(self, key: ProblemKey) -> str:
        return f"Speed-up against {self._baseline}, log scale · {key.text}"

    def why_empty(self) -> str:
        return f"No verified run of the baseline {self._baseline} on this problem yet: run it, or choose another baseline."

    def draw(self, runs: Sequence[RunResult], theme: Theme) -> list[str]:
        newest = newest_by_variant(runs)
        baseline = newest.get(self._baseline)
        ratios = {variant: ratio for variant, run in newest.items() if (ratio := speed_up(baseline, run))}
        if not ratios:
            return []
        one = pg.InfiniteLine(0.0, angle=90, pen=pg.mkPen(theme.muted, width=1))
        self.plot.addItem(one)
        for row, (variant, ratio) in enumerate(ratios.items()):
            self._draw_variant(newest[variant], ratio, row, theme)
        self.set_rows(list(ratios))
        logs = [math.log10(ratio) for ratio in ratios.values()]
        self.set_values(min(0.0, *logs), max(0.0, *logs), [ratio_text(ratio) for ratio in ratios.values()])
        return [f"{variant} {ratio_text(ratio)}" for variant, ratio in ratios.items()]

    def _draw_variant(self, run: RunResult, ratio: float, row: int, theme: Theme) -> None:
        series = series_for(run.variant, theme)
        x, y = math.log10(ratio), -float(row)
        self.plot.addItem(pg.PlotCurveItem([0.0, x], [y, y], pen=pg.mkPen(series.colour, width=4)))
        self.add_mark(
            run, x, row, theme, lambda run: f"{run.variant}: {ratio_text(ratio)} against {self._baseline}"
        )
        self.add_number(ratio_text(ratio), max(x, 0.0), row, theme)

    def _follow(self, settings: Settings) -> None:
        if settings.baseline != self._baseline:
            self._baseline = settings.baseline
            self.redraw()


def ratio_tick(ratio: float) -> str:
    """Write a round ratio of the axis: 0.1×, 5×, 1000×."""
    return f"{ratio:g}×"

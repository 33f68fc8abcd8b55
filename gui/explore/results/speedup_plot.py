"""Speed-up of each variant against the chosen baseline, on the same problem."""

import math
from collections.abc import Sequence

import pyqtgraph as pg
from PySide6.QtWidgets import QWidget

from engine.results.measurement import RunResult, speed_up
from gui.explore.results.comparison import ProblemKey, newest_baseline, problem_key
from gui.explore.results.results_model import ResultsModel
from gui.explore.results.variant_plot import VariantPlot, newest_by_row, row_name
from gui.explore.workspace import Settings, Workspace
from gui.style.series import series_for
from gui.style.theme import Theme
from engine.results.quantities import ratio_text

_EMPTY = (
    "How many times faster each variant is than the baseline.\n"
    "Press Run all to measure every kernel on the same problem."
)


class SpeedupPlot(VariantPlot):
    """The newest verified run of each variant and layout: a stem from 1× to its speed-up, the number at its end."""

    def __init__(self, results: ResultsModel, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(results, ratio_tick, _EMPTY, parent)
        self._baseline = workspace.settings.baseline
        self.setAccessibleName("Speed-up against the baseline")
        workspace.settings_changed.connect(self._follow)
        self.redraw()

    def caption_text(self, key: ProblemKey) -> str:
        return f"Against {self._baseline}, log scale · {key.text}"

    def why_empty(self) -> str:
        return f"No speed of the baseline {self._baseline} on this problem yet: run it, or choose another baseline."

    def draw(self, runs: Sequence[RunResult], theme: Theme) -> list[str]:
        newest = newest_by_row(runs)
        baselines = newest_baseline(runs, self._baseline)
        ratios = {
            name: ratio
            for name, run in newest.items()
            if (ratio := speed_up(baselines.get((problem_key(run.problem), run.layout)), run))
        }
        if not ratios:
            return []
        self.add(pg.InfiniteLine(0.0, angle=90, pen=pg.mkPen(theme.muted, width=1)))
        numbers = {name: ratio_text(ratio) for name, ratio in ratios.items()}
        logs = {name: math.log10(ratio) for name, ratio in ratios.items()}
        for row, (name, x) in enumerate(logs.items()):
            pen = pg.mkPen(series_for(newest[name].variant, theme).colour, width=4)
            self.add(pg.PlotCurveItem([0.0, x], [-float(row)] * 2, pen=pen))
            self.add_number(numbers[name], max(x, 0.0), row, theme)
        self.add_marks(
            [newest[name] for name in ratios],
            [(x, row) for row, x in enumerate(logs.values())],
            theme,
            lambda run: f"{row_name(run)}: {numbers[row_name(run)]} against {self._baseline}",
        )
        self.set_rows(list(ratios))
        self.set_values(min(0.0, *logs.values()), max(0.0, *logs.values()), list(numbers.values()))
        return [f"{name} {number}" for name, number in numbers.items()]

    def _follow(self, settings: Settings) -> None:
        if settings.baseline != self._baseline:
            self._baseline = settings.baseline
            self.redraw()


def ratio_tick(ratio: float) -> str:
    """Write a round ratio of the axis: 0.1×, 5×, 1000×."""
    return f"{ratio:g}×"

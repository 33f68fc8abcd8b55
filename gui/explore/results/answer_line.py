"""The line over the lower panels: what is computed, how many runs there are of it, and the answer."""

from PySide6.QtGui import QFontMetrics, QPalette
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy

from gui.explore.results.results_model import ResultsModel
from gui.explore.run_words import best_words, problem_words, runs_words
from gui.explore.workspace import Workspace
from gui.style.metrics import GRID, HALF_GRID, scaled_font
from gui.widgets.elided_label import ElidedLabel
from gui.widgets.panel_parts import row

_PROBLEM_SCALE, _ANSWER_SCALE = 1.1, 1.3


class AnswerLine(QFrame):
    """Says it once for the whole page; the most visible text after the picture."""

    def __init__(self, results: ResultsModel, workspace: Workspace) -> None:
        super().__init__()
        self._results = results
        self._workspace = workspace
        self.problem = ElidedLabel()
        self.problem.setForegroundRole(QPalette.ColorRole.WindowText)
        self.problem.setFont(scaled_font(_PROBLEM_SCALE))
        self.answer = QLabel()
        self.answer.setFont(scaled_font(_ANSWER_SCALE, bold=True))
        self.answer.setAccessibleName("Best run")
        self.problem.setAccessibleName("Problem and runs")
        # What has no room is cut from the problem; the answer stays whole.
        self.answer.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Preferred)
        self.problem.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        margins = (GRID, HALF_GRID, GRID, HALF_GRID)
        self.setLayout(row(self.problem, self.answer, 1, spacing=GRID, margins=margins))
        self.setObjectName("answer")
        for changed in (
            results.rowsInserted,
            results.rowsRemoved,
            results.modelReset,
            results.dataChanged,
            results.present_changed,
            workspace.job_changed,
            workspace.settings_changed,
            workspace.picture_changed,
        ):
            changed.connect(self.refresh)
        self.refresh()

    @property
    def needed_height(self) -> int:
        """The height of one line of the answer, whose letters may be large."""
        return QFontMetrics(scaled_font(_ANSWER_SCALE, bold=True)).height() + GRID

    def refresh(self) -> None:
        """Read the state again."""
        # On the device that was asked for.
        runs = self._results.present_runs(self._workspace.settings.device)
        best = best_words(runs)
        words = " · ".join((problem_words(self._workspace), runs_words(runs)))
        self.problem.setText(f"{words} ·" if best else words)
        self.answer.setText(best)
        self.answer.setToolTip(
            f"The shortest kernel time of these runs, against the baseline {self._results.baseline}."
            if best
            else ""
        )
        self.setAccessibleName(f"{words}{f' · {best}' if best else ''}")

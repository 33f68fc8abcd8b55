"""What the last run asked of the machine, by its model of work."""

from PySide6.QtWidgets import QWidget

from gui.explore.results.results_model import ResultsModel
from gui.explore.results.results_tooltip import run_heading
from gui.explore.results.work_text import work_sentence, work_table
from gui.widgets.elided_label import ElidedLabel

# With three kinds of loads.
_MOST_LINES = 3


class WorkLine(ElidedLabel):
    """The model of work of the newest run that has one, all its counts in the tooltip; hidden before such a run."""

    def __init__(self, results: ResultsModel, parent: QWidget | None = None) -> None:
        super().__init__(most=_MOST_LINES, small=True)
        self.setParent(parent)
        self._results = results
        self.setAccessibleName("Model of the work of the last run")
        results.rowsInserted.connect(self._refresh)
        results.modelReset.connect(self._refresh)
        self._refresh()

    def _refresh(self) -> None:
        newest = next((result for result in reversed(self._results.results()) if result.work), None)
        self.setText(work_sentence(newest) if newest else "")
        self.setToolTip(f"{run_heading(newest)}<br>{work_table(newest)}" if newest else "")
        self.setVisible(newest is not None)

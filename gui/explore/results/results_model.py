"""Results of the filter runs, one row per run, failed ones too; and which one is selected."""

from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Signal

from engine.results.columns import KERNEL, SPEED_UP
from engine.results.compare import Compared
from engine.results.measurement import Measurement
from engine.tasks.filtering.problem import Problem
from gui.widgets.runs_model import RunsModel

# The order of a glance at a narrow window: who, how fast, is it right; what was filtered comes after. Layouts
# have a column only where they differ.
_FIRST = ("variant", "block", "layout", KERNEL, SPEED_UP, "proof")


class ResultsModel(RunsModel):
    """The runs of the page Explore."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(Problem.task, "cpu-serial", _FIRST, parent)

    def add(self, result: Measurement[Any]) -> None:
        """Append a result; a run of the baseline changes the speed-ups of its problem."""
        position = len(self._results)
        self.beginInsertRows(QModelIndex(), position, position)
        self._results.append(result)
        self._runs.append(Compared(result, position + 1))
        self.endInsertRows()
        self._compare()

    def clear(self) -> None:
        """Forget all results."""
        self.beginResetModel()
        self._results.clear()
        self._runs.clear()
        self.chosen = None
        self.endResetModel()


class SelectedResult(QObject):
    """The run that panels describe: the one selected in the table, until a new one arrives."""

    # `run` is another one, is compared with another one, or there is none.
    changed = Signal()

    def __init__(self, results: ResultsModel, parent: QObject) -> None:
        super().__init__(parent)
        self._results = results
        self._selected: Measurement[Any] | None = None
        results.rowsInserted.connect(lambda: self.select(None))
        results.modelReset.connect(lambda: self.select(None))
        results.dataChanged.connect(self.changed)

    @property
    def run(self) -> Compared | None:
        """The run to describe; None while there are none."""
        runs = self._results.rows()
        return next((run for run in runs if run.result is self._selected), runs[-1] if runs else None)

    def select(self, result: Measurement[Any] | None) -> None:
        """Describe the run with this result; the newest for None."""
        self._selected = result
        self.changed.emit()

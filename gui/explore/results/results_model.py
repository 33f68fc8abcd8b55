"""Results of the filter runs: one row a run, failed ones too, in the order in which they arrived."""

from PySide6.QtCore import QModelIndex, QObject

from engine.results.columns import KERNEL, SPEED_UP
from engine.results.compare import Compared
from engine.results.measurement import RunResult
from engine.tasks.filtering.problem import Problem
from gui.widgets.runs_model import RunsModel

# The order of a glance at a narrow window: who, how fast, is it right; what was filtered comes after.
_FIRST = ("variant", "block", KERNEL, SPEED_UP, "proof")


class ResultsModel(RunsModel):
    """The runs of the page Explore."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(Problem.task, "cpu-serial", _FIRST, parent)

    def add(self, result: RunResult) -> None:
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
        self._chosen = None
        self.endResetModel()

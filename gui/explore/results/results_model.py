"""The results of all operations, one row per run, failed ones too; and which one is selected."""

from collections.abc import Hashable
from typing import Any

from PySide6.QtCore import QModelIndex, QObject, Signal

from engine.results.columns import KERNEL, SPEED_UP
from engine.results.compare import Compared, comparable
from engine.results.measurement import Measurement
from engine.tasks.filtering.problem import Problem
from engine.tasks.operation.problem import OperationProblem
from gui.widgets.runs_model import RunsModel

# The order of a glance at a narrow window: who, how fast, is it right; what was done comes after. Layouts
# have a column only where they differ.
_FIRST = ("variant", "block", "layout", KERNEL, SPEED_UP, "proof", "operation")


class ResultsModel(RunsModel):
    """The runs of the page Explore."""

    def __init__(self) -> None:
        super().__init__([Problem, OperationProblem], "cpu-serial", _FIRST)
        # By the identity of the results.
        self._problems: dict[int, Hashable] = {}
        self.present: Hashable = None
        """What runs share that are for the problem that is set now; None before there is one."""

    def follow(self, problem: Hashable) -> None:
        """Note which problem is set now; None leaves it as it was."""
        if problem not in (None, self.present):
            touches = not {problem, self.present}.isdisjoint(self._problems.values())
            self.present = problem
            if touches:
                self.present_changed.emit()

    def is_earlier(self, result: Measurement[Any]) -> bool:
        return self.present not in (None, self.problem_of(result))

    @property
    def current(self) -> Compared | None:
        """The newest run for the problem that is set now; where there is none, the newest of all."""
        runs = reversed(self._runs)
        own = next((run for run in runs if not self.is_earlier(run.result)), None)
        return own or (self._runs[-1] if self._runs else None)

    def problem_of(self, result: Measurement[Any]) -> Hashable:
        """Return what a run shares with those that are for the same problem."""
        return self._problems[id(result)]

    def add(self, result: Measurement[Any], problem: Hashable = None) -> None:
        """Append a result; a run of the baseline changes the speed-ups of its problem.

        `problem` is what it shares with those that are for the same one, by default what they compare.
        """
        position = len(self._results)
        self.beginInsertRows(QModelIndex(), position, position)
        self._problems[id(result)] = problem or comparable(result)
        self._results.append(result)
        self._runs.append(Compared(result, position + 1))
        self.endInsertRows()
        self._compare()

    def clear(self) -> None:
        """Forget all results."""
        self.beginResetModel()
        self._results.clear()
        self._runs.clear()
        self._problems.clear()
        self._chosen.clear()
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
        results.present_changed.connect(self.changed)

    @property
    def run(self) -> Compared | None:
        """The run to describe; None while there are none."""
        runs = self._results.rows()
        return next((run for run in runs if run.result is self._selected), runs[-1] if runs else None)

    @property
    def is_earlier(self) -> bool:
        """Whether it is for an earlier problem than the one that is set now."""
        return self.run is not None and self._results.is_earlier(self.run.result)

    def select(self, result: Measurement[Any] | None) -> None:
        """Describe the run with this result; the newest for None."""
        self._selected = result
        self.changed.emit()

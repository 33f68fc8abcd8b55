"""The results of all operations, one row per run, failed ones too; and which one is selected."""

from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

from PySide6.QtCore import QModelIndex, Signal

from engine.results.columns import KERNEL, SPEED_UP
from engine.results.compare import Compared, comparable
from engine.results.explained_time import ExplainedTime
from engine.results.measurement import Measurement
from engine.tasks.filtering.problem import Problem
from engine.tasks.operation.problem import OperationProblem
from gui.explore.picture_job import PictureJob
from gui.widgets.runs_model import RunsModel

# The order of a glance at a narrow window: who, how fast, is it right; what was done comes after. Layouts
# have a column only where they differ.
_FIRST = ("variant", "block", "layout", KERNEL, SPEED_UP, "proof", "operation")


class _Asked(NamedTuple):
    """What a run was asked for."""

    problem: Hashable
    job: PictureJob | None


class ResultsModel(RunsModel):
    """The runs of the page Explore."""

    described_changed = Signal()  # `described` is another run, is compared with another one, or there is none

    def __init__(self) -> None:
        super().__init__([Problem, OperationProblem], "cpu-serial", _FIRST)
        self._described: Measurement[Any] | None = None
        # By the identity of the results.
        self._asked: dict[int, _Asked] = {}
        self.present: Hashable = None
        """What runs share that are for the problem that is set now; None before there is one."""
        for other in (self.rowsInserted, self.modelReset):
            other.connect(lambda: self.describe(None))
        for compared in (self.dataChanged, self.present_changed):
            compared.connect(self.described_changed)

    def follow(self, problem: Hashable) -> None:
        """Note which problem is set now; None leaves it as it was."""
        if problem not in (None, self.present):
            known = {asked.problem for asked in self._asked.values()}
            touches = not {problem, self.present}.isdisjoint(known)
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

    @property
    def described(self) -> Compared | None:
        """The run that panels describe: the one selected in the table, until a new one arrives."""
        runs = self._runs
        return next((run for run in runs if run.result is self._described), runs[-1] if runs else None)

    def describe(self, result: Measurement[Any] | None) -> None:
        """Describe the run with this result; the newest for None."""
        self._described = result
        self.described_changed.emit()

    def problem_of(self, result: Measurement[Any]) -> Hashable:
        """Return what a run shares with those that are for the same problem."""
        return self._asked[id(result)].problem

    def job_of(self, result: Measurement[Any]) -> PictureJob | None:
        """Return the job that a run did; None where it is not known."""
        return self._asked[id(result)].job

    def add(self, result: Measurement[Any], problem: Hashable = None, job: PictureJob | None = None) -> None:
        """Append a result; a run of the baseline changes the speed-ups of its problem.

        `problem` is what it shares with those that are for the same one, by default what they compare; `job`
        is the one that it did.
        """
        position = len(self._results)
        self.beginInsertRows(QModelIndex(), position, position)
        self._asked[id(result)] = _Asked(problem or comparable(result), job)
        self._results.append(result)
        self._runs.append(Compared(result, position + 1))
        self.endInsertRows()
        self._compare()

    def explain(self, result: Measurement[Any], explained: ExplainedTime) -> Measurement[Any]:
        """Return a result that knows the reason for its time, in the place of the one that did not."""
        knowing = replace(result, explained=explained)
        at = next((at for at, known in enumerate(self._results) if known is result), None)
        if at is None:
            return knowing  # it was cleared meanwhile
        self._results[at] = knowing
        self._asked[id(knowing)] = self._asked.pop(id(result))
        self._chosen = {key: knowing if run is result else run for key, run in self._chosen.items()}
        if self._described is result:
            self._described = knowing
        self._compare()
        return knowing

    def clear(self) -> None:
        """Forget all results."""
        self.beginResetModel()
        self._results.clear()
        self._runs.clear()
        self._asked.clear()
        self._chosen.clear()
        self.endResetModel()

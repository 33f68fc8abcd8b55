"""Runs of operations other than convolution: the model behind table and plots, and the table's panel."""

from collections.abc import Hashable
from typing import Any

from PySide6.QtCore import QObject

from engine.results.columns import KERNEL, SPEED_UP
from engine.results.measurement import Measurement
from engine.tasks.operation.problem import OperationProblem
from gui.explore.operation.operation_state import OperationState
from gui.explore.results.results_model import ResultsModel
from gui.explore.results.results_panel import ResultsPanel
from gui.explore.workspace import Settings

_FIRST = ("variant", "block", KERNEL, SPEED_UP, "proof", "operation")


class OperationResults(ResultsModel):
    """The runs of all operations; the baseline is the CPU variant of the one that is chosen."""

    def __init__(self, operations: OperationState, parent: QObject | None = None) -> None:
        super().__init__(parent, OperationProblem, "cpu", _FIRST)
        self._operations = operations
        operations.changed.connect(lambda: self.follow(operations.problem))
        operations.chosen.connect(self._follow_operation)
        operations.listed.connect(self._follow_operation)
        # Cleared results leave no times behind in the list of kernels.
        self.modelReset.connect(operations.forget_runs)

    def problem_of(self, result: Measurement[Any]) -> Hashable:
        return self._operations.problem_of(result)

    def _follow_operation(self) -> None:
        of_cpu = next((one.key for one in self._operations.variants if one.kind == "cpu"), None)
        if of_cpu is not None:
            self.set_baseline(of_cpu)


class OperationResultsPanel(ResultsPanel):
    """Its table; the baseline is not the one of filters."""

    def _follow_baseline(self, settings: Settings) -> None:
        pass

    def _use_as_baseline(self, run: Measurement[Any] | None) -> None:
        self._results.use_as_baseline(run)

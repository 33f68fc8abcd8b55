"""The rows of the page Matrices as a table model. No widgets in here."""

from PySide6.QtCore import QObject

from engine.results.columns import KERNEL
from engine.results.compare import compared
from engine.tasks.product.problem import MatrixProduct
from gui.matrices.matmul_state import MatmulState
from gui.widgets.runs_model import RunsModel

_FIRST = ("variant", "tile", KERNEL)


class MatmulModel(RunsModel):
    """A row for each way to multiply with each tile, in teaching order."""

    def __init__(self, state: MatmulState, parent: QObject | None = None) -> None:
        super().__init__(MatrixProduct.task, "numpy", _FIRST, parent)
        self._state = state
        state.rows_changed.connect(self._follow)
        self._follow()

    def _follow(self) -> None:
        before, self._results = self._results, list(self._state.rows)
        if [(row.variant, row.tile) for row in before] == [(row.variant, row.tile) for row in self._results]:
            # The selection and the place of the scroll bar stay.
            self._compare()
            return
        self.beginResetModel()
        self._runs = compared(self._results, self._baseline, self._chosen)
        self.endResetModel()

"""The run that panels speak of: the one that is selected in the table, else the newest."""

from typing import Any

from PySide6.QtCore import QObject, Signal

from engine.results.compare import Compared
from engine.results.measurement import Measurement
from gui.explore.results.results_model import ResultsModel


class SelectedResult(QObject):
    """One run of the results; a new one takes the place of the selected one.

    Signals
    -------
    changed()
        `run` is another one, is compared with another one, or there is none.
    """

    changed = Signal()

    def __init__(self, results: ResultsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._results = results
        self._selected: Measurement[Any] | None = None
        results.rowsInserted.connect(lambda: self.select(None))
        results.modelReset.connect(lambda: self.select(None))
        results.dataChanged.connect(self.changed)

    @property
    def run(self) -> Compared | None:
        """The run to speak of; None while there are none."""
        runs = self._results.rows()
        return next((run for run in runs if run.result is self._selected), runs[-1] if runs else None)

    def select(self, result: Measurement[Any] | None) -> None:
        """Speak of the run with this result; of the newest for None."""
        self._selected = result
        self.changed.emit()

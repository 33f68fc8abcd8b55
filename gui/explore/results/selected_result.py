"""The result that panels speak of: the one that is selected in the table, else the newest."""

from PySide6.QtCore import QObject, Signal

from engine.results.measurement import RunResult
from gui.explore.results.results_model import ResultsModel


class SelectedResult(QObject):
    """One result of the results; a new one takes the place of the selected one.

    Signals
    -------
    changed()
        `result` is another one, or there is none.
    """

    changed = Signal()

    def __init__(self, results: ResultsModel, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._results = results
        self._selected: RunResult | None = None
        results.rowsInserted.connect(lambda: self.select(None))
        results.modelReset.connect(lambda: self.select(None))

    @property
    def result(self) -> RunResult | None:
        """The result to speak of; None while there are none."""
        results = self._results.results()
        return self._selected or (results[-1] if results else None)

    @property
    def number(self) -> int:
        """Its number in the table, from 1; 0 while there are none."""
        results, wanted = self._results.results(), self.result
        return next((at for at, result in enumerate(results, start=1) if result is wanted), 0)

    def select(self, result: RunResult | None) -> None:
        """Speak of this result; of the newest for None."""
        self._selected = result
        self.changed.emit()

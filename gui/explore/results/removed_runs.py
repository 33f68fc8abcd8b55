"""Runs that go from the results, and others that come, as those of a session: a step that can be undone."""

from collections.abc import Iterable
from typing import Any

from PySide6.QtGui import QUndoCommand

from engine.results.measurement import Measurement
from gui.explore.results.results_model import ResultsModel, Row


class ExchangeRuns(QUndoCommand):
    """Undone, each run that went is in its place again, with its problem and its job."""

    def __init__(
        self,
        results: ResultsModel,
        text: str,
        gone: Iterable[Measurement[Any]],
        come: Iterable[Row] = (),
    ) -> None:
        super().__init__(text)
        self._results = results
        wanted = {id(run) for run in gone}
        self._gone = tuple(row for row in results.rows_made_here() if id(row.result) in wanted)
        self._come = tuple(come)

    def redo(self) -> None:
        self._gone = self._results.take_out(self._gone)
        self._results.put_back(self._come)

    def undo(self) -> None:
        self._come = self._results.take_out(self._come)
        self._results.put_back(self._gone)

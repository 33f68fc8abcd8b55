"""Removing runs from the results and adding those of a session, as steps that can be undone."""

from collections.abc import Iterable
from typing import Any

from PySide6.QtGui import QUndoCommand

from engine.results.measurement import Measurement
from gui.explore.results.results_model import ResultsModel, Row


class RemoveRuns(QUndoCommand):
    """Forgets runs; undone, each is in its place again, with its problem and its job."""

    def __init__(self, results: ResultsModel, runs: Iterable[Measurement[Any]], text: str) -> None:
        super().__init__(text)
        self._results = results
        wanted = {id(run) for run in runs}
        self._rows = tuple(row for row in results.rows_made_here() if id(row.result) in wanted)

    def redo(self) -> None:
        self._rows = self._results.take_out(self._rows)

    def undo(self) -> None:
        self._results.put_back(self._rows)


class AddRuns(QUndoCommand):
    """Adds runs that were made earlier, as those of a session."""

    def __init__(self, results: ResultsModel, rows: Iterable[Row], text: str) -> None:
        super().__init__(text)
        self._results, self._rows = results, tuple(rows)

    def redo(self) -> None:
        self._results.put_back(self._rows)

    def undo(self) -> None:
        self._rows = self._results.take_out(self._rows)


def clear_command(results: ResultsModel) -> RemoveRuns:
    """Return the command that forgets all results of this machine."""
    runs = results.results()
    return RemoveRuns(results, runs, f"Clear {len(runs)} result{'s' if len(runs) != 1 else ''}")

"""Results as CSV, JSON, or on the clipboard."""

from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.results.columns import table_text
from engine.results.export import machine_document, results_csv, results_document
from engine.results.strict_json import json_text
from gui.engine_link.engine_state import EngineState
from gui.page.messages import Message, Messages, Severity
from gui.widgets.runs_model import RunsModel

SOURCE = "results"


class ResultsController(QObject):
    """Exports the rows of the results."""

    def __init__(self, results: RunsModel, state: EngineState, messages: Messages) -> None:
        super().__init__()
        self._results = results
        self._state = state
        self._messages = messages

    def export(self, path: Path) -> None:
        """Write all rows: as JSON if the name ends in .json, else as CSV."""
        rows = self._results.rows()
        text = self._json() if path.suffix.lower() == ".json" else results_csv(rows, self._results.baseline)
        try:
            atomic_write(path, text.encode("utf-8"))
        except EngineError as error:
            self._messages.show_error(SOURCE, error)
        else:
            self._messages.show(Message(SOURCE, Severity.INFO, f"{len(rows)} results saved as {path}"))

    def copy(self) -> None:
        """Put all rows on the clipboard, with every column that tables show at first, as lines with tabs."""
        columns, rows = [column for column in self._results.columns if column.shown], self._results.rows()
        QGuiApplication.clipboard().setText(table_text(columns, rows, self._results.baseline))
        self._messages.tell_copied(len(rows))

    def _json(self) -> str:
        rows = self._results.rows()
        # Failed runs know no versions; those of any other run are the engine's.
        known = next(
            (row.result.environment for row in reversed(rows) if row.result.environment.versions), None
        )
        versions, commit = (known.versions, known.commit) if known else ({}, "")
        machine = machine_document(self._state.devices, versions, commit)
        return json_text(results_document(rows, self._results.baseline, machine))

"""The results of a page as a file: CSV or JSON, in the form that the command line writes too."""

from pathlib import Path

from PySide6.QtCore import QObject

from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.results.export import machine_document, results_csv, results_document
from engine.results.strict_json import json_text
from gui.engine_link.engine_state import EngineState
from gui.page.files import FileDialogs
from gui.page.messages import Message, Messages, Severity
from gui.widgets.runs_model import RunsModel


class ResultsExport(QObject):
    """Asks where, and writes all runs of a page there, not what was only counted."""

    def __init__(self, results: RunsModel, state: EngineState, messages: Messages) -> None:
        super().__init__()
        self._results = results
        self._state = state
        self._messages = messages

    def ask(self, dialogs: FileDialogs, suffix: str, stem: str) -> None:
        """Ask for a file with this suffix, and write it."""
        filters = [f"{suffix.upper()} (*.{suffix})"]
        name = f"{stem}-results.{suffix}"
        dialogs.ask_to_save("Save the results", filters, name, lambda path, _filter: self.write(path))

    def write(self, path: Path) -> None:
        """Write the runs: as JSON if the name ends in .json, else as CSV."""
        rows = self._results.tried()
        text = self._json() if path.suffix.lower() == ".json" else results_csv(rows, self._results.baseline)
        try:
            atomic_write(path, text.encode())
        except EngineError as error:
            self._messages.show_error("results", error)
        else:
            count = f"{len(rows)} result{'s' if len(rows) != 1 else ''}"
            self._messages.show(Message("results", Severity.INFO, f"{count} saved as {path}"))

    def _json(self) -> str:
        rows = self._results.tried()
        # Failed runs know no versions; those of any other run are the engine's.
        known = [row.result.environment for row in rows if row.result.environment.versions]
        versions, commit = (known[-1].versions, known[-1].commit) if known else ({}, "")
        machine = machine_document(self._state.devices, versions, commit)
        return json_text(results_document(rows, self._results.baseline, machine))

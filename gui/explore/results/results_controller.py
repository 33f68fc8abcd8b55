"""Results out of the window: as CSV, JSON, or on the clipboard."""

from pathlib import Path

from PySide6.QtCore import QObject
from PySide6.QtGui import QGuiApplication

from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from gui.explore.results.results_export import to_clipboard_text, to_csv, to_json
from gui.explore.results.results_model import ResultsModel
from gui.page.messages import Message, Messages, Severity

SOURCE = "results"


class ResultsController(QObject):
    """Exports the rows of the results."""

    def __init__(self, results: ResultsModel, messages: Messages, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._results = results
        self._messages = messages

    def export(self, path: Path) -> None:
        """Write all rows: as JSON if the name ends in .json, else as CSV."""
        rows, baseline = self._results.rows(), self._results.baseline
        text = to_json(rows, baseline) if path.suffix.lower() == ".json" else to_csv(rows, baseline)
        try:
            atomic_write(path, text.encode("utf-8"))
        except EngineError as error:
            self._messages.show_error(SOURCE, error)
        else:
            self._messages.show(Message(SOURCE, Severity.INFO, f"{len(rows)} results saved as {path}"))

    def copy(self) -> None:
        """Put all rows on the clipboard, as lines with tabs."""
        rows = self._results.rows()
        QGuiApplication.clipboard().setText(to_clipboard_text(rows, self._results.baseline))
        self._messages.tell_copied(len(rows))

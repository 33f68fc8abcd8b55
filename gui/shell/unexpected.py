"""Unexpected errors: written to the crash log and shown in the message bar; the window stays open."""

import sys
import threading
from types import TracebackType

from PySide6.QtCore import QObject, Qt, Signal

from gui.page.messages import Message, Messages, Severity
from gui.shell.crash_log import log_path, write_error

SOURCE = "unexpected"


class UnexpectedErrors(QObject):
    """Catches unhandled exceptions on every thread."""

    happened = Signal(str)  # the error in one line

    def __init__(self, messages: Messages, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._messages = messages
        self.happened.connect(self._show, Qt.ConnectionType.QueuedConnection)

    def install(self) -> None:
        """Install the hooks."""
        sys.excepthook = self.catch
        threading.excepthook = lambda found: self.catch(
            found.exc_type, found.exc_value or found.exc_type(), found.exc_traceback
        )

    def catch(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """Log an error and show it. Called on: any thread."""
        if issubclass(kind, KeyboardInterrupt):
            return
        write_error(kind, error, trace)
        try:
            self.happened.emit(f"{kind.__name__}: {error}" if str(error) else kind.__name__)
        except RuntimeError:
            return  # the window is gone already; the log has it

    def _show(self, line: str) -> None:
        remedy = f"Your work is kept: continue, or save the session. The details are in {log_path()}"
        self._messages.everywhere.show(
            Message(SOURCE, Severity.ERROR, "Something went wrong in the window", line, remedy)
        )

"""Unexpected errors: written to the crash log and shown in the message bar; the window stays open."""

import sys
import threading
from types import TracebackType

from PySide6.QtCore import QObject, Qt, Signal

from engine.errors import EngineError
from engine.files.crash_log import log_path, write_error
from engine.shortages import shortage_of
from gui.page.messages import Message, Messages, Severity

SOURCE = "unexpected"


class UnexpectedErrors(QObject):
    """Catches unhandled exceptions on every thread."""

    happened = Signal(object)  # an EngineError: what, and why

    def __init__(self, messages: Messages) -> None:
        super().__init__()
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
        line = f"{kind.__name__}: {error}" if str(error) else kind.__name__
        found = shortage_of(error) or EngineError("Something went wrong in the window", line)
        try:
            self.happened.emit(found)
        except RuntimeError:
            return  # the window is gone already; the log has it

    def _show(self, found: EngineError) -> None:
        kept = f"Your work is kept: continue, or save the session. The details are in {log_path()}"
        remedy = f"{found.remedy} {kept}".strip()
        self._messages.everywhere.show(Message(SOURCE, Severity.ERROR, found.what, found.why, remedy))

"""What the window has to say to the person: one message a source, the newest on top. No widgets in here."""

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QObject, Signal

from engine.errors import EngineError


class Severity(StrEnum):
    """How bad it is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Message:
    """What happened, why, and what would do.

    Parameters
    ----------
    source : str
        Who says it: a newer message of the same source takes its place.
    action : str
        Text of a button that does something about it; empty for none.
    """

    source: str
    severity: Severity
    what: str
    why: str = ""
    remedy: str = ""
    action: str = ""


class Messages(QObject):
    """The messages that have not been dismissed.

    Signals
    -------
    changed()
        The newest message is another one, or there is none.
    action_chosen(str)
        The button of the message of this source was pressed.
    """

    changed = Signal()
    action_chosen = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._messages: dict[str, Message] = {}

    @property
    def newest(self) -> Message | None:
        """The message to show."""
        return next(reversed(self._messages.values()), None)

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self._messages)

    def of(self, source: str) -> Message | None:
        """Return the message of a source."""
        return self._messages.get(source)

    def show(self, message: Message) -> None:
        """Show a message in place of the last one of its source."""
        if self._messages.get(message.source) == message and self.newest == message:
            return
        self._messages.pop(message.source, None)
        self._messages[message.source] = message
        self.changed.emit()

    def show_error(self, source: str, error: EngineError, action: str = "") -> None:
        """Show an error of the engine in its own words."""
        self.show(Message(source, Severity.ERROR, error.what, error.why, error.remedy, action))

    def clear(self, *sources: str) -> None:
        """Remove what these sources said: it holds no longer."""
        removed = [self._messages.pop(source, None) for source in sources]
        if any(removed):
            self.changed.emit()

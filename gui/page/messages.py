"""What the window has to say to the person: one message a source, the newest on top. No widgets in here."""

from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QObject, Signal

from engine.errors import EngineError

EVERYWHERE = ""
# The page of what goes on while another one is looked at. What else is said answers the person, and belongs to the
# page that is shown then.
_PAGE_OF = {
    "preview": "explore",
    "availability": "explore",
    "run": "explore",
    "course": "course",
    "course tables": "course",
    "matrices": "matrices",
    "engine": EVERYWHERE,
    "compiled code": EVERYWHERE,
    "preferences": EVERYWHERE,
    "unexpected": EVERYWHERE,
}


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
    """The messages that have not been dismissed, each on the page that it is about.

    Signals
    -------
    changed()
        The newest message of the page that is shown is another one, or there is none.
    action_chosen(str)
        The button of the message of this source was pressed.
    """

    changed = Signal()
    action_chosen = Signal(str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._messages: dict[str, Message] = {}
        self._pages: dict[str, str] = {}
        self._page = EVERYWHERE

    @property
    def newest(self) -> Message | None:
        """The message to show."""
        return next(reversed(self._here()), None)

    @property
    def count(self) -> int:
        """How many there are on this page."""
        return len(self._here())

    def of(self, source: str) -> Message | None:
        """Return the message of a source."""
        return self._messages.get(source)

    def show(self, message: Message) -> None:
        """Show a message in place of the last one of its source."""
        if self._messages.get(message.source) == message and self.newest == message:
            return
        self._messages.pop(message.source, None)
        self._messages[message.source] = message
        self._pages[message.source] = _PAGE_OF.get(message.source, self._page)
        self.changed.emit()

    def show_page(self, key: str) -> None:
        """Say which page is looked at; what belongs to another one waits there."""
        if key != self._page:
            self._page = key
            self.changed.emit()

    def tell_copied(self, count: int) -> None:
        """Say that so many rows lie on the clipboard."""
        self.show(Message("copy", Severity.INFO, f"{count} row{'s' if count != 1 else ''} copied"))

    def show_error(self, source: str, error: EngineError, action: str = "") -> None:
        """Show an error of the engine in its own words."""
        self.show(Message(source, Severity.ERROR, error.what, error.why, error.remedy, action))

    def clear(self, *sources: str) -> None:
        """Remove what these sources said: it holds no longer."""
        removed = [self._messages.pop(source, None) for source in sources]
        if any(removed):
            self.changed.emit()

    def _here(self) -> list[Message]:
        return [
            message
            for source, message in self._messages.items()
            if EVERYWHERE in (self._page, self._pages[source]) or self._pages[source] == self._page
        ]

"""The window's messages to the user: one per source, the newest on top. No widgets in here."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from PySide6.QtCore import QObject, Signal

from engine.errors import EngineError


class Severity(StrEnum):
    """How bad it is."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class WindowMessage:
    """What happened, why, and what helps."""

    source: str  # a newer message of the same source replaces it
    severity: Severity
    what: str
    why: str = ""
    remedy: str = ""
    action: str = ""  # text of a button that calls `act`; empty for none
    act: Callable[[], None] | None = field(default=None, compare=False)
    other_action: str = ""  # and of a second button
    other_act: Callable[[], None] | None = field(default=None, compare=False)


def error_message(
    source: str, error: EngineError, action: str = "", act: Callable[[], None] | None = None
) -> WindowMessage:
    """Return the message of an error of the engine."""
    return WindowMessage(source, Severity.ERROR, error.what, error.why, error.remedy, action, act)


class PageMessages:
    """Shows messages of one page; of every page for None."""

    def __init__(self, messages: "Messages", page: object) -> None:
        self._all, self._page = messages, page

    def show(self, message: WindowMessage) -> None:
        """Show a message instead of the last one of its source."""
        known = self._all
        if not known.of(message.source) == message == known.newest:
            known._messages.pop(message.source, None)
            known._messages[message.source] = self._page, message
            known.changed.emit()

    def show_error(self, source: str, error: EngineError) -> None:
        self.show(error_message(source, error))

    def note(self, source: str, what: str, why: str = "", remedy: str = "") -> None:
        """Say what was done."""
        self.show(WindowMessage(source, Severity.INFO, what, why, remedy))

    def warn(self, source: str, what: str, why: str = "", remedy: str = "") -> None:
        """Say what was not done, or only in part."""
        self.show(WindowMessage(source, Severity.WARNING, what, why, remedy))

    def clear(self, *sources: str) -> None:
        """Remove the messages of these sources: they no longer hold."""
        removed = [self._all._messages.pop(source, None) for source in sources]
        if any(removed):
            self._all.changed.emit()


class Messages(PageMessages, QObject):
    """The messages that have not been dismissed, each on the page that it is about.

    `show` replies to an action of the user, on the page that is visible then; `on` and `everywhere` report
    background work of one page, or of the whole program.
    """

    changed = Signal()  # the newest message of the page that is shown is another one, or there is none

    def __init__(self) -> None:
        QObject.__init__(self)
        PageMessages.__init__(self, self, None)
        # Each with the page that it is on, by its source.
        self._messages: dict[str, tuple[object, WindowMessage]] = {}
        self.everywhere = PageMessages(self, None)

    @property
    def newest(self) -> WindowMessage | None:
        return next(reversed(self._here()), None)

    @property
    def count(self) -> int:
        """How many there are on this page."""
        return len(self._here())

    @property
    def notices(self) -> tuple[str, ...]:
        """Sources of those on this page that only inform."""
        return tuple(message.source for message in self._here() if message.severity is Severity.INFO)

    def of(self, source: str) -> WindowMessage | None:
        return self._messages.get(source, (None, None))[1]

    def on(self, page: object) -> PageMessages:
        """Return the messages of one page, also while another one is visible."""
        return PageMessages(self, page)

    def show_page(self, page: object) -> None:
        """Note which page is visible; messages of another one wait there."""
        if page is not self._page:
            self._page = page
            self.changed.emit()

    def report_copied(self, count: int) -> None:
        self.note("copy", f"{count} row{'s' if count != 1 else ''} copied")

    def forget_errors(self) -> None:
        """Remove the errors of this page: what failed is over once something else was done."""
        self.clear(*(one.source for one in self._here() if one.severity is Severity.ERROR))

    def _here(self) -> list[WindowMessage]:
        shown = self._page
        return [one for page, one in self._messages.values() if shown is None or page in (None, shown)]

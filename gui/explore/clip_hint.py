"""Says that much of the result lies out of range, and is black or white, with the range that shows it."""

from PySide6.QtCore import QObject

from engine.host.protocol import Filtered
from engine.tasks.filtering.clipping import Clipped
from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace
from gui.page.messages import Message, PageMessages, Severity

SOURCE = "clipped"


class ClipHint(QObject):
    """A message when a result begins to be clipped; it goes when that ends, and comes once if dismissed."""

    def __init__(self, workspace: Workspace, state: EngineState, messages: PageMessages) -> None:
        super().__init__()
        self._workspace, self._messages = workspace, messages
        self._said = ""
        state.filtered.connect(self._follow)

    def _follow(self, filtered: Filtered) -> None:
        clipped = Clipped(*filtered.clipped)
        mode = clipped.better_range
        if mode == self._said:
            return
        self._said = mode
        if not mode:
            self._messages.clear(SOURCE)
            return
        self._messages.show(
            Message(
                SOURCE,
                Severity.INFO,
                clipped.words,
                "",
                "",
                f"Show {mode}",
                lambda: self._workspace.change(range_mode=mode),
            )
        )

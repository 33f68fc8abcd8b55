"""Which machine computes, this computer or a server; what is said when that is not reached."""

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from engine.errors import EngineError, LineLost
from engine.remote.ssh import RemoteServer
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.page.messages import Message, Messages, Severity, error_message
from gui.shell.connect_dialog import ConnectDialog

SOURCE = "connection"
RECONNECT = "Reconnect"
TRY_AGAIN = "Try again"
MOST_SERVERS = 12
_OR_HERE = "Or choose This computer under Device."


class Machines(QObject):
    """Connects in the background, and goes back to the machine before where that fails.

    `known` are servers of earlier times: as ssh calls them, and their Python.
    """

    def __init__(
        self, link: EngineLink, state: EngineState, messages: Messages, known: tuple[tuple[str, str], ...]
    ) -> None:
        super().__init__()
        self._link, self._state, self._messages = link, state, messages
        self.parent_widget: QWidget | None = None
        self.dialog: ConnectDialog | None = None
        # The machine that is tried, and the one before: it computes again where the new one is not reached.
        self._tried = self._before = state.machine
        self._is_trying = False
        servers = [RemoteServer(name, python) for name, python in known]
        state.set_servers(_with(tuple(servers), state.machine))
        state.machine_wanted.connect(self.choose)
        state.another_wanted.connect(self.ask)
        link.ready.connect(self._ready)
        link.lost.connect(self._lost)

    def choose(self, machine: RemoteServer | None) -> None:
        """Compute on another machine from now on; None is this computer."""
        if not self._is_trying:
            self._before = self._state.machine
        self._is_trying = machine is not None and machine != self._before
        self._tried = machine
        self._messages.clear(SOURCE)
        self._link.connect_to(machine)

    def stop(self) -> None:
        """Go back to the machine before, where another one is being tried."""
        if self._is_trying:
            self._go_back()

    def reconnect(self) -> None:
        """Connect once more to the machine that was lost."""
        self._messages.clear(SOURCE)
        self._link.connect_to(self._state.machine)

    def ask(self) -> None:
        """Ask for a machine that is not in the list."""
        if self.dialog is None:
            self.dialog = ConnectDialog(self.parent_widget)
            self.dialog.wanted.connect(self.choose)
            self.dialog.rejected.connect(self.stop)
        self.dialog.begin()

    def _go_back(self) -> None:
        self._is_trying = False
        self._link.connect_to(self._before)

    def _ready(self) -> None:
        machine = self._state.machine
        if self._messages.of(SOURCE) is not None:
            self._messages.clear(SOURCE)
        if machine is None:
            return
        self._is_trying = False
        self._state.set_servers(_with(self._state.servers, machine))
        if self.dialog is not None and self.dialog.isVisible():
            self.dialog.accept()
        what = f"Connected to {machine.title}"
        self._messages.everywhere.show(Message(SOURCE, Severity.INFO, what, "it computes from now on"))

    def _lost(self, error: EngineError) -> None:
        if not isinstance(error, LineLost):
            return
        if not self._is_trying:
            error = LineLost(error.what, error.why, f"{error.remedy} {_OR_HERE}".strip())
            self._messages.everywhere.show(error_message(SOURCE, error, RECONNECT, self.reconnect))
            return
        tried = self._tried
        self._go_back()
        if self.dialog is not None and self.dialog.isVisible() and tried is not None:
            self.dialog.refuse(tried, error)
            return
        self._messages.everywhere.show(error_message(SOURCE, error, TRY_AGAIN, lambda: self.choose(tried)))


def _with(servers: tuple[RemoteServer, ...], machine: RemoteServer | None) -> tuple[RemoteServer, ...]:
    """Return the known servers with one more, the newest first."""
    if machine is None or machine in servers:
        return servers
    return (machine, *(one for one in servers if one.destination != machine.destination))[:MOST_SERVERS]

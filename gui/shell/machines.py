"""Which machine computes, this computer or a server; messages when its engine ends or is not reached."""

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLineEdit, QWidget

from engine.errors import CodeNotKept, EngineError, HostLost, LineLost
from engine.remote.ssh import RemoteServer
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.page.messages import Messages, Severity, error_message
from gui.style.metrics import GRID
from gui.widgets.panel_parts import RefusalLabel, column, form, label_for, quiet_label

SOURCE, ENGINE_SOURCE, CODE_SOURCE = "connection", "engine", "compiled code"
RECONNECT, TRY_AGAIN, RETRY_GPU = "Reconnect", "Try again", "Try the GPU again"
MOST_SERVERS = 12
_OR_HERE = "Or choose This computer under Device."
_ABOUT = (
    "The system's ssh connects, with the keys, ports and jump hosts of ~/.ssh/config. There it needs "
    "Haloscope of the same version. Your picture, settings and results stay."
)


class Machines(QObject):
    """Connects in the background, and goes back to the machine before where that fails.

    It says which engines ended or were replaced and what code is not kept, and offers the GPU again. `known`
    are servers of earlier times: as ssh calls them, and their Python.
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
        self._reported: set[str] = set()
        link.ready.connect(self._ready)
        link.lost.connect(self._lost)
        link.noticed.connect(self._noticed)

    def choose(self, machine: RemoteServer | None) -> None:
        """Compute on another machine from now on; None is this computer."""
        if not self._is_trying:
            self._before = self._state.machine
        self._is_trying = machine is not None and machine != self._before
        self._tried = machine
        self._messages.clear(SOURCE)
        self._link.connect_to(machine)

    def ask(self) -> None:
        """Ask for a machine that is not in the list; what was typed before is still there."""
        if self.dialog is None:
            self.dialog = ConnectDialog(self.parent_widget)
            self.dialog.wanted.connect(self.choose)
        self.dialog.open()

    def try_gpu_again(self) -> None:
        self._messages.clear(ENGINE_SOURCE)
        self._link.try_cuda_again()

    def _noticed(self, warning: CodeNotKept) -> None:
        # Each new host reports it again.
        if str(warning) not in self._reported:
            self._reported.add(str(warning))
            self._messages.everywhere.note(CODE_SOURCE, warning.what, warning.why, warning.remedy)

    def _ready(self) -> None:
        message = self._messages.of(ENGINE_SOURCE)
        if message is not None and message.severity is Severity.ERROR:
            remedy = "A new one is running; your work is kept. Run again."
            if not self._link.uses_cuda:
                alone = "on the CPU alone, after three faults in ten minutes"
                remedy = f"A new one is running {alone}; your work is kept."
            self._messages.everywhere.show(replace(message, severity=Severity.WARNING, remedy=remedy))
        machine = self._state.machine
        if machine is None:
            return
        self._is_trying = False
        self._state.set_servers(_with(self._state.servers, machine))
        if self._messages.of(SOURCE) is not None:
            # Why another one is not reached: this is the machine before.
            return
        self._messages.everywhere.note(SOURCE, f"Connected to {machine.title}", "it computes from now on")

    def _lost(self, error: HostLost) -> None:
        if not isinstance(error, LineLost):
            retry = ("", None) if self._link.uses_cuda else (RETRY_GPU, self.try_gpu_again)
            self._messages.everywhere.show(error_message(ENGINE_SOURCE, error, *retry))
            return
        remedy = error.remedy.replace("with --host-python", "in “Python there”")
        if self._is_trying:
            self._is_trying, machine, action = False, self._tried, TRY_AGAIN
            self._link.connect_to(self._before)
        else:
            machine, action = self._state.machine, RECONNECT
            remedy = f"{remedy} {_OR_HERE}".strip()
        error = LineLost(error.what, error.why, remedy)
        again = partial(self.choose, machine)
        self._messages.everywhere.show(error_message(SOURCE, error, action, again))


def _with(servers: tuple[RemoteServer, ...], machine: RemoteServer | None) -> tuple[RemoteServer, ...]:
    """Return the known servers with one more, the newest first."""
    if machine is None or machine in servers:
        return servers
    return (machine, *(one for one in servers if one.destination != machine.destination))[:MOST_SERVERS]


class ConnectDialog(QDialog):
    """Asks for a machine that ssh reaches; whether it is reached is a message of the window."""

    wanted = Signal(object)  # the RemoteServer to connect to

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Compute on another machine")
        self.server = QLineEdit(placeholderText="user@server, or a name of ~/.ssh/config")
        self.python = QLineEdit(placeholderText="python3")
        self.python.setToolTip("Such as python3.11, or of a clone: cd FOLDER && .venv/bin/python")
        fields = form(GRID)
        fields.addRow(label_for("&Server", self.server), self.server)
        fields.addRow(label_for("&Python there", self.python), self.python)
        self.refusal = RefusalLabel()
        buttons, role = QDialogButtonBox(), QDialogButtonBox.ButtonRole
        self.connect_button = buttons.addButton("&Connect", role.AcceptRole)
        buttons.addButton("Cancel", role.RejectRole)
        buttons.accepted.connect(self._connect)
        buttons.rejected.connect(self.reject)
        about = quiet_label(_ABOUT, wraps=True)
        parts = about, fields, self.refusal, 1, buttons
        self.setLayout(column(*parts, spacing=GRID + GRID // 2, margins=2 * GRID))
        self.server.textChanged.connect(self._allow)
        self._allow()
        self.resize(74 * GRID, self.sizeHint().height())

    def _allow(self) -> None:
        self.refusal.say("")
        self.connect_button.setEnabled(bool(self.server.text().strip()))

    def _connect(self) -> None:
        try:
            server = RemoteServer(self.server.text().strip(), self.python.text().strip() or "python3")
        except EngineError as error:
            self.refusal.say(f"“{self.server.text()}” cannot be used: {error.why}. {error.remedy}")
            return
        self.accept()
        self.wanted.emit(server)

"""Asks for a machine that ssh reaches, and says why it cannot be used."""

from html import escape

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontDatabase, QGuiApplication
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QLineEdit,
    QProgressBar,
    QPushButton,
    QSizePolicy,
    QWidget,
)

from engine.errors import EngineError
from engine.remote.ssh import RemoteServer
from gui.page.messages import Message, Severity
from gui.shell.message_bar import html
from gui.style.icons import icon
from gui.style.metrics import GRID
from gui.widgets.panel_parts import column, form, label_for, quiet_label, row

_ABOUT = (
    "The system's ssh connects, with the keys, ports and jump hosts of ~/.ssh/config. There it needs "
    "Haloscope of the same version. Your picture, settings and results stay."
)
_WIDTH = 74 * GRID


class ConnectDialog(QDialog):
    """Server, its Python, Connect. It stays open until a connection is made or somebody closes it."""

    wanted = Signal(object)  # the RemoteServer to connect to

    def __init__(self, parent: QWidget | None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Compute on another machine")
        self.setModal(True)
        self.server, self.python = QLineEdit(), QLineEdit()
        self.server.setPlaceholderText("user@server, or a name of ~/.ssh/config")
        self.python.setPlaceholderText("python3")
        self.python.setToolTip("Such as python3.11, or of a clone: cd FOLDER && .venv/bin/python")
        fields = form(GRID)
        fields.addRow(label_for("&Server", self.server), self.server)
        fields.addRow(label_for("&Python there", self.python), self.python)
        self._icon = QLabel()
        self._icon.setFixedSize(18, 18)
        self.words = QLabel(wordWrap=True)
        self.words.setTextFormat(Qt.TextFormat.RichText)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.words.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.command = QLineEdit(readOnly=True)
        self.command.setAccessibleName("The command that helps")
        self.command.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.copy = QPushButton("Copy")
        self.copy.setToolTip("Copy the command, to run it in a terminal.")
        self.copy.clicked.connect(self._copy)
        self._bar = QProgressBar()
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(GRID)
        self._bar.setAccessibleName("Connecting")
        buttons = QDialogButtonBox()
        cancel = buttons.addButton("Cancel", QDialogButtonBox.ButtonRole.RejectRole)
        self.connect_button = buttons.addButton("&Connect", QDialogButtonBox.ButtonRole.ActionRole)
        for button in (cancel, self.copy):
            button.setAutoDefault(False)
        self.connect_button.setDefault(True)
        self.connect_button.clicked.connect(self._connect)
        buttons.rejected.connect(self.reject)
        said = row(self._icon, (self.words, 1))
        said.setAlignment(self._icon, Qt.AlignmentFlag.AlignTop)
        self.setLayout(
            column(
                quiet_label(_ABOUT, wraps=True),
                fields,
                said,
                row((self.command, 1), self.copy),
                self._bar,
                1,
                buttons,
                spacing=GRID + GRID // 2,
                margins=(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID),
            )
        )
        self.server.textChanged.connect(self._allow)

    def begin(self) -> None:
        """Show it, with what was typed before."""
        self._say("")
        self._allow()
        self.open()
        self.resize(_WIDTH, self.sizeHint().height())
        self.server.setFocus()
        self.server.selectAll()

    def refuse(self, server: RemoteServer, error: EngineError) -> None:
        """Say why a server cannot be used; the command that helps can be copied."""
        self._refuse(error, server.install_command)

    def _refuse(self, error: EngineError, command: str = "") -> None:
        is_given = bool(command) and command in error.remedy
        remedy = error.remedy.replace("with --host-python", "in “Python there”")
        remedy = remedy.replace(command, "") if is_given else remedy
        message = Message("", Severity.ERROR, error.what, error.why, remedy)
        self._say(html(message), command=command if is_given else "", is_error=True)
        self.server.setFocus()

    def _connect(self) -> None:
        try:
            server = RemoteServer(self.server.text().strip(), self.python.text().strip() or "python3")
        except EngineError as error:
            what = f"“{self.server.text()}” cannot be used"
            self._refuse(EngineError(what, error.why, error.remedy))
            return
        self._say(f"Connecting to {escape(server.title)}…", is_busy=True)
        self.wanted.emit(server)

    def _say(self, words: str, *, command: str = "", is_error: bool = False, is_busy: bool = False) -> None:
        self.words.setText(words)
        self.words.setVisible(bool(words))
        self._icon.setVisible(is_error)
        self._icon.setPixmap(icon("error").pixmap(18, 18))
        self._bar.setVisible(is_busy)
        self.command.setText(command)
        self.command.setCursorPosition(0)
        for widget in (self.command, self.copy):
            widget.setVisible(bool(command))
        for field in (self.server, self.python, self.connect_button):
            field.setEnabled(not is_busy)
        self._fit()

    def _fit(self) -> None:
        layout = self.layout()
        if layout is not None and self.isVisible():
            layout.activate()
            self.resize(self.width(), max(layout.totalHeightForWidth(self.width()), self.minimumHeight()))

    def _allow(self) -> None:
        self.connect_button.setEnabled(bool(self.server.text().strip()))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self.command.text())

"""Asks for a machine that ssh reaches, and says why it cannot be used."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
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
from gui.style.icons import icon
from gui.style.metrics import GRID
from gui.style.theme import current_theme
from gui.widgets.panel_parts import column, form, label_for, quiet_label, row

_ABOUT = (
    "The system's ssh connects, with the keys, ports and jump hosts of ~/.ssh/config. There it needs "
    "Haloscope of the same version. Your picture, settings and results stay."
)
_WIDTH = 60 * GRID


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
        self.words.setTextFormat(Qt.TextFormat.PlainText)
        self.words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.words.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.words.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.copy = QPushButton("Copy the command")
        self.copy.clicked.connect(self._copy)
        self._bar = QProgressBar()
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(GRID)
        self._bar.setAccessibleName("Connecting")
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self.connect_button = buttons.addButton("&Connect", QDialogButtonBox.ButtonRole.ActionRole)
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
                row(1, self.copy),
                self._bar,
                1,
                buttons,
                spacing=GRID + GRID // 2,
                margins=(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID),
            )
        )
        self.server.textChanged.connect(self._allow)
        self._command = ""

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
        self._command = server.install_command if server.install_command in str(error) else ""
        self._say(str(error), is_error=True)
        self._allow()

    def _connect(self) -> None:
        try:
            server = RemoteServer(self.server.text().strip(), self.python.text().strip() or "python3")
        except EngineError as error:
            self._command = ""
            self._say(str(error), is_error=True)
            return
        self._say(f"Connecting to {server.title}…", is_busy=True)
        self.wanted.emit(server)

    def _say(self, words: str, *, is_error: bool = False, is_busy: bool = False) -> None:
        self.words.setText(words)
        self.words.setVisible(bool(words))
        self._icon.setVisible(is_error)
        self._icon.setPixmap(icon("error").pixmap(18, 18))
        self._bar.setVisible(is_busy)
        self.copy.setVisible(is_error and bool(self._command))
        for field in (self.server, self.python, self.connect_button):
            field.setEnabled(not is_busy)
        colour = current_theme().error if is_error else current_theme().text
        self.words.setStyleSheet(f"color: {colour};")
        self._fit()

    def _fit(self) -> None:
        layout = self.layout()
        if layout is not None and self.isVisible():
            layout.activate()
            self.resize(self.width(), max(layout.totalHeightForWidth(self.width()), self.minimumHeight()))

    def _allow(self) -> None:
        self.connect_button.setEnabled(bool(self.server.text().strip()))

    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._command)

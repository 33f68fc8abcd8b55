"""The mask as another program has it: its settings, as one step, and a dialog with its line of code."""

from PySide6.QtCore import QObject, QSize
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QWidget

from engine.device_info import AUTO
from engine.errors import EngineError
from engine.recipes.programs import PROGRAMS, AsProgram, as_program
from gui.explore.workspace import Workspace
from gui.page.actions import Entry
from gui.page.contract import Services
from gui.style.metrics import GRID, code_font
from gui.widgets.panel_parts import column, quiet_label

_MARGIN = 2 * GRID
_SIZE = QSize(70 * GRID, 30 * GRID)


class ProgramDialog(QDialog):
    """The line of code, and in two sentences what the program does otherwise."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle("As another program would")
        self.title, self.differs = QLabel(), QLabel()
        font = self.title.font()
        font.setBold(True)
        self.title.setFont(font)
        self.differs.setWordWrap(True)
        self.code = QPlainTextEdit()
        self.code.setReadOnly(True)
        self.code.setFont(code_font())
        self.code.setAccessibleName("Line of code")
        self.code.setTabChangesFocus(True)
        done = quiet_label(
            "Flip, border, anchor and output type here are now as there. Undo takes it back.",
            small=True,
            wraps=True,
        )
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.copy_button = buttons.addButton("Copy", QDialogButtonBox.ButtonRole.ActionRole)
        self.copy_button.setToolTip("Copy the line of code.")
        self.copy_button.clicked.connect(lambda: QGuiApplication.clipboard().setText(self.code.toPlainText()))
        buttons.rejected.connect(self.reject)
        parts = (self.title, self.differs, (self.code, 1), done, buttons)
        self.setLayout(column(*parts, margins=(_MARGIN, _MARGIN, _MARGIN, _MARGIN)))
        self.resize(_SIZE)

    def show_program(self, other: AsProgram) -> None:
        """Show what a program does, in front."""
        self.title.setText(other.program.title)
        self.differs.setText(other.program.differs)
        self.code.setPlainText(other.code)
        self.show()
        self.raise_()
        self.copy_button.setFocus()


SOURCE = "as another program"
ENTRIES = [
    Entry(f"as_program:{program.key}", program.title,
          f"Set flip, border and output type as {program.title} has them, and show its line of code.",
          "", "", "&Mask", 20, "As anot&her program would", program.key)
    for program in PROGRAMS
]  # fmt: skip


class OtherPrograms(QObject):
    """Brings an action for each program; its dialog stays beside the window, and follows the next choice."""

    def __init__(self, services: Services, workspace: Workspace, parent_widget: QWidget) -> None:
        super().__init__(parent_widget)
        self._workspace, self._messages = workspace, services.messages
        self._parent_widget = parent_widget
        self.dialog: ProgramDialog | None = None
        self.actions: list[QAction] = services.actions.add(ENTRIES)
        for action, program in zip(self.actions, PROGRAMS, strict=True):
            action.triggered.connect(lambda _on, key=program.key: self.choose(key))

    def choose(self, key: str) -> None:
        """Do what a program would, as one step that can be undone; a message says why it cannot be done."""
        workspace, picture = self._workspace, self._workspace.picture
        try:
            other = as_program(
                key,
                workspace.mask,
                normalise=workspace.settings.normalise and workspace.can_normalise,
                dtype=picture.dtype if picture else "uint8",
                channels=picture.channels if picture else 3,
            )
        except EngineError as error:
            self._messages.show_error(SOURCE, error)
            return
        self._messages.clear(SOURCE)
        settings = other.settings
        if workspace.settings.variant != AUTO:
            # The chosen kernel may not write 8 bit; clipped float32 results are saved as the same bytes.
            settings = settings | {"result_type": "float32"}
        workspace.set_mask(other.mask, f"As {other.program.title} would", **settings)
        if self.dialog is None:
            self.dialog = ProgramDialog(self._parent_widget)
        self.dialog.show_program(other)

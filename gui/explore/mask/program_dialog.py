"""What another program does with the mask: its line of code to copy, and what it does otherwise."""

from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QWidget

from engine.recipes.programs import AsProgram
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

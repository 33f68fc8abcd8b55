"""The mask as text: read in any form, written in the form of one's choice."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import (
    QComboBox,
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from engine.errors import MaskError
from engine.mask.mask import Mask
from engine.mask.text import format_mask, parse_mask
from gui.style.metrics import GRID
from gui.style.theme import current_theme

STYLE_TITLES = {
    "rows": "Rows",
    "line": "One line",
    "csv": "CSV",
    "tabs": "Tabs (spreadsheet)",
    "numpy": "NumPy",
    "c": "C",
    "matlab": "MATLAB",
    "json": "JSON (with anchor and offset)",
}


class MaskTextDialog(QDialog):
    """Edit the mask as text; the line under the text says what is read, or why it is no mask.

    Signals
    -------
    mask_accepted(object)
        The Mask that was written.
    """

    mask_accepted = Signal(object)

    def __init__(self, mask: Mask, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._shown = mask
        self._read: Mask | None = mask
        self.setWindowTitle("Mask as text")
        self.editor = QPlainTextEdit()
        self.editor.setFont(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont))
        self.editor.setTabChangesFocus(True)
        self.editor.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.editor.setAccessibleName("Mask as text")
        self.style_box = QComboBox()
        self.style_box.setAccessibleName("Write as")
        for key, title in STYLE_TITLES.items():
            self.style_box.addItem(title, key)
        self.style_box.setToolTip(
            "The form in which the mask is written here. Every form is read, whatever is chosen."
        )
        self.verdict = QLabel()
        self.verdict.setWordWrap(True)
        self.verdict.setMinimumHeight(3 * self.fontMetrics().lineSpacing())
        self.verdict.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setText("Use this mask")
        self._lay_out()
        self.style_box.activated.connect(self._write)
        self.editor.textChanged.connect(self._check)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self._write()
        # A paste takes the place of the mask at once.
        self.editor.selectAll()
        self.editor.setFocus()
        self.resize(60 * GRID, 48 * GRID)

    def accept(self) -> None:
        if self._read is not None:
            self.mask_accepted.emit(self._read)
            super().accept()

    def _lay_out(self) -> None:
        hint = QLabel(
            "Rows of numbers with spaces, commas or tabs, a new line or ; after each row; fractions (1/9), a divisor "
            "after the mask ( /16); or a table of NumPy, C, MATLAB or JSON."
        )
        hint.setWordWrap(True)
        label = QLabel("Write as")
        label.setBuddy(self.style_box)
        top = QHBoxLayout()
        top.setSpacing(GRID)
        top.addWidget(label)
        top.addWidget(self.style_box)
        top.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
        column.setSpacing(GRID)
        column.addWidget(hint)
        column.addLayout(top)
        column.addWidget(self.editor, 1)
        column.addWidget(self.verdict)
        column.addWidget(self.buttons)

    def _write(self) -> None:
        self.editor.setPlainText(format_mask(self._read or self._shown, self.style_box.currentData()))

    def _check(self) -> None:
        theme = current_theme()
        try:
            self._read = parse_mask(self.editor.toPlainText())
        except MaskError as error:
            self._read = None
            self.verdict.setText(str(error))
            self.verdict.setStyleSheet(f"color: {theme.error}")
        else:
            self.verdict.setText(
                f"{self._read.rows} x {self._read.columns} cells, sum {self._read.total:.6g}."
            )
            self.verdict.setStyleSheet(f"color: {theme.muted}")
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(self._read is not None)

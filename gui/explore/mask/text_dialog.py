"""The mask as text: read in any form, written in the chosen form."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontDatabase
from PySide6.QtWidgets import QComboBox, QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QWidget

from engine.errors import MaskError
from engine.mask.mask import Mask
from engine.mask.text import STYLES, format_mask, parse_mask
from gui.style.metrics import GRID
from gui.style.theme import current_theme
from gui.widgets.panel_parts import column, fill_box, label_for, row

_HINT = (
    "Rows of numbers with spaces, commas or tabs, a new line or ; after each row; fractions (1/9), a divisor "
    "after the mask ( /16); a generator (gaussian:9:1.5); a table of NumPy, C, MATLAB, ImageMagick or JSON."
)


class MaskTextDialog(QDialog):
    """Edit the mask as text; the line under the text says what is read, or why it is not a mask."""

    # The Mask that was written.
    mask_accepted = Signal(object)

    def __init__(self, mask: Mask, parent: QWidget) -> None:
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
        fill_box(self.style_box, {style: form.title for style, form in STYLES.items()}, "rows")
        self.style_box.setToolTip(
            "The form in which the mask is written here. Every form can be read, whichever is chosen."
        )
        hint, self.verdict = QLabel(_HINT), QLabel()
        for label in (hint, self.verdict):
            label.setWordWrap(True)
        self.verdict.setMinimumHeight(3 * self.fontMetrics().lineSpacing())
        self.verdict.setAlignment(Qt.AlignmentFlag.AlignTop)
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self._ok = self.buttons.button(QDialogButtonBox.StandardButton.Ok)
        self._ok.setText("Use this mask")
        top = row(label_for("Write as", self.style_box), self.style_box, 1)
        parts = (hint, top, (self.editor, 1), self.verdict, self.buttons)
        self.setLayout(column(*parts, margins=(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)))
        self.style_box.activated.connect(self._write)
        self.editor.textChanged.connect(self._check)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self._write()
        # What is pasted takes the place of the mask at once.
        self.editor.selectAll()
        self.editor.setFocus()
        self.resize(60 * GRID, 48 * GRID)

    def accept(self) -> None:
        if self._read is not None:
            self.mask_accepted.emit(self._read)
            super().accept()

    def _write(self) -> None:
        self.editor.setPlainText(format_mask(self._read or self._shown, self.style_box.currentData()))

    def _check(self) -> None:
        try:
            self._read = mask = parse_mask(self.editor.toPlainText())
            verdict, colour = (
                f"{mask.rows} × {mask.columns} cells, sum {mask.total:.6g}.",
                current_theme().muted,
            )
        except MaskError as error:
            self._read = None
            verdict, colour = str(error), current_theme().error
        self.verdict.setText(verdict)
        self.verdict.setStyleSheet(f"color: {colour}")
        self._ok.setEnabled(self._read is not None)

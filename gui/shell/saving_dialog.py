"""Closing while a file is being saved: wait for it, discard it, or keep the window open."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from gui.style.metrics import GRID

WIDTH = 56 * GRID


class SavingDialog(QDialog):
    """Shows what is being saved, and asks whether to wait for it; Esc and Cancel keep the window open.

    Signals
    -------
    discarded()
        The window is to close at once, without the files.
    """

    discarded = Signal()

    def __init__(self, names: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Close Haloscope")
        self.setFixedWidth(WIDTH)
        self._what = QLabel()
        self._what.setWordWrap(True)
        self._what.setTextFormat(Qt.TextFormat.PlainText)
        font = self._what.font()
        font.setBold(True)
        self._what.setFont(font)
        # Encoders do not say how far they are.
        self._bar = QProgressBar()
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(GRID)
        self._bar.setAccessibleName("Saving goes on")
        self._meaning = QLabel("Wait until it is written, or discard it and close now.")
        self._meaning.setWordWrap(True)
        buttons = QDialogButtonBox()
        self._wait = QPushButton("&Wait")
        self._wait.setToolTip("Close by itself as soon as it is written.")
        self._wait.clicked.connect(self.wait)
        discard = QPushButton("&Discard")
        discard.setToolTip("Close now, without it. A file that it was to replace stays as it is.")
        # Enter never discards, whatever has the focus.
        discard.setAutoDefault(False)
        discard.clicked.connect(self.discarded)
        self._cancel = QPushButton("Cancel")
        self._cancel.setToolTip("Keep the window open. Saving goes on. (Esc)")
        self._cancel.clicked.connect(self.reject)
        buttons.addButton(self._wait, QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.addButton(discard, QDialogButtonBox.ButtonRole.DestructiveRole)
        buttons.addButton(self._cancel, QDialogButtonBox.ButtonRole.RejectRole)
        self._wait.setDefault(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
        column.setSpacing(GRID)
        for widget in (self._what, self._bar, self._meaning):
            column.addWidget(widget)
        column.addSpacing(GRID)
        column.addWidget(buttons)
        self.show_files(names)

    def show_files(self, names: Sequence[str]) -> None:
        """Say what is still being saved."""
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        self._what.setText(f"Saving {names[0]}{more}…")

    def wait(self) -> None:
        """Say that the window closes by itself."""
        self._cancel.setDefault(True)
        self._cancel.setFocus()
        self._wait.setEnabled(False)
        self._meaning.setText("Haloscope closes as soon as it is written.")

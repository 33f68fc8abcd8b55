"""Closing the window: at once, or after the files that are being saved."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QCloseEvent, QSessionManager
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QProgressBar, QWidget

from engine.files.standard_streams import log
from gui.engine_link.engine_link import EngineLink
from gui.shell.main_window import MainWindow
from gui.style.metrics import GRID, scaled_font
from gui.widgets.panel_parts import column

WIDTH = 56 * GRID


class SavingDialog(QDialog):
    """Shows what is being saved, and asks whether to wait for it; Esc and Cancel keep the window open."""

    discarded = Signal()  # the window is to close at once, without the files

    def __init__(self, names: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Close Haloscope")
        self.setFixedWidth(WIDTH)
        self._what = QLabel()
        self._what.setWordWrap(True)
        self._what.setTextFormat(Qt.TextFormat.PlainText)
        self._what.setFont(scaled_font(1.0, bold=True))
        # Encoders do not say how far they are.
        self._bar = QProgressBar()
        self._bar.setRange(0, 0)
        self._bar.setTextVisible(False)
        self._bar.setFixedHeight(GRID)
        self._bar.setAccessibleName("Saving is in progress")
        self._meaning = QLabel("Wait until it is written, or discard it and close now.")
        self._meaning.setWordWrap(True)
        buttons, role = QDialogButtonBox(), QDialogButtonBox.ButtonRole
        self._wait = buttons.addButton("&Wait", role.AcceptRole)
        self._wait.setToolTip("Close by itself as soon as it is written.")
        self._wait.clicked.connect(self.wait)
        self._wait.setDefault(True)
        discard = buttons.addButton("&Discard", role.DestructiveRole)
        discard.setToolTip("Close now, without it. A file that it was to replace stays as it is.")
        # Enter never discards, whatever has the focus.
        discard.setAutoDefault(False)
        discard.clicked.connect(self.discarded)
        self._cancel = buttons.addButton("Cancel", role.RejectRole)
        self._cancel.setToolTip("Keep the window open. Saving continues. (Esc)")
        self._cancel.clicked.connect(self.reject)
        said = column(self._what, self._bar, self._meaning)
        margins = (2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
        self.setLayout(column(said, buttons, spacing=2 * GRID, margins=margins))
        self.show_files(names)

    def show_files(self, names: Sequence[str]) -> None:
        """Show which files are still being saved."""
        more = f" and {len(names) - 1} more" if len(names) > 1 else ""
        self._what.setText(f"Saving {names[0]}{more}…")

    def wait(self) -> None:
        """Show that the window will close by itself."""
        self._cancel.setDefault(True)
        self._cancel.setFocus()
        self._wait.setEnabled(False)
        self._meaning.setText("Haloscope closes as soon as it is written.")


class Closing(QObject):
    """Asks before closing would lose a file that is being saved, and closes by itself when it is written.

    If the save fails, the window stays open and shows the error.
    """

    interrupted = Signal()  # Ctrl+C in the terminal, or a plain `kill`. Emitted on: any thread

    def __init__(self, window: MainWindow, link: EngineLink) -> None:
        super().__init__(window)
        self._window = window
        self._link = link
        self.dialog: SavingDialog | None = None
        self._is_discarded = False
        self._was_interrupted = False
        window.close_wanted.connect(self._close_wanted)
        link.save_ended.connect(self._save_ended)
        self.interrupted.connect(self._interrupted, Qt.ConnectionType.QueuedConnection)

    def end_session(self, manager: QSessionManager) -> None:
        """Ask the system to delay the end of the session while a file is being saved."""
        if self._link.files_being_saved and manager.allowsInteraction():
            manager.cancel()
            self._window.close()

    def _close_wanted(self, event: QCloseEvent) -> None:
        if self._link.files_being_saved and not self._is_discarded:
            event.ignore()
            self._ask()

    def _ask(self) -> SavingDialog:
        if self.dialog is None:
            self.dialog = SavingDialog(self._link.files_being_saved, self._window)
            self.dialog.discarded.connect(self._discard)
            self.dialog.finished.connect(self._forget_dialog)
            self.dialog.open()
        return self.dialog

    def _forget_dialog(self) -> None:
        self.dialog = None
        self._was_interrupted = False

    def _save_ended(self, is_saved: bool) -> None:
        if self.dialog is None:
            return
        names = self._link.files_being_saved
        if not is_saved:
            self.dialog.reject()
        elif names:
            self.dialog.show_files(names)
        else:
            self.dialog.accept()
            self._window.close()

    def _discard(self) -> None:
        self._is_discarded = True
        if self.dialog is not None:
            self.dialog.accept()
        self._window.close()

    def _interrupted(self) -> None:
        names = self._link.files_being_saved
        if not names or self._was_interrupted:
            self._discard()
            return
        self._was_interrupted = True
        log(f"Saving {', '.join(names)}: the window closes when that is done. Ctrl+C again discards it.")
        self._ask().wait()

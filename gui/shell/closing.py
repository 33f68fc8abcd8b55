"""Closing the window: at once, or after the files that are being saved."""

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QCloseEvent, QSessionManager

from engine.files.standard_streams import tell
from gui.engine_link.engine_link import EngineLink
from gui.shell.main_window import MainWindow
from gui.shell.saving_dialog import SavingDialog


class Closing(QObject):
    """Asks before a file that is being saved would be lost, and closes by itself when it is written.

    A save that fails meanwhile keeps the window open: its error is shown there.

    Signals
    -------
    interrupted()
        Ctrl+C in the terminal, or a plain `kill`. Emitted on: any thread.
    """

    interrupted = Signal()

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
        """Answer the system, which is about to end every program: it waits while a file is being saved."""
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
        tell(f"Saving {', '.join(names)}: the window closes when that is done. Ctrl+C again discards it.")
        self._ask().wait()

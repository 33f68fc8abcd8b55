"""Closing the window: at once, or after the files that are being saved."""

from collections.abc import Sequence

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QCloseEvent, QSessionManager
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QProgressBar, QWidget

from engine.files.standard_streams import log
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.shell.main_window import MainWindow
from gui.shell.recovery import Recovery
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


class UnsavedDialog(QDialog):
    """Asks what becomes of work that no session has; Esc and Cancel keep the window open."""

    saving_wanted = Signal()
    discarded = Signal()

    def __init__(self, what: str, is_running: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Close Haloscope")
        self.setFixedWidth(WIDTH)
        self.question = QLabel(f"Save {what} as a session?" if what else "Stop the run that is under way?")
        self.question.setFont(scaled_font(1.0, bold=True))
        self.question.setWordWrap(True)
        lost = "Without a session this is lost when the window closes." if what else ""
        stops = "The run that is under way stops." if is_running and what else ""
        meaning = QLabel(" ".join(filter(None, (lost, stops))) or "Its finished results are lost.")
        meaning.setWordWrap(True)
        buttons, role = QDialogButtonBox(), QDialogButtonBox.ButtonRole
        if what:
            save = buttons.addButton("&Save session…", role.AcceptRole)
            save.setToolTip("Choose a file, save picture path, steps and results, and close.")
            save.setDefault(True)
            save.clicked.connect(self.saving_wanted)
        discard = buttons.addButton("&Discard", role.DestructiveRole)
        discard.setToolTip("Close now, without it.")
        # Enter never discards, whatever has the focus.
        discard.setAutoDefault(False)
        discard.clicked.connect(self.discarded)
        cancel = buttons.addButton("Cancel", role.RejectRole)
        cancel.setToolTip("Keep the window open. (Esc)")
        cancel.clicked.connect(self.reject)
        margins = (2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
        said = column(self.question, meaning)
        self.setLayout(column(said, buttons, spacing=2 * GRID, margins=margins))


class Closing(QObject):
    """Asks before closing would lose work, or a file that is being saved.

    These are two questions, and an answer to one is none to the other. It closes by itself when the file is
    written. If the save fails, the window stays open and shows the error. Where there is no `recovery`,
    nothing is asked of work; where the window ends without an answer, work is left for the next start.
    """

    interrupted = Signal()  # Ctrl+C in the terminal, or a plain `kill`. Emitted on: any thread

    def __init__(
        self, window: MainWindow, link: EngineLink, state: EngineState, recovery: Recovery | None = None
    ) -> None:
        super().__init__(window)
        self._window = window
        self._link = link
        self._state = state
        self._recovery = recovery
        self.question: UnsavedDialog | None = None
        self.dialog: SavingDialog | None = None
        # Files that are not waited for, and what of the work is not asked about again (None: all is asked).
        self._answered: tuple[Sequence[str], str | None] = ((), None)
        self._is_kept = False
        self._was_interrupted = False
        window.close_wanted.connect(self._close_wanted)
        window.closing.connect(self._end_recovery)
        link.save_ended.connect(self._save_ended)
        self.interrupted.connect(self._interrupted, Qt.ConnectionType.QueuedConnection)

    def end_session(self, manager: QSessionManager) -> None:
        """Keep work for the next start; ask the system to wait while a file is being saved."""
        self._is_kept = True
        if self._recovery is not None:
            # Now: the screen may go before the window is closed.
            self._take_what_is_typed()
            self._recovery.keep_now()
        if self._link.files_being_saved and manager.allowsInteraction():
            manager.cancel()
            self._window.close()

    def close(self, files: Sequence[str] = (), work: str | None = None) -> None:
        """Close the window; ask about files but these, and about work unless this is what was answered.

        An answer holds for this time alone: a window that stays open asks anew.
        """
        self._answered = files, work
        self._window.close()
        self._answered = (), None

    def _take_what_is_typed(self) -> None:
        # It is work too: a field takes it when it loses the focus.
        if (field := self._window.focusWidget()) is not None:
            field.clearFocus()

    def _close_wanted(self, event: QCloseEvent) -> None:
        self._take_what_is_typed()
        files, answered = self._answered
        if any(name not in files for name in self._link.files_being_saved):
            event.ignore()
            self._ask()
        elif self._recovery is not None and not self._is_kept:
            work = self._window.unsaved
            if (work and work != answered) or (self._state.running and answered is None):
                event.ignore()
                self._ask_to_save(work, files)

    def _ask_to_save(self, work: str, files: Sequence[str]) -> None:
        if self.question is None:
            self.question = question = UnsavedDialog(work, self._state.running, self._window)
            question.finished.connect(self._forget_question)
            question.discarded.connect(lambda: self._discard_work(files))
            question.saving_wanted.connect(lambda: self._save(files))
            question.open()

    def _forget_question(self) -> None:
        self.question = None

    def _discard_work(self, files: Sequence[str]) -> None:
        self._end_dialogs()
        # With results that came while it was asked.
        self.close(files, self._window.unsaved)

    def _save(self, files: Sequence[str]) -> None:
        self._end_dialogs()
        # Of a run it was asked as well; what was edited since is a new question.
        self._window.first_page.save_work(lambda: self.close(files, ""))

    def _end_recovery(self) -> None:
        if self._recovery is not None:
            (self._recovery.flush if self._is_kept else self._recovery.forget)()

    def _ask(self) -> SavingDialog:
        if self.dialog is None:
            self.dialog = SavingDialog(self._link.files_being_saved, self._window)
            self.dialog.discarded.connect(self._discard_files)
            self.dialog.finished.connect(self._forget_dialog)
            self.dialog.rejected.connect(self._stay)
            self.dialog.open()
        return self.dialog

    def _forget_dialog(self) -> None:
        self.dialog = None

    def _stay(self) -> None:
        self._was_interrupted = self._is_kept = False

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

    def _discard_files(self) -> None:
        self._end_dialogs()
        self.close(self._link.files_being_saved)

    def _end_dialogs(self) -> None:
        for dialog in (self.dialog, self.question):
            if dialog is not None:
                dialog.accept()

    def _interrupted(self) -> None:
        self._is_kept = True
        names = self._link.files_being_saved
        if not names or self._was_interrupted:
            self._discard_files()
            return
        self._was_interrupted = True
        log(f"Saving {', '.join(names)}: the window closes when that is done. Ctrl+C again discards it.")
        self._ask().wait()

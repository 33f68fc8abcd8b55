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
_SAVE = "&Save session…", "Choose a file, save picture path, steps and results, and close."


class ClosingDialog(QDialog):
    """Asks before the window closes; Esc and Cancel keep it open, and Enter never discards."""

    wanted = Signal()  # the person chose the first button
    discarded = Signal()  # the window is to close at once

    def __init__(
        self,
        what: str,
        meaning: str,
        first: tuple[str, str],
        tips: tuple[str, str],
        parent: QWidget | None,
        *,
        is_busy: bool = False,
    ) -> None:
        """`first` is that button and its tip, if there is one; `tips` are those of Discard and Cancel."""
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle("Close Haloscope")
        self.setFixedWidth(WIDTH)
        self.what, self.meaning = QLabel(what, wordWrap=True), QLabel(meaning, wordWrap=True)
        self.what.setTextFormat(Qt.TextFormat.PlainText)
        self.what.setFont(scaled_font(1.0, bold=True))
        # Encoders do not say how far they are.
        bar = QProgressBar(textVisible=False, maximum=0)
        bar.setFixedHeight(GRID)
        bar.setAccessibleName("Saving is in progress")
        bar.setVisible(is_busy)
        buttons, role = QDialogButtonBox(), QDialogButtonBox.ButtonRole
        self.first, discard, self.cancel = (
            buttons.addButton(text, of)
            for text, of in (
                (first[0], role.AcceptRole), ("&Discard", role.DestructiveRole), ("Cancel", role.RejectRole)
            )
        )  # fmt: skip
        for button, tip in zip((self.first, discard, self.cancel), (first[1], *tips), strict=True):
            button.setToolTip(tip)
        self.first.setVisible(bool(first[0]))
        self.first.setDefault(bool(first[0]))
        self.first.clicked.connect(self.wanted)
        discard.setAutoDefault(False)
        discard.clicked.connect(self.discarded)
        self.cancel.clicked.connect(self.reject)
        margins = (2 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
        said = column(self.what, bar, self.meaning)
        self.setLayout(column(said, buttons, spacing=2 * GRID, margins=margins))

    def wait(self) -> None:
        """Show that the window will close by itself."""
        self.cancel.setDefault(True)
        self.cancel.setFocus()
        self.first.setEnabled(False)
        self.meaning.setText("Haloscope closes as soon as it is written.")


def _files_words(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"Saving {names[0]}{more}…"


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
        self.question: ClosingDialog | None = None
        self.dialog: ClosingDialog | None = None
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
            lost = "Without a session this is lost when the window closes." if work else ""
            stops = "The run that is under way stops." if self._state.running and work else ""
            self.question = question = ClosingDialog(
                f"Save {work} as a session?" if work else "Stop the run that is under way?",
                " ".join(filter(None, (lost, stops))) or "Its finished results are lost.",
                _SAVE if work else ("", ""),
                ("Close now, without it.", "Keep the window open. (Esc)"),
                self._window,
            )
            question.finished.connect(self._forget_question)
            question.discarded.connect(lambda: self._discard_work(files))
            question.wanted.connect(lambda: self._save(files))
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

    def _ask(self) -> ClosingDialog:
        if self.dialog is None:
            self.dialog = dialog = ClosingDialog(
                _files_words(self._link.files_being_saved),
                "Wait until it is written, or discard it and close now.",
                ("&Wait", "Close by itself as soon as it is written."),
                (
                    "Close now, without it. A file that it was to replace stays as it is.",
                    "Keep the window open. Saving continues. (Esc)",
                ),
                self._window,
                is_busy=True,
            )
            dialog.wanted.connect(dialog.wait)
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
            self.dialog.what.setText(_files_words(names))
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

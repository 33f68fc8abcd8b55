"""Closing the window: at once, or after the files that are being saved."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QCloseEvent, QSessionManager
from PySide6.QtWidgets import QMessageBox

from engine.files.standard_streams import log
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.page.messages import Message, Messages, Severity
from gui.shell.main_window import MainWindow
from gui.shell.recovery import Recovery

SOURCE = "closing"
_FIRST, _DISCARD = QMessageBox.ButtonRole.AcceptRole, QMessageBox.ButtonRole.DestructiveRole


class Choice(NamedTuple):
    """A button of a question, and what it does."""

    text: str
    tip: str
    role: QMessageBox.ButtonRole
    act: Callable[[], object]


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
        self,
        window: MainWindow,
        link: EngineLink,
        state: EngineState,
        messages: Messages,
        recovery: Recovery | None = None,
    ) -> None:
        super().__init__(window)
        self._window = window
        self._link = link
        self._state = state
        self._messages = messages
        self._recovery = recovery
        self.question: QMessageBox | None = None
        """What is asked just now; Esc and Cancel keep the window open, and Enter never discards."""
        # It closes when they are written: while that is asked, and where a person has said so.
        self._waits_for_files = False
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
            self._ask_about_files()
        elif self._recovery is not None and not self._is_kept:
            work = self._window.unsaved
            if (work and work != answered) or (self._state.running and answered is None):
                event.ignore()
                self._ask_to_save(work, files)

    def _ask_to_save(self, work: str, files: Sequence[str]) -> None:
        lost = "Without a session this is lost when the window closes." if work else ""
        stops = "The run that is under way stops." if self._state.running and work else ""
        # Of a run it was asked as well; what was edited since is a new question.
        save = Choice(
            "&Save session…", "Choose a file, save picture path, steps and results, and close.", _FIRST,
            lambda: self._window.first_page.save_work(lambda: self.close(files, "")),
        )  # fmt: skip
        # With results that came while it was asked.
        discard = Choice(
            "&Discard", "Close now, without it.", _DISCARD, lambda: self.close(files, self._window.unsaved)
        )
        self._ask(
            f"Save {work} as a session?" if work else "Stop the run that is under way?",
            " ".join(filter(None, (lost, stops))) or "Its finished results are lost.",
            *((save, discard) if work else (discard,)),
        )

    def _ask_about_files(self) -> None:
        stays = "Close now, without it. A file that it was to replace stays as it is."
        self._ask(
            _files_words(self._link.files_being_saved),
            "Wait until it is written, or discard it and close now.",
            Choice("&Wait", "Close by itself as soon as it is written.", _FIRST, self._wait),
            Choice("&Discard", stays, _DISCARD, self._discard_files),
        )
        self._waits_for_files = True

    def _ask(self, what: str, meaning: str, *choices: Choice) -> None:
        self._end_question()
        self._waits_for_files = False
        self.question = question = QMessageBox(self._window)
        question.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        question.setWindowTitle("Close Haloscope")
        question.setTextFormat(Qt.TextFormat.PlainText)
        question.setText(what)
        question.setInformativeText(meaning)
        stay = Choice("Cancel", "Keep the window open. (Esc)", QMessageBox.ButtonRole.RejectRole, self._stay)
        acts: dict[object, Callable[[], object]] = {}
        for choice in (*choices, stay):
            button = question.addButton(choice.text, choice.role)
            button.setToolTip(choice.tip)
            button.setAutoDefault(choice.role is not _DISCARD)
            acts[button] = choice.act
            if choice.role is not _DISCARD and question.defaultButton() is None:
                question.setDefaultButton(button)

        def answered() -> None:
            if self.question is question:
                self.question = None
                acts.get(question.clickedButton(), self._stay)()

        question.finished.connect(answered)
        question.open()

    def _end_question(self) -> None:
        if self.question is not None:
            ended, self.question = self.question, None
            ended.accept()

    def _wait(self) -> None:
        self._waits_for_files = True
        what, why = _files_words(self._link.files_being_saved), "Haloscope closes as soon as it is written."
        keep = Message(SOURCE, Severity.WARNING, what, why, action="Keep it open", act=self._stay)
        self._messages.everywhere.show(keep)

    def _stay(self) -> None:
        self._waits_for_files = self._was_interrupted = self._is_kept = False

    def _save_ended(self, is_saved: bool) -> None:
        if not self._waits_for_files:
            return
        names = self._link.files_being_saved
        if names and is_saved:
            if self.question is not None:
                self.question.setText(_files_words(names))
            return
        self._messages.clear(SOURCE)
        self._end_question()
        if is_saved:
            self._window.close()
        else:
            self._stay()

    def _discard_files(self) -> None:
        self._end_question()
        self.close(self._link.files_being_saved)

    def _end_recovery(self) -> None:
        if self._recovery is not None:
            (self._recovery.flush if self._is_kept else self._recovery.forget)()

    def _interrupted(self) -> None:
        self._is_kept = True
        names = self._link.files_being_saved
        if not names or self._was_interrupted:
            self._discard_files()
            return
        self._was_interrupted = True
        log(f"Saving {', '.join(names)}: the window closes when that is done. Ctrl+C again discards it.")
        self._end_question()
        self._wait()

"""Closing asks before work or a file is lost; work that outlives a crash is offered at the next start.

Each window keeps what is in no session in a file of its own, locked while it lives.
"""

import os
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from pathlib import Path

import platformdirs
from PySide6.QtCore import QLockFile, QObject, Qt, QTimer, Signal
from PySide6.QtGui import QCloseEvent, QSessionManager
from PySide6.QtWidgets import QMessageBox

from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from engine.files.standard_streams import log
from gui.engine_link.engine_link import EngineLink
from gui.engine_link.engine_state import EngineState
from gui.page.jobs import Background
from gui.page.messages import Messages, Severity, WindowMessage
from gui.shell.main_window import MainWindow

_RECOVERY = "recovery"
KEEP_AFTER_MS = 500
"""After an edit; so a crash costs the edits of these and of the write."""
_SUFFIX, _LOCK_SUFFIX = ".haloscope", ".lock"
MOST_FILES, OLDEST_S = 5, 30 * 24 * 3600.0
"""More work than this, and older, is not offered but removed."""


def default_folder() -> Path:
    """Return where work is kept on this system."""
    return Path(platformdirs.user_state_dir("haloscope", appauthor=False)) / "recovery"


class Recovery(QObject):
    """Keeps the work of one window, and offers that of windows that were not closed properly."""

    def __init__(self, window: MainWindow, messages: Messages, folder: Path) -> None:
        super().__init__()
        self._window, self._messages, self._folder = window, messages, folder
        self.path = folder / f"{os.getpid()}-{secrets.token_hex(4)}{_SUFFIX}"
        self._lock: QLockFile | None = None
        self._offered: tuple[Path, QLockFile] | None = None
        # The newest is written last.
        self._writer = Background(self)
        self._is_writing = self._has_failed = False
        self._last = b""
        self._timer = QTimer(self, singleShot=True, interval=KEEP_AFTER_MS)
        self._timer.timeout.connect(self._keep)
        window.edited.connect(self._follow)

    def look(self) -> None:
        """Offer what was left by the last window that was not closed properly, if there is one."""
        left = []
        with suppress(OSError):
            left = sorted(self._folder.glob(f"*{_SUFFIX}"), key=lambda path: -path.stat().st_mtime)
        for number, path in enumerate(left):
            lock = _lock_of(path)
            if not lock.tryLock(0):
                # Its window lives.
                continue
            if number >= MOST_FILES or time.time() - path.stat().st_mtime > OLDEST_S:
                _remove(path, lock)
            elif self._offered is None:
                self._offered = path, lock
            else:
                lock.unlock()
        if self._offered is not None:
            with suppress(OSError):
                when = time.strftime("%d %B, %H:%M", time.localtime(self._offered[0].stat().st_mtime))
                what, why = "Haloscope was not closed properly", f"the work of {when} was kept"
                shown = WindowMessage(
                    _RECOVERY, Severity.WARNING, what, why,
                    action="Restore", act=self.restore, other_action="Discard", other_act=self.discard,
                )  # fmt: skip
                self._messages.everywhere.show(shown)

    def keep_now(self) -> None:
        """Write what is not kept yet, at once."""
        if self._window.unsaved and self._is_locked():
            wait([self._write()])

    def end(self, *, is_kept: bool) -> None:
        """Leave the work for the next start, or remove it; work of others that was offered stays."""
        if is_kept:
            self.keep_now()
        self._timer.stop()
        self._writer.end()
        if is_kept:
            return
        if self._lock is not None:
            _remove(self.path, self._lock)
        if self._offered is not None:
            self._offered[1].unlock()

    def _follow(self) -> None:
        if not self._timer.isActive():
            self._timer.start()

    def _keep(self) -> None:
        if self._is_writing:
            self._timer.start()
        elif self._window.unsaved and self._is_locked():
            self._is_writing = True
            self._write()
        elif not self._window.unsaved:
            self._last = b""
            self.path.unlink(missing_ok=True)

    def _is_locked(self) -> bool:
        """Make the folder and lock the file, once; False where that is not possible."""
        if self._lock is None and not self._has_failed:
            with suppress(OSError):
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = _lock_of(self.path)
            if lock.tryLock(0):
                self._lock = lock
            else:
                self._note_written(EngineError("The file", f"no file can be made in {self._folder}"))
        return self._lock is not None

    def _write(self) -> Future[None]:
        work = self._window.first_page.work()

        def write() -> None:
            if (data := work()) != self._last:
                atomic_write(self.path, data, 0o600)
                self._last = data

        return self._writer.do(write, self._note_written, self._note_written)

    def _note_written(self, error: EngineError | None) -> None:
        was_shown, self._is_writing, self._has_failed = self._has_failed, False, error is not None
        if error is not None and not was_shown:
            what, remedy = "Your work is not kept against a crash", "Save the session (Ctrl+Shift+S)."
            self._messages.everywhere.warn(_RECOVERY, what, error.why, remedy)

    def restore(self) -> None:
        """Show the work that was offered; undo takes it back."""
        if self._offered is None:
            return
        offered, self._offered = self._offered, None

        def done() -> None:
            # It is this window's work now, kept before the other file goes.
            if self._is_locked():
                self._write().add_done_callback(lambda _written: _remove(*offered))

        def failed(error: EngineError) -> None:
            self._offered = offered
            self._messages.show_error(_RECOVERY, error)

        self._window.first_page.restore_work(offered[0], done, failed)

    def discard(self) -> None:
        """Remove the work that was offered, and offer the next."""
        if self._offered is not None:
            _remove(*self._offered)
            self._offered = None
            self.look()


def _lock_of(path: Path) -> QLockFile:
    lock = QLockFile(str(path.with_suffix(_LOCK_SUFFIX)))
    # However old, it holds as long as its process lives.
    lock.setStaleLockTime(0)
    return lock


def _remove(path: Path, lock: QLockFile) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)
    lock.unlock()


_CLOSING = "closing"
_FIRST, _DISCARD = QMessageBox.ButtonRole.AcceptRole, QMessageBox.ButtonRole.DestructiveRole


# A button of a question, its tooltip, its role and what it does.
_Choice = tuple[str, str, QMessageBox.ButtonRole, Callable[[], object]]


def _files_words(names: Sequence[str]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"Saving {names[0]}{more}…"


class Closing(QObject):
    """Asks before closing would lose work, or a file that is being saved.

    These are two questions, and an answer to one is none to the other. It closes by itself when the file is
    written. If the save fails, the window stays open and shows the error. Where there is no `recovery`,
    there is no question about work; where the window ends without an answer, work is left for the next start.
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
        self._window, self._link, self._state = window, link, state
        self._messages, self._recovery = messages, recovery
        self.question: QMessageBox | None = None
        """The open question; Esc and Cancel keep the window open, and Enter never discards."""
        # It closes when they are written: while the question is open, and where a person has chosen so.
        self._waits_for_files = False
        # Files that are not waited for, and what of the work has no second question (None: all has one).
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
        """Close, and ask about other files and other work than these, which were answered just now."""
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
        # With results that came while the question was open.
        tip = "Close now, without it."
        discard = "&Discard", tip, _DISCARD, lambda: self.close(files, self._window.unsaved)
        if not work:
            self._ask("Stop the run that is under way?", "Its finished results are lost.", discard)
            return
        saves = "Choose a file, save picture path, steps and results, and close."
        # The question was about a run as well; what was edited since is a new question.
        save = partial(self._window.first_page.save_work, lambda: self.close(files, ""))
        lost = "Without a session this is lost when the window closes."
        stops = " The run that is under way stops." if self._state.running else ""
        choices = ("&Save session…", saves, _FIRST, save), discard
        self._ask(f"Save {work} as a session?", f"{lost}{stops}", *choices)

    def _ask_about_files(self) -> None:
        stays = "Close now, without it. A file that it was to replace stays as it is."
        self._ask(
            _files_words(self._link.files_being_saved),
            "Wait until it is written, or discard it and close now.",
            ("&Wait", "Close by itself as soon as it is written.", _FIRST, self._wait),
            ("&Discard", stays, _DISCARD, self._discard_files),
        )
        self._waits_for_files = True

    def _ask(self, what: str, meaning: str, *choices: _Choice) -> None:
        self._end_question()
        self._waits_for_files = False
        self.question = question = QMessageBox(self._window)
        question.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        question.setWindowTitle("Close Haloscope")
        question.setTextFormat(Qt.TextFormat.PlainText)
        question.setText(what)
        question.setInformativeText(meaning)
        stay = "Cancel", "Keep the window open. (Esc)", QMessageBox.ButtonRole.RejectRole, self._stay
        acts: dict[object, Callable[[], object]] = {}
        for text, tip, role, act in (*choices, stay):
            button = question.addButton(text, role)
            button.setToolTip(tip)
            button.setAutoDefault(role is not _DISCARD)
            acts[button] = act
            if role is not _DISCARD and question.defaultButton() is None:
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
        keep = WindowMessage(_CLOSING, Severity.WARNING, what, why, action="Keep it open", act=self._stay)
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
        self._messages.clear(_CLOSING)
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
            self._recovery.end(is_kept=self._is_kept)

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

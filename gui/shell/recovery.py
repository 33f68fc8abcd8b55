"""Work that outlives a crash: kept in a file while it is in no session, and offered at the next start.

Each window has a file of its own, locked while it lives, so that none takes another's.
"""

import os
import secrets
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import platformdirs
from PySide6.QtCore import QLockFile, QObject, Qt, QTimer, Signal

from engine.errors import EngineError
from engine.files.atomic_write import atomic_write
from gui.page.messages import Message, Messages, Severity
from gui.shell.main_window import MainWindow

SOURCE = "recovery"
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

    _written = Signal(object)  # the EngineError of a write, or None. Emitted on: the thread that writes

    def __init__(self, window: MainWindow, messages: Messages, folder: Path) -> None:
        super().__init__()
        self._window, self._messages, self._folder = window, messages, folder
        self.path = folder / f"{os.getpid()}-{secrets.token_hex(4)}{_SUFFIX}"
        self._lock: QLockFile | None = None
        self._offered: tuple[Path, QLockFile] | None = None
        # One thread, so that the newest is written last.
        self._writer = ThreadPoolExecutor(1, "recovery")
        self._is_writing = self._has_failed = False
        self._last = b""
        self._timer = QTimer(self, singleShot=True, interval=KEEP_AFTER_MS)
        self._timer.timeout.connect(self._keep)
        self._written.connect(self._note_written, Qt.ConnectionType.QueuedConnection)
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
            self._offer(self._offered[0])

    def flush(self) -> None:
        """Write what is not kept yet, and leave all of it for the next start."""
        self.keep_now()
        self._timer.stop()
        self._writer.shutdown()

    def keep_now(self) -> None:
        """Write what is not kept yet, at once."""
        if self._window.unsaved and self._is_locked():
            self._writer.submit(self._write, self._window.first_page.work()).result()

    def forget(self) -> None:
        """Remove what is kept: it is saved, or nobody wants it. Work of others that was offered stays."""
        self._timer.stop()
        self._writer.shutdown()
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
            self._writer.submit(self._write, self._window.first_page.work())
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

    def _write(self, work: Callable[[], bytes]) -> None:
        """Write work; runs on the thread of the writer."""
        try:
            data = work()
            if data != self._last:
                atomic_write(self.path, data, 0o600)
                self._last = data
        except EngineError as error:
            self._written.emit(error)
        else:
            self._written.emit(None)

    def _note_written(self, error: EngineError | None) -> None:
        self._is_writing = False
        if error is None:
            self._has_failed = False
        elif not self._has_failed:
            self._has_failed = True
            what, remedy = "Your work is not kept against a crash", "Save the session (Ctrl+Shift+S)."
            message = Message(SOURCE, Severity.WARNING, what, error.why, remedy)
            self._messages.everywhere.show(message)

    def _offer(self, path: Path) -> None:
        with suppress(OSError):
            when = time.strftime("%d %B, %H:%M", time.localtime(path.stat().st_mtime))
            what, why = "Haloscope was not closed properly", f"the work of {when} was kept"
            shown = Message(
                SOURCE, Severity.WARNING, what, why,
                action="Restore", act=self.restore, other_action="Discard", other_act=self.discard,
            )  # fmt: skip
            self._messages.everywhere.show(shown)

    def restore(self) -> None:
        """Show the work that was offered; undo takes it back."""
        if self._offered is None:
            return
        offered, self._offered = self._offered, None

        def done() -> None:
            # It is this window's work now, kept before the other file goes.
            if self._is_locked():
                self._writer.submit(self._write, self._window.first_page.work())
                self._writer.submit(_remove, *offered)

        def failed(error: EngineError) -> None:
            self._offered = offered
            self._messages.show_error(SOURCE, error)

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

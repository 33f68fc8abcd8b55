"""One host process and the pipe to it.

The process is a plain `python -m engine.host` and not one of `multiprocessing`, which would run the caller's
main script a second time and so demand a `__main__` guard of it. One thread reads: the pipe closes with the
process, and everything that it sent before comes first, so its end is known in well under half a second. A
second thread writes, so that no sender ever waits for a host that does not read.
"""

import logging
import multiprocessing
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path

from engine.host.request import HostOptions, Serve
from engine.process import with_blas_threads

# In place of what a process does by itself: for those who look at its faults.
serve: Serve | None = None
# A process that has closed its pipe ends soon; after this it is killed.
LEAVING_S = 5.0

_log = logging.getLogger(__name__)


class HostLink:
    """Starts a host, sends to it, and passes on its messages, on a thread of its own.

    `on_message` is called with the link and each message; `on_end`, with the link and a reason, exactly once,
    when the process has ended or could not be started, after every message that it had sent.
    `next_deadline` returns, before each wait, the seconds until the host is given up. `serving` is what the
    process does in place of computing: it stands for one on another machine.
    """

    def __init__(
        self,
        options: HostOptions,
        on_message: Callable[["HostLink", object], None],
        on_end: Callable[["HostLink", str], None],
        next_deadline: Callable[[], float | None] = lambda: None,
        serving: Serve | None = None,
    ) -> None:
        self.options = options
        self._serving = serving or serve
        self._on_message = on_message
        self._on_end = on_end
        self._next_deadline = next_deadline
        self._process: subprocess.Popen[bytes] | None = None
        self._outbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._wake, self._wake_sender = multiprocessing.Pipe(duplex=False)
        self._lock = threading.Lock()
        self._end_reason = ""
        self.is_given_up = False  # it was killed because its deadline had passed
        self._thread = threading.Thread(target=self._run, name="engine-link", daemon=True)

    def start(self) -> None:
        """Start the process in the background and return at once."""
        self._thread.start()

    @property
    def pid(self) -> int | None:
        """Process id of the host, once it has been started."""
        return self._process.pid if self._process else None

    def send(self, message: object) -> None:
        """Send as soon as the process reads; the end of a host is reported by `on_end`."""
        self._outbox.put(message)

    def look_again(self) -> None:
        """Read the deadline again."""
        with self._lock, suppress(OSError):  # the pipe is closed once the process has ended
            self._wake_sender.send(None)

    def kill(self, reason: str) -> None:
        """End the process at once; `on_end` reports the reason given."""
        with self._lock:
            self._end_reason = self._end_reason or reason
            if self._process is not None:
                self._process.kill()  # nothing where it has ended

    def note_end(self, reason: str) -> None:
        """Remember why the process is about to end itself."""
        with self._lock:
            self._end_reason = reason

    def join(self, timeout_s: float | None) -> bool:
        """Wait for the end of process and thread, None: without a limit; return whether both have ended."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        reason = ""
        try:
            _spare_children_terminal()
            reason = self._live()
        except Exception as error:  # noqa: BLE001 - the thread's boundary: pending requests get the reason
            _log.exception("The link to the engine's process failed")
            reason = f"its connection failed ({type(error).__name__}: {' '.join(str(error).split())[:300]})"
        try:
            self._on_end(self, self._end_reason or reason)
        finally:
            with self._lock:
                self._wake.close()
                self._wake_sender.close()

    def _live(self) -> str:
        """Start the process, serve it until it has ended, and return how it ended."""
        ours, theirs = multiprocessing.Pipe(duplex=True)
        with ours:
            with theirs:
                process = _started(theirs)
            with self._lock:
                self._process = process
                if self._end_reason:
                    process.kill()
            writer = threading.Thread(target=self._write, args=(ours,), name="engine-writer", daemon=True)
            writer.start()
            try:
                self._listen(ours)
                with suppress(subprocess.TimeoutExpired):
                    process.wait(LEAVING_S)
            finally:
                process.kill()
                process.wait()
                self._outbox.put(None)
                writer.join()
        return _ended_how(process.returncode)

    def _write(self, connection: Connection) -> None:
        message: object = (self._serving, self.options)
        while message is not None:
            try:
                connection.send(message)
            except OSError:
                return
            except Exception as error:  # noqa: BLE001 - the thread's boundary: the message cannot be pickled
                _log.exception("A message to the engine's process could not be sent")
                self.kill(f"a request could not be sent to it ({type(error).__name__})")
                return
            message = self._outbox.get()

    def _listen(self, connection: Connection) -> None:
        while True:
            # A process that hangs in the driver can outlive its kill: its end is awaited without a deadline.
            deadline = None if self.is_given_up else self._next_deadline()
            ready = wait([connection, self._wake], deadline)
            if self._wake in ready:
                self._wake.recv()
            if connection in ready:
                try:
                    message = connection.recv()
                except (EOFError, ConnectionError, OSError):
                    return
                self._on_message(self, message)
            elif not ready:
                self.is_given_up = True
                self.kill(
                    "it did not answer for more than ten times the time that the work was expected to take"
                )


def _started(theirs: Connection) -> subprocess.Popen[bytes]:
    """Start a host's process that has the other end of a pipe."""
    pipe = theirs.fileno()
    # All that the caller can import, in the same order; -P leaves out the current folder.
    root, places = str(Path(__file__).resolve().parents[2]), list(filter(None, sys.path))
    if root not in places:
        places.insert(0, root)
    environment = with_blas_threads(os.environ) | {"PYTHONPATH": os.pathsep.join(places)}
    command = [sys.executable, "-P", "-m", "engine.host", str(pipe)]
    if sys.platform == "win32":
        os.set_handle_inheritable(pipe, True)
        startup = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [pipe]})
        return subprocess.Popen(
            [*command, "0"], stdin=subprocess.DEVNULL, env=environment, startupinfo=startup
        )
    tracker = resource_tracker.getfd()
    assert tracker is not None
    return subprocess.Popen(
        [*command, str(tracker)], stdin=subprocess.DEVNULL, env=environment, pass_fds=(pipe, tracker)
    )


def _spare_children_terminal() -> None:
    """Block SIGINT and SIGHUP in this thread and the processes that it starts.

    Both reach the whole group of a terminal, and a child that is still importing would print its traceback.
    """
    if hasattr(signal, "pthread_sigmask"):
        # Were it started later, it would unblock SIGINT here.
        resource_tracker.ensure_running()
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})


def _ended_how(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"it ended with exit code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    if name == "SIGKILL":
        return "it was killed (SIGKILL), by a user or by the system because memory ran out"
    return f"it crashed ({name})"

"""One host process, the pipe to it, and the records of its requests, and of faults.

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
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from pathlib import Path

from engine.errors import EngineError, HostLost, HostLostTwice
from engine.host.request import HostOptions, QueuePolicy, Ready, Request, Serve, Superseded, ToHost
from engine.process import with_blas_threads
from engine.results.problem import Progress

# In place of what a process does by itself: for those who look at its faults.
serve: Serve | None = None
LEAVING_S = 5.0  # a process that has closed its pipe ends soon; after this it is killed

_log = logging.getLogger(__name__)

SHORTEST_DEADLINE_S = 20.0  # a host that had 1/8 of a core took 6 s to import what its first request needs
DEADLINE_FACTOR = 10.0
BESIDE_DEADLINE_S = 30.0  # what comes beside a run reports no steps; a file of another machine may be slow
# A first start compiles Python's own files and looks for a GPU; up to 15 s on two busy cores.
START_DEADLINE_S = 60.0

ProgressCallback = Callable[[Progress], None]


@dataclass(eq=False)
class Pending:
    """A request that the client has not answered yet."""

    id: int
    request: Request
    future: Future[object]
    on_progress: ProgressCallback | None
    host: "Host | None" = None  # that has it; None while it waits here
    begun: bool = False  # that host has reported that it works on it
    cancelled: bool = False
    answered: bool = False
    sent_again: int = 0  # hosts that were up and ended while they had it

    @property
    def is_preview(self) -> bool:
        """Whether only the newest of its kind counts."""
        return self.request.queue is QueuePolicy.NEWEST


class Host:
    """Starts a process, sends to it, passes on its messages, on a thread of its own, and has its requests.

    `on_message` is called with the host and each message; `on_end`, with the host and a reason, exactly once,
    when the process has ended or could not be started, after every message that it had sent. `remote` is what
    the process does in place of computing: it stands for one on another machine.

    What is about requests is called on any thread, under the client's lock.
    """

    def __init__(
        self,
        options: HostOptions,
        on_message: Callable[["Host", object], None],
        on_end: Callable[["Host", str], None],
        remote: Serve | None = None,
    ) -> None:
        self.options = options
        self.is_remote = remote is not None
        self.ready: Ready | None = None  # what it reported when it was up
        self.requests: dict[int, Pending] = {}  # sent to it and not answered
        self.waiting_preview: Pending | None = None  # the newest one, while another is sent
        self.deadline: float | None = None  # for its next report, while it has something to do
        self.end_wanted = False  # it is being ended on purpose: not a fault of the device
        self.start_again = False  # the person has asked for a successor
        self.is_given_up = False  # it was killed because its deadline had passed
        self.lost: EngineError | None = None  # what it reported of the line before it ended
        self._serving = remote or serve
        self._on_message, self._on_end = on_message, on_end
        self._process: subprocess.Popen[bytes] | None = None
        self._outbox: queue.SimpleQueue[object] = queue.SimpleQueue()
        self._wake, self._wake_sender = multiprocessing.Pipe(duplex=False)
        self._lock = threading.Lock()
        self._end_reason = ""
        self._thread = threading.Thread(target=self._run, name="engine-link", daemon=True)
        self._allow(START_DEADLINE_S)

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

    def kill(self, reason: str) -> None:
        """End the process at once; `on_end` reports this reason."""
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
            if hasattr(signal, "pthread_sigmask"):
                # Both reach the whole group of a terminal, and a child that is still importing would print
                # its traceback. Were the tracker started later, it would unblock SIGINT here.
                resource_tracker.ensure_running()
                signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGHUP})
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
            deadline = None if self.is_given_up else self.deadline
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = wait([connection, self._wake], left)
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
                why = "it did not answer for more than ten times the time that the work was expected to take"
                self.kill(why)

    # Its requests.

    def add(self, pending: Pending) -> Pending | None:
        """Send a request; a preview waits while another is sent. Return the waiting one that it replaces."""
        pending.begun = False
        before = next((sent for sent in self.requests.values() if sent.is_preview), None)
        if pending.is_preview and before is not None:
            pending.host = None
            if self.is_remote:
                self.send(Superseded(before.id))
            replaced, self.waiting_preview = self.waiting_preview, pending
            return replaced
        is_first = not self.requests
        pending.host = self
        self.requests[pending.id] = pending
        if self.ready is not None and (is_first or pending.request.queue is QueuePolicy.BESIDE):
            left = 0.0 if is_first or self.deadline is None else self.deadline - time.monotonic()
            self._allow(max(SHORTEST_DEADLINE_S, left))
            with self._lock, suppress(OSError):  # the pipe is closed once the process has ended
                self._wake_sender.send(None)
        self.send(ToHost(pending.id, pending.request))
        return None

    def take(self, request_id: int) -> None:
        """Remove a request that is answered; send the preview that waited for it."""
        if (pending := self.requests.pop(request_id, None)) is None:
            return
        if not self.requests:
            self.deadline = None
        elif pending.begun:
            self._allow(SHORTEST_DEADLINE_S)
        if pending.is_preview and self.waiting_preview is not None:
            waiting, self.waiting_preview = self.waiting_preview, None
            self.add(waiting)

    def note_ready(self, ready: Ready) -> None:
        """Note that it is up."""
        self.ready, self.deadline = ready, None
        if self.requests:
            self._allow(SHORTEST_DEADLINE_S)

    def note_progress(self, request_id: int, progress: Progress) -> Pending | None:
        """Note that it works on a request, and return that."""
        pending = self.requests.get(request_id)
        if pending is not None:
            pending.begun = True
            self._allow(max(SHORTEST_DEADLINE_S, DEADLINE_FACTOR * progress.expected_s))
        return pending

    def _allow(self, seconds: float) -> None:
        if any(pending.request.queue is QueuePolicy.BESIDE for pending in self.requests.values()):
            seconds = max(seconds, BESIDE_DEADLINE_S)
        self.deadline = time.monotonic() + seconds


def _started(theirs: Connection) -> subprocess.Popen[bytes]:
    pipe = theirs.fileno()
    # All that the caller can import, in the same order; -P leaves out the current folder.
    root, places = str(Path(__file__).resolve().parents[2]), list(filter(None, sys.path))
    if root not in places:
        places.insert(0, root)
    environment = with_blas_threads(os.environ) | {"PYTHONPATH": os.pathsep.join(places)}
    command, nothing = [sys.executable, "-P", "-m", "engine.host", str(pipe)], subprocess.DEVNULL
    if sys.platform == "win32":
        os.set_handle_inheritable(pipe, True)
        startup = subprocess.STARTUPINFO(lpAttributeList={"handle_list": [pipe]})
        return subprocess.Popen([*command, "0"], stdin=nothing, env=environment, startupinfo=startup)
    tracker = resource_tracker.getfd()
    assert tracker is not None
    command.append(str(tracker))
    return subprocess.Popen(command, stdin=nothing, env=environment, pass_fds=(pipe, tracker))


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


FAULTS_ALLOWED = 3
FAULT_WINDOW_S = 600.0
# Hosts in a row that may end before they are up; after that only a request starts one.
FAILED_STARTS_ALLOWED = 3


class Faults:
    """The client's count of faults, under its lock; three in ten minutes end `use_cuda`, with a GPU."""

    def __init__(self) -> None:
        self.use_cuda = True
        # The GPU may end a host before it is up: until a host has reported, assume that there is one.
        self._has_gpu = True
        self._times: deque[float] = deque()
        self.failed_starts = 0  # in a row
        self._lost_twice: dict[tuple[type, ...], tuple[Request, HostLostTwice]] = {}

    def note_ready(self, ready: Ready, *, used_cuda: bool) -> None:
        """Note that a host is up, and whether it found a GPU that it can use, where it looked for one."""
        self.failed_starts = 0
        if used_cuda:
            self._has_gpu = any(device.is_usable_gpu for device in ready.devices)

    def note_end(self, was_up: bool) -> None:
        """Note that a host ended unexpectedly."""
        self.failed_starts += not was_up
        now = time.monotonic()
        self._times.append(now)
        while self._times and now - self._times[0] > FAULT_WINDOW_S:
            self._times.popleft()
        if self.use_cuda and self._has_gpu and len(self._times) >= FAULTS_ALLOWED:
            self.use_cuda = False
            # A driver that ends starting processes is not used any more: the CPU gets its own attempts.
            self.failed_starts = 0

    def forget(self) -> None:
        """Allow CUDA again, as if nothing had happened."""
        self.use_cuda = True
        self._times.clear()
        self.failed_starts = 0
        self._lost_twice.clear()

    def note_lost_twice(self, request: Request, reason: str) -> HostLostTwice:
        """Note that two hosts ended with a request; return the error for it and for its repetitions."""
        error = HostLostTwice(
            "The engine's process ended twice in the same work",
            reason,
            "It is not tried again until you change the picture, the mask or a setting.",
        )
        self._lost_twice[request.kind] = request, error
        return error

    def why_not_tried(self, request: Request) -> HostLostTwice | None:
        """Return the error of a request that two hosts ended with, until another of its kind is sent."""
        last, error = self._lost_twice.get(request.kind, (None, None))
        if last != request:
            self._lost_twice.pop(request.kind, None)
            return None
        return error

    def lost_error(self, reason: str, has_successor: bool) -> HostLost:
        """Return the error of the requests of a host that ended."""
        remedy = "The next request starts a new one."
        if has_successor:
            remedy = "A new one is being started and your work is kept: run again."
        if not self.use_cuda:
            remedy += " After three faults in ten minutes only the CPU is used, until you try the GPU again."
        return HostLost("The engine's process ended", reason, remedy)

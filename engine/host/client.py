"""The engine's client: what the window talks to. No Qt and no Numba in here.

It has the shape of `concurrent.futures.Executor` (`submit`, `shutdown`), so that a cluster can stand in its place.
A host that ends is replaced at once; requests that were in its hands fail with `HostLost`, the waiting ones go to
its successor. Called on: any thread. Callbacks and futures' callbacks run on a thread of the client.
"""

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from engine.errors import Cancelled, EngineError, HostLost
from engine.host import shared
from engine.host.link import HostLink
from engine.host.options import HostOptions
from engine.host.protocol import (
    Cancel,
    Done,
    Failed,
    Lane,
    Preview,
    Progress,
    Ready,
    Release,
    Request,
    Run,
    Stop,
    ToHost,
    Working,
    blocks_of,
)

GRACE_S = 2.0
SHORTEST_DEADLINE_S = 5.0
DEADLINE_FACTOR = 10.0
FAULTS_ALLOWED = 3
FAULT_WINDOW_S = 600.0

ProgressCallback = Callable[[Progress], None]


@dataclass
class _Pending:
    """A request that the client has not answered yet."""

    id: int
    request: Request
    future: Future[Any]
    on_progress: ProgressCallback | None
    simulator: bool
    link: HostLink | None = None
    deadline: float | None = None


@dataclass
class _Lane:
    """The newest-wins lane of one host: at most one request sent, at most one waiting."""

    sent: _Pending | None = None
    waiting: _Pending | None = None


@dataclass
class _Host:
    """One kind of host: the real one or the simulator's."""

    link: HostLink
    ready: Ready | None = None
    newest: _Lane = field(default_factory=_Lane)


class EngineClient:
    """Sends requests to the engine's process and keeps one alive.

    Parameters
    ----------
    on_ready : callable of Ready, optional
        A host is up (the first one, or a successor).
    on_lost : callable of HostLost, optional
        A host has ended by itself; its successor is being started.
    """

    def __init__(
        self,
        *,
        on_ready: Callable[[Ready], None] | None = None,
        on_lost: Callable[[HostLost], None] | None = None,
    ) -> None:
        self._on_ready = on_ready or (lambda ready: None)
        self._on_lost = on_lost or (lambda lost: None)
        self._lock = threading.RLock()
        self._ids = itertools.count(1)
        self._pending: dict[int, _Pending] = {}
        self._hosts: dict[bool, _Host] = {}
        self._faults: deque[float] = deque()
        self._use_cuda = True
        self._closing = False
        self._unanswered_kills: set[int] = set()
        self._blocks: set[str] = set()

    @property
    def use_cuda(self) -> bool:
        """Whether CUDA is used; False after three faults in ten minutes, until `try_cuda_again`."""
        return self._use_cuda

    @property
    def host_pid(self) -> int | None:
        """Process id of the real host."""
        with self._lock:
            host = self._hosts.get(False)
        return host.link.pid if host else None

    def start(self) -> None:
        """Start the host in the background and return at once."""
        with self._lock:
            self._host(simulator=False)

    def submit(self, request: Request, on_progress: ProgressCallback | None = None) -> Future[Any]:
        """Ask for something.

        Parameters
        ----------
        request : Request
        on_progress : callable of Progress, optional

        Returns
        -------
        Future
            Its result is the reply that the request's docstring names; its exception an `EngineError`. A preview
            that a newer one replaced before it was begun is cancelled.
        """
        pending = _Pending(next(self._ids), request, Future(), on_progress, _wants_simulator(request))
        with self._lock:
            if self._closing:
                pending.future.set_exception(Cancelled("The engine", "it is being shut down"))
                return pending.future
            host = self._host(pending.simulator)
            if request.lane is Lane.NEWEST and host.newest.sent is not None:
                replaced, host.newest.waiting = host.newest.waiting, pending
                if replaced is not None:
                    replaced.future.cancel()
            else:
                self._send(host, pending)
        return pending.future

    def cancel(self, future: Future[Any]) -> None:
        """Stop a request: between two launches if the host can, else by replacing the host after a grace period."""
        with self._lock:
            pending = next((p for p in self._pending.values() if p.future is future), None)
            if pending is None:
                future.cancel()
                return
            assert pending.link is not None
            pending.link.send(Cancel(pending.id))
        timer = threading.Timer(GRACE_S, self._give_up_on, (pending,))
        timer.daemon = True
        timer.start()

    def release(self, *names: str) -> None:
        """Say that blocks of shared memory are needed no longer."""
        if not names:
            return
        with self._lock:
            self._blocks.difference_update(names)
            links = [host.link for host in self._hosts.values()]
        for link in links:
            link.send(Release(names))
        # The host that made a block may be gone; a name that is already removed costs nothing to remove again.
        shared.unlink(*names)

    def try_cuda_again(self) -> None:
        """Forget the faults and start a host that may use CUDA."""
        with self._lock:
            self._faults.clear()
            self._use_cuda = True
            host = self._hosts.get(False)
        if host is not None:
            host.link.kill("it is started again to use the GPU")

    def shutdown(self) -> None:
        """End every host and free all shared memory; requests that are not answered fail as cancelled."""
        with self._lock:
            self._closing = True
            hosts = list(self._hosts.values())
            for host in hosts:
                if host.newest.waiting is not None:
                    host.newest.waiting.future.cancel()
        for host in hosts:
            host.link.send(Stop())
        for host in hosts:
            if not host.link.join(1.0):
                host.link.kill("the program is closing")
                host.link.join(5.0)
        shared.unlink(*self._blocks)
        self._blocks.clear()

    def _host(self, simulator: bool) -> _Host:
        host = self._hosts.get(simulator)
        if host is None:
            options = HostOptions(simulator=simulator, use_cuda=self._use_cuda)
            link = HostLink(options, self._receive, self._ended, lambda: self._seconds_left(simulator))
            host = self._hosts[simulator] = _Host(link)
            link.start()
        return host

    def _send(self, host: _Host, pending: _Pending) -> None:
        pending.link = host.link
        self._pending[pending.id] = pending
        if pending.request.lane is Lane.NEWEST:
            host.newest.sent = pending
        host.link.send(ToHost(pending.id, pending.request))

    def _receive(self, link: HostLink, message: object) -> None:
        if isinstance(message, Ready):
            with self._lock:
                host = self._hosts.get(link.options.simulator)
                if host is not None and host.link is link:
                    host.ready = message
            if not link.options.simulator:
                self._on_ready(message)
        elif isinstance(message, Working):
            with self._lock:
                pending = self._pending.get(message.id)
                if pending is not None:
                    allowed = max(SHORTEST_DEADLINE_S, DEADLINE_FACTOR * message.progress.expected_s)
                    pending.deadline = time.monotonic() + allowed
            if pending is not None and pending.on_progress is not None:
                pending.on_progress(message.progress)
        elif isinstance(message, Done | Failed):
            pending = self._take(message.id)
            if pending is None:
                return
            if isinstance(message, Failed) and message.fatal:
                link.note_end(str(message.error))
            if isinstance(message, Done):
                with self._lock:
                    self._blocks.update(blocks_of(message.value))
                _answer(pending.future, message.value, None)
            else:
                _answer(pending.future, None, message.error)

    def _take(self, request_id: int) -> _Pending | None:
        """Remove a request from the books; send the preview that waited for it."""
        with self._lock:
            pending = self._pending.pop(request_id, None)
            if pending is None:
                return None
            host = self._hosts.get(pending.simulator)
            if host is not None and host.newest.sent is pending:
                host.newest.sent, waiting, host.newest.waiting = None, host.newest.waiting, None
                if waiting is not None and not self._closing:
                    self._send(host, waiting)
        return pending

    def _ended(self, link: HostLink, reason: str) -> None:
        simulator = link.options.simulator
        with self._lock:
            lost = [p for p in self._pending.values() if p.link is link]
            for pending in lost:
                del self._pending[pending.id]
            host = self._hosts.pop(simulator, None)
            waiting = host.newest.waiting if host else None
            wanted = bool(self._unanswered_kills & {p.id for p in lost})
            self._unanswered_kills -= {p.id for p in lost}
            if self._closing:
                error: EngineError = Cancelled("The request", "the program is closing")
            elif wanted:
                error = Cancelled("The run was stopped", reason)
            else:
                self._count_fault(simulator)
                error = self._lost_error(reason)
            if not self._closing:
                successor = self._host(simulator) if not simulator or waiting else None
                if successor is not None and waiting is not None:
                    self._send(successor, waiting)
        if isinstance(error, HostLost):
            self._on_lost(error)
        for pending in lost:
            _answer(pending.future, None, error)

    def _count_fault(self, simulator: bool) -> None:
        if simulator:
            return
        now = time.monotonic()
        self._faults.append(now)
        while self._faults and now - self._faults[0] > FAULT_WINDOW_S:
            self._faults.popleft()
        if len(self._faults) >= FAULTS_ALLOWED:
            self._use_cuda = False

    def _lost_error(self, reason: str) -> HostLost:
        remedy = "A new one is being started and your work is kept: run again."
        if not self._use_cuda:
            remedy += " After three faults in ten minutes only the CPU is used, until you try the GPU again."
        return HostLost("The engine's process ended", reason, remedy)

    def _give_up_on(self, pending: _Pending) -> None:
        with self._lock:
            if self._pending.get(pending.id) is not pending or pending.link is None:
                return
            self._unanswered_kills.add(pending.id)
        pending.link.kill(f"it could not stop within {GRACE_S:g} s and was replaced")

    def _seconds_left(self, simulator: bool) -> float | None:
        with self._lock:
            deadlines = [
                p.deadline
                for p in self._pending.values()
                if p.deadline is not None and p.simulator is simulator
            ]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None


def _answer(future: Future[Any], value: object, error: EngineError | None) -> None:
    if not future.set_running_or_notify_cancel():
        # Nobody will look at this result: its shared memory goes now.
        shared.unlink(*blocks_of(value))
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(value)


def _wants_simulator(request: Request) -> bool:
    return isinstance(request, Preview | Run) and request.job.device == "simulator"

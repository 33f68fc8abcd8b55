"""The engine's client: what the window talks to. No Qt and no Numba in here.

It has the shape of `concurrent.futures.Executor` (`submit`, `shutdown`), so that a cluster can stand in its place.
A host that ends is replaced at once; the request that it was at fails with `HostLost`, the waiting ones go to its
successor. Called on: any thread. Callbacks and futures' callbacks run on a thread of the client.
"""

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from engine.errors import Cancelled, EngineError, HostLost
from engine.host.books import Host, Pending, ProgressCallback
from engine.host.handed_blocks import HandedBlocks
from engine.host.link import HostLink
from engine.host.options import HostOptions
from engine.host.protocol import (
    Cancel,
    Done,
    Failed,
    Lane,
    Ready,
    Release,
    Request,
    Stop,
    ToHost,
    Working,
    blocks_of,
    wants_simulator,
)

GRACE_S = 2.0
SHORTEST_DEADLINE_S = 5.0
DEADLINE_FACTOR = 10.0
FAULTS_ALLOWED = 3
FAULT_WINDOW_S = 600.0
# A first start compiles Python's own files and looks for a GPU; 15 s were seen on two busy cores.
START_DEADLINE_S = 60.0
# Hosts in a row that may end before they are up; then the next request starts the next one, and nothing else does.
FAILED_STARTS_ALLOWED = 3


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
        self._pending: dict[int, Pending] = {}
        self._hosts: dict[bool, Host] = {}
        self._faults: deque[float] = deque()
        self._failed_starts = 0
        self._use_cuda = True
        self._closing = False
        self._blocks = HandedBlocks()

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
        pending = Pending(next(self._ids), request, Future(), on_progress, wants_simulator(request))
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
        """Stop a request: one that waits at once; else between two launches, or by replacing the host after a while.

        Its future fails with `Cancelled`, unless it is answered first.
        """
        with self._lock:
            pending = next((p for p in self._pending.values() if p.future is future), None)
            if pending is None:
                future.cancel()
                return
            pending.cancelled = True
            if pending.link is not None:
                pending.link.send(Cancel(pending.id))
        if not pending.begun:
            self._answer(pending, None, Cancelled("The request", "it was stopped before it was begun"))
            return
        timer = threading.Timer(GRACE_S, self._give_up_on, (pending,))
        timer.daemon = True
        timer.start()

    def release(self, *names: str) -> None:
        """Say that blocks of shared memory are needed no longer."""
        if not names:
            return
        with self._lock:
            links = [host.link for host in self._hosts.values()]
            self._blocks.give_back(names, links)
        for link in links:
            link.send(Release(names))

    def try_cuda_again(self) -> None:
        """Forget the faults and start a host that may use CUDA."""
        with self._lock:
            self._faults.clear()
            self._failed_starts = 0
            self._use_cuda = True
            host = self._hosts.get(False)
            if host is not None:
                host.end_wanted = True
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
        self._blocks.remove_all()

    def _host(self, simulator: bool) -> Host:
        host = self._hosts.get(simulator)
        if host is None:
            options = HostOptions(simulator=simulator, use_cuda=self._use_cuda)
            link = HostLink(options, self._receive, self._ended, lambda: self._seconds_left(simulator))
            host = self._hosts[simulator] = Host(link)
            host.deadline = time.monotonic() + START_DEADLINE_S
            link.start()
        return host

    def _send(self, host: Host, pending: Pending) -> None:
        if host.ready is not None and not self._in_hands_of(host):
            host.deadline = time.monotonic() + SHORTEST_DEADLINE_S
            host.link.look_again()
        pending.link = host.link
        self._pending[pending.id] = pending
        if pending.request.lane is Lane.NEWEST:
            host.newest.sent = pending
        host.link.send(ToHost(pending.id, pending.request))

    def _in_hands_of(self, host: Host) -> list[Pending]:
        return [p for p in self._pending.values() if p.link is host.link]

    def _receive(self, link: HostLink, message: object) -> None:
        if isinstance(message, Ready):
            self._note_ready(link, message)
        elif isinstance(message, Working):
            with self._lock:
                pending = self._pending.get(message.id)
                host = self._hosts.get(link.options.simulator)
                if pending is not None and host is not None:
                    pending.begun = True
                    allowed = max(SHORTEST_DEADLINE_S, DEADLINE_FACTOR * message.progress.expected_s)
                    host.deadline = time.monotonic() + allowed
            if pending is not None and pending.on_progress is not None:
                pending.on_progress(message.progress)
        elif isinstance(message, Done | Failed):
            if isinstance(message, Failed) and message.fatal:
                link.note_end(str(message.error))
            pending = self._take(message.id)
            if pending is None:
                return
            if isinstance(message, Done):
                self._blocks.hand_over(blocks_of(message.value), link)
                self._answer(pending, message.value, None)
            else:
                self._answer(pending, None, message.error)

    def _note_ready(self, link: HostLink, ready: Ready) -> None:
        with self._lock:
            host = self._hosts.get(link.options.simulator)
            if host is not None:
                host.ready = ready
                host.deadline = time.monotonic() + SHORTEST_DEADLINE_S if self._in_hands_of(host) else None
        if not link.options.simulator:
            self._failed_starts = 0
            self._on_ready(ready)

    def _take(self, request_id: int) -> Pending | None:
        """Remove a request from the books; send the preview that waited for it."""
        with self._lock:
            pending = self._pending.pop(request_id, None)
            if pending is None:
                return None
            host = self._hosts.get(pending.simulator)
            if host is not None:
                if not self._in_hands_of(host):
                    host.deadline = None
                elif pending.begun:
                    host.deadline = time.monotonic() + SHORTEST_DEADLINE_S
                if host.newest.sent is pending:
                    host.newest.sent, waiting, host.newest.waiting = None, host.newest.waiting, None
                    if waiting is not None and not self._closing:
                        self._send(host, waiting)
        return pending

    def _ended(self, link: HostLink, reason: str) -> None:
        simulator = link.options.simulator
        with self._lock:
            host = self._hosts.pop(simulator)
            self._blocks.maker_ended(link)
            left = self._in_hands_of(host)
            for pending in left:
                del self._pending[pending.id]
            if self._closing:
                error: EngineError = Cancelled("The request", "the program is closing")
            elif host.end_wanted:
                error = Cancelled("The run was stopped", reason)
            else:
                self._count_fault(simulator)
                self._failed_starts += host.ready is None
                error = self._lost_error(reason)
            again = [p for p in left if p.may_be_sent_again] if self._may_start_successor(host) else []
            if host.newest.waiting is not None:
                left.append(host.newest.waiting)
                again += [host.newest.waiting] if self._may_start_successor(host) else []
            if self._may_start_successor(host) and (again or not simulator):
                self._send_again(self._host(simulator), again)
        if isinstance(error, HostLost):
            self._on_lost(error)
        for pending in left:
            if pending not in again:
                self._answer(pending, None, error)

    def _may_start_successor(self, host: Host) -> bool:
        """Return whether a host that ended is to be replaced at once; one that never comes up is not, for ever."""
        return not self._closing and (host.ready is not None or self._failed_starts < FAILED_STARTS_ALLOWED)

    def _send_again(self, successor: Host, requests: list[Pending]) -> None:
        for pending in requests:
            pending.sent_again += pending.link is not None
            if pending.request.lane is Lane.NEWEST and successor.newest.sent is not None:
                pending.link, successor.newest.waiting = None, pending
            else:
                self._send(successor, pending)

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

    def _give_up_on(self, pending: Pending) -> None:
        with self._lock:
            host = self._hosts.get(pending.simulator)
            if self._pending.get(pending.id) is not pending or host is None:
                return
            host.end_wanted = True
        host.link.kill(f"it could not stop within {GRACE_S:g} s and was replaced")

    def _seconds_left(self, simulator: bool) -> float | None:
        with self._lock:
            host = self._hosts.get(simulator)
            deadline = host.deadline if host else None
        return None if deadline is None else max(0.0, deadline - time.monotonic())

    def _answer(self, pending: Pending, value: object, error: EngineError | None) -> None:
        with self._lock:
            if pending.answered:
                wanted = False
            else:
                pending.answered = True
                wanted = pending.future.set_running_or_notify_cancel()
        if not wanted:
            # Nobody will look at this result: its shared memory goes now.
            self.release(*blocks_of(value))
        elif error is not None:
            pending.future.set_exception(error)
        else:
            pending.future.set_result(value)

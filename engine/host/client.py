"""The engine's client: what the window talks to. No Qt and no Numba in here.

Its interface is four calls: `submit` gives a `concurrent.futures.Future`, `cancel` takes one, `release` gives shared
memory back, `shutdown` ends everything. A host that ends is replaced at once; the request that it was at fails with
`HostLost`, the waiting ones go to its successor. Called on: any thread. Callbacks and futures' callbacks run on a
thread of the client.
"""

import itertools
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from engine.errors import Cancelled, CodeNotKept, EngineError, HostLost
from engine.host.faults import Faults
from engine.host.link import HostLink
from engine.host.options import HostOptions
from engine.host.pending import Host, Pending, ProgressCallback
from engine.host.protocol import Cancel, Done, Failed, Noticed, Ready, Release, Stop, ToHost, Working
from engine.host.queue_policy import QueuePolicy
from engine.host.request import Request
from engine.host.segments import HandedSegments
from engine.host.shared_array import segments_of

GRACE_S = 2.0
STOP_S = 1.0
SHORTEST_DEADLINE_S = 5.0
DEADLINE_FACTOR = 10.0
# A first start compiles Python's own files and looks for a GPU; 15 s were seen on two busy cores.
START_DEADLINE_S = 60.0

_log = logging.getLogger(__name__)
_Told = TypeVar("_Told")


class EngineClient:
    """Sends requests to the engine's process and keeps one alive.

    Parameters
    ----------
    on_ready : callable of Ready, optional
        The real host is up (the first one, or a successor).
    on_lost : callable of HostLost, optional
        The real host has ended by itself; the remedy says whether a successor is being started. Of the simulator's
        host only its requests tell.
    on_notice : callable of CodeNotKept, optional
        The real host noticed something that the person should know.
    """

    def __init__(
        self,
        *,
        on_ready: Callable[[Ready], None] | None = None,
        on_lost: Callable[[HostLost], None] | None = None,
        on_notice: Callable[[CodeNotKept], None] | None = None,
    ) -> None:
        self._on_ready = on_ready or (lambda ready: None)
        self._on_lost = on_lost or (lambda lost: None)
        self._on_notice = on_notice or (lambda notice: None)
        self._lock = threading.RLock()
        self._ids = itertools.count(1)
        self._pending: dict[int, Pending] = {}
        self._hosts: dict[bool, Host] = {}
        self._faults = Faults()
        self._closing = False
        self._blocks = HandedSegments()

    @property
    def use_cuda(self) -> bool:
        """Whether CUDA is used; False after three faults in ten minutes, until `try_cuda_again`."""
        return self._faults.use_cuda

    @property
    def blocks(self) -> str:
        """How the names of all blocks of shared memory begin that its hosts make."""
        return self._blocks.prefix

    @property
    def host_pid(self) -> int | None:
        """Process id of the real host."""
        with self._lock:
            host = self._hosts.get(False)
        return host.link.pid if host else None

    def start(self) -> None:
        """Start the host in the background and return at once; not after `shutdown`."""
        with self._lock:
            if not self._closing:
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
        pending = Pending(next(self._ids), request, Future(), on_progress, request.wants_simulator)
        with self._lock:
            if self._closing:
                pending.future.set_exception(Cancelled("The engine", "it is being shut down"))
                return pending.future
            if why_not := self._faults.why_not_tried(request):
                pending.future.set_exception(why_not)
                return pending.future
            try:
                host = self._host(pending.simulator)
            except (OSError, RuntimeError) as error:  # no pipe, or no thread
                pending.future.set_exception(_cannot_start(error))
                return pending.future
            if request.queue is QueuePolicy.NEWEST and host.newest.sent is not None:
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
            handed = self._blocks.give_back(names, links)
        for link in links if handed else ():
            link.send(Release(handed))

    def try_cuda_again(self) -> None:
        """Forget the faults and start a host that may use CUDA."""
        with self._lock:
            if self._closing:
                return
            self._faults.forget()
            host = self._hosts.get(False)
            if host is None:
                self._host(simulator=False)
                return
            host.end_wanted = True
        host.link.kill("it is started again to use the GPU")

    def shutdown(self) -> None:
        """End every host and free all shared memory; requests that are not answered fail as cancelled.

        A file that is being written becomes whole first; one that is only prepared is given up.
        """
        with self._lock:
            self._closing = True
            hosts = list(self._hosts.values())
            for host in hosts:
                if host.newest.waiting is not None:
                    host.newest.waiting.future.cancel()
        for host in hosts:
            host.link.send(Stop())
        for host in hosts:
            # One that is not up yet has nothing in its hands.
            if host.link.join(STOP_S if host.ready else 0.0):
                continue
            if self._is_saving(host):
                # A kill would leave a part of the file. The host's deadline holds all the same.
                host.link.join(None)
            host.link.kill("the program is closing")
            host.link.join(5.0)
        self._blocks.remove_all()

    def _host(self, simulator: bool) -> Host:
        host = self._hosts.get(simulator)
        if host is None:
            options = HostOptions(simulator, self._faults.use_cuda, self._blocks.prefix_of_next_host())
            link = HostLink(options, self._receive, self._ended, lambda: self._seconds_left(simulator))
            host = Host(link, deadline=time.monotonic() + START_DEADLINE_S)
            link.start()
            # Now that it has been started: of one that was not, nobody would tell the end.
            self._hosts[simulator] = host
        return host

    def _send(self, host: Host, pending: Pending) -> None:
        if host.ready is not None and not self._in_hands_of(host):
            host.deadline = time.monotonic() + SHORTEST_DEADLINE_S
            host.link.look_again()
        pending.link = host.link
        self._pending[pending.id] = pending
        if pending.request.queue is QueuePolicy.NEWEST:
            host.newest.sent = pending
        host.link.send(ToHost(pending.id, pending.request))

    def _in_hands_of(self, host: Host) -> list[Pending]:
        return [p for p in self._pending.values() if p.link is host.link]

    def _is_saving(self, host: Host) -> bool:
        with self._lock:
            return any(p.begun and p.request.written_path for p in self._in_hands_of(host))

    def _receive(self, link: HostLink, message: object) -> None:
        if isinstance(message, Ready):
            self._note_ready(link, message)
        elif isinstance(message, Noticed):
            if not link.options.simulator:
                _tell(self._on_notice, message.warning)
        elif isinstance(message, Working):
            with self._lock:
                pending = self._pending.get(message.id)
                host = self._hosts.get(link.options.simulator)
                if pending is not None and host is not None:
                    pending.begun = True
                    allowed = max(SHORTEST_DEADLINE_S, DEADLINE_FACTOR * message.progress.expected_s)
                    host.deadline = time.monotonic() + allowed
            if pending is not None and pending.on_progress is not None:
                _tell(pending.on_progress, message.progress)
        elif isinstance(message, Done):
            # While it is in the books still: whatever goes wrong here ends the host, and its end answers.
            self._blocks.hand_over(segments_of(message.value), link)
            self._answer_taken(message.id, message.value, None)
        elif isinstance(message, Failed):
            if message.fatal:
                link.note_end(str(message.error))
            # A preview that lost the device is answered by the end of its host, which may send it again.
            if not (message.fatal and self._is_newest(message.id)):
                self._answer_taken(message.id, None, message.error)

    def _note_ready(self, link: HostLink, ready: Ready) -> None:
        simulator = link.options.simulator
        with self._lock:
            self._faults.note_up(simulator)
            if link.options.use_cuda and not simulator:
                self._faults.note_gpu(any(device.is_usable_gpu for device in ready.devices))
            host = self._hosts.get(simulator)
            if host is not None:
                host.ready = ready
                host.deadline = time.monotonic() + SHORTEST_DEADLINE_S if self._in_hands_of(host) else None
        if not simulator:
            _tell(self._on_ready, ready)

    def _is_newest(self, request_id: int) -> bool:
        with self._lock:
            pending = self._pending.get(request_id)
            return pending is not None and pending.request.queue is QueuePolicy.NEWEST

    def _answer_taken(self, request_id: int, value: object, error: EngineError | None) -> None:
        pending = self._take(request_id)
        if pending is None:
            self.release(*segments_of(value))
        else:
            self._answer(pending, value, error)

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
        """Answer every request of a host that ended, or hand it to a successor; only then clean up behind it."""
        simulator = link.options.simulator
        with self._lock:
            host = self._hosts.pop(simulator)
            left = self._in_hands_of(host)
            for pending in left:
                del self._pending[pending.id]
            if host.newest.waiting is not None:
                left.append(host.newest.waiting)
            if not self._closing and not host.end_wanted:
                self._faults.note_end(simulator, was_up=host.ready is not None)
            has_successor, again = self._begin_again(host, left)
            error = self._error_of_end(host, reason, has_successor)
            answers = [(p, self._answer_of_end(p, error, reason)) for p in left if p not in again]
        if isinstance(error, HostLost) and not simulator:
            _tell(self._on_lost, error)
        for pending, answer in answers:
            self._answer(pending, None, answer)
        try:
            self._blocks.maker_ended(link)
        except Exception:  # noqa: BLE001 - all is answered; what could not be removed stays until the system restarts
            _log.exception("The shared memory of a process that ended could not be removed")

    def _begin_again(self, host: Host, left: list[Pending]) -> tuple[bool, list[Pending]]:
        """Start a successor if there is to be one; return whether there is one, and the requests that it has."""
        simulator = host.link.options.simulator
        if not self._may_start_successor(host):
            return False, []
        again = [p for p in left if p is host.newest.waiting or p.may_be_sent_again]
        if simulator and not again:
            return False, []
        try:
            successor = self._host(simulator)
        except Exception:  # noqa: BLE001 - no pipe or no thread to be had: the next request tries anew
            _log.exception("A new engine's process could not be started")
            return False, []
        for pending in again:
            # A host that never came up did not see the request, and one that was ended on purpose did not end by it.
            pending.sent_again += host.ready is not None and not host.end_wanted and pending.link is not None
        self._send_again(successor, again)
        return True, again

    def _may_start_successor(self, host: Host) -> bool:
        """Return whether a host that ended is to be replaced at once; one that never comes up is not, for ever."""
        may_start_again = self._faults.may_start_again(host.link.options.simulator)
        return not self._closing and (host.ready is not None or may_start_again)

    def _error_of_end(self, host: Host, reason: str, has_successor: bool) -> EngineError:
        if self._closing:
            return Cancelled("The request", "the program is closing")
        if host.end_wanted:
            return Cancelled("The run was stopped", reason)
        return self._faults.lost_error(host.link.options.simulator, reason, has_successor)

    def _answer_of_end(self, pending: Pending, error: EngineError, reason: str) -> EngineError:
        is_second = pending.sent_again and pending.link is not None
        # What a person asked for may be asked for again; what the window asks for by itself would be, for ever.
        if not isinstance(error, HostLost) or not is_second or pending.request.queue is QueuePolicy.IN_ORDER:
            return error
        return self._faults.note_lost_twice(pending.request, pending.simulator, reason)

    def _send_again(self, successor: Host, requests: list[Pending]) -> None:
        for pending in requests:
            pending.begun = False
            if pending.request.queue is QueuePolicy.NEWEST and successor.newest.sent is not None:
                pending.link, successor.newest.waiting = None, pending
            else:
                self._send(successor, pending)

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
            self.release(*segments_of(value))
        elif error is not None:
            pending.future.set_exception(error)
        else:
            pending.future.set_result(value)


def _cannot_start(error: Exception) -> HostLost:
    return HostLost(
        "The engine's process cannot be started", str(error), "Close other programs and ask again."
    )


def _tell(callback: Callable[[_Told], None], told: _Told) -> None:
    """Call back; what goes wrong there is logged and ends neither the thread nor any request."""
    try:
        callback(told)
    except Exception:  # noqa: BLE001 - code that is not the client's: whatever it was must not stop the others
        _log.exception("A callback of the engine's client failed")

"""The engine's client: the window's side of the connection. No Qt and no Numba in here.

Called on: any thread. Callbacks, those of futures too, run on a thread of the client.
"""

import itertools
import logging
import threading
from collections.abc import Callable
from concurrent.futures import Future
from multiprocessing.connection import Connection
from operator import attrgetter
from typing import Protocol, TypeVar

from engine.errors import Cancelled, CodeNotKept, EngineError, HostLost, LineLost
from engine.host import link
from engine.host import request as messages
from engine.host.link import Faults, Host, Pending, ProgressCallback
from engine.host.request import HostOptions, QueuePolicy, Ready, Request, segments_of
from engine.host.shared import HandedSegments
from engine.process import shortage_of

GRACE_S = 2.0
# On another machine the process there has the grace period; this is for the line as well.
REMOTE_GRACE_S = 6.0
STOP_S = 1.0

_log = logging.getLogger(__name__)
_Event = TypeVar("_Event")


class RemoteHost(Protocol):
    """An engine on another machine: `serve` is what the process here does that stands for it."""

    @property
    def title(self) -> str:
        """The machine in words: "user@server"."""

    def serve(self, connection: Connection, options: HostOptions) -> None:
        """Serve requests by the other machine. Called on: the main thread of the child."""


class EngineClient:
    """Sends requests to the engine's process and keeps one alive: one that ends is replaced at once.

    The request that it worked on fails with `HostLost`, the waiting ones go to its successor.
    `on_ready` is called when the host is up (the first one, or a successor), `on_notice` with a warning
    for the user, `on_lost` when it ended unexpectedly; the remedy says whether a successor is being started.
    `described` is the request for the variants that a host names when it is up. With `remote` the host is on
    another machine: what touches files is done here. When the line to it is lost, its requests fail with
    `LineLost`; no password is asked for again before the next request, or `connect`.
    """

    def __init__(
        self,
        *,
        on_ready: Callable[[Ready], None] = lambda ready: None,
        on_lost: Callable[[HostLost], None] = lambda lost: None,
        on_notice: Callable[[CodeNotKept], None] = lambda notice: None,
        described: Request | None = None,
        remote: RemoteHost | None = None,
    ) -> None:
        self.remote = remote
        self.described = described
        self._on_ready = on_ready
        self._on_lost = on_lost
        self._on_notice = on_notice
        self._lock = threading.RLock()
        self._ids = itertools.count(1)
        self._current: Host | None = None
        self._faults = Faults()
        self._closing = False
        self._segments = HandedSegments()

    @property
    def use_cuda(self) -> bool:
        """Whether CUDA is used; False after three faults in ten minutes, until `try_cuda_again`."""
        return self._faults.use_cuda

    @property
    def segment_prefix(self) -> str:
        """The common prefix of the names of its hosts' segments of shared memory."""
        return self._segments.prefix

    @property
    def host_pid(self) -> int | None:
        """Process id of the host."""
        host = self._current
        return host.pid if host else None

    def start(self) -> None:
        """Start the host in the background and return at once; not after `shutdown`."""
        with self._lock:
            if not self._closing:
                self._host()

    def submit(self, request: Request, on_progress: ProgressCallback | None = None) -> Future[object]:
        """Return the future of a request: the reply, as the request's `reply` says, or an `EngineError`.

        A preview that a newer one replaced before it was begun is cancelled.
        """
        pending = Pending(next(self._ids), request, Future(), on_progress)
        with self._lock:
            refusal: EngineError | None = self._faults.why_not_tried(request)
            if self._closing:
                refusal = Cancelled("The engine", "it is being shut down")
            if refusal is None:
                try:
                    if (replaced := self._host().add(pending)) is not None:
                        replaced.future.cancel()
                except (OSError, RuntimeError) as error:  # no pipe, or no thread
                    what, short = "The engine's process cannot be started", shortage_of(error)
                    why = f"{short.what[:1].lower()}{short.what[1:]}, {short.why}" if short else str(error)
                    refusal = HostLost(what, why, "Close other programs and ask again.")
            if refusal is not None:
                pending.future.set_exception(refusal)
        return pending.future

    def cancel(self, future: Future[object]) -> None:
        """Cancel a request: at once while it waits, else between launches or by replacing the host."""
        with self._lock:
            sent = () if self._current is None else self._current.requests.values()
            pending = next((p for p in sent if p.future is future), None)
            if pending is None:
                future.cancel()
                return
            pending.cancelled = True
            if pending.host is not None:
                pending.host.send(messages.Cancel(pending.id))
        if not pending.begun:
            self._answer(pending, None, Cancelled("The request", "it was stopped before it was begun"))
            return
        grace_s = GRACE_S if self.remote is None else REMOTE_GRACE_S

        def give_up() -> None:
            with self._lock:
                host = self._current
                if host is None or host.requests.get(pending.id) is not pending:
                    return
                host.end_wanted = True
            host.kill(f"it could not stop within {grace_s:g} s and was replaced")

        timer = threading.Timer(grace_s, give_up)
        timer.daemon = True
        timer.start()

    def release(self, *names: str) -> None:
        """Release segments of shared memory."""
        if not names:
            return
        with self._lock:
            host = self._current
            living = None if host is None else host.options.segment_prefix
            handed = self._segments.give_back(names, living)
        if host is not None and handed:
            host.send(messages.Release(handed))

    def try_cuda_again(self) -> None:
        """Forget the faults and start a host that may use CUDA."""
        with self._lock:
            if not self._closing:
                self._faults.forget()
        self._begin_anew("it is started again to use the GPU")

    def connect(self, remote: RemoteHost | None) -> None:
        """Compute there from now on, None: here, by a new connection; earlier requests are cancelled."""
        with self._lock:
            self.remote = remote
            if self._current is not None:
                self._current.start_again = True
        self._begin_anew("another connection was asked for")

    def _begin_anew(self, reason: str) -> None:
        with self._lock:
            if (host := self._current) is not None:
                host.end_wanted = True
        self.start() if host is None else host.kill(reason)

    def supersede(self, future: Future[object]) -> None:
        """Say that a newer preview waits: another machine sends no more of this one, if that takes long."""
        with self._lock:
            host = self._current
            for pending in host.requests.values() if host is not None and host.is_remote else ():
                if pending.future is future and pending.host is not None:
                    pending.host.send(messages.Superseded(pending.id))

    def detach(self, *names: str) -> None:
        """Let hosts detach segments that the caller has made, and removes."""
        if (host := self._current) is not None:
            host.send(messages.Release(names))

    def shutdown(self) -> None:
        """End the host and free all shared memory; unanswered requests fail as cancelled.

        A file that is being written is completed first; one that is only encoded is abandoned.
        """
        with self._lock:
            self._closing = True
            host = self._current
            if host is not None and host.waiting_preview is not None:
                host.waiting_preview.future.cancel()
                host.waiting_preview = None
        if host is not None:
            host.send(messages.Stop())
            # A host that is not up yet works on nothing.
            if not host.join(STOP_S if host.ready else 0.0):
                with self._lock:
                    is_saving = any(p.begun and p.request.written_path for p in host.requests.values())
                if is_saving:
                    # A kill would leave a part of the file. The host's deadline still applies.
                    host.join(None)
                host.kill("the program is closing")
                host.join(5.0)
        self._segments.remove_all()

    def _host(self) -> Host:
        host = self._current
        if host is None:
            prefix = self._segments.prefix_of_next_host()
            options = HostOptions(self._faults.use_cuda, prefix, self.described)
            remote = None if self.remote is None else self.remote.serve
            host = Host(options, self._receive, self._ended, remote)
            host.start()
            # Only after the start: the end of a host that was never started is not reported.
            self._current = host
        return host

    def _receive(self, host: Host, message: object) -> None:
        if isinstance(message, Ready):
            with self._lock:
                self._faults.note_ready(message, used_cuda=host.options.use_cuda)
                host.note_ready(message)
            if not host.end_wanted:
                _call(self._on_ready, message)
        elif isinstance(message, CodeNotKept):
            _call(self._on_notice, message)
        elif isinstance(message, messages.Working):
            with self._lock:
                pending = host.note_progress(message.id, message.progress)
            if pending is not None and pending.on_progress is not None:
                _call(pending.on_progress, message.progress)
        elif isinstance(message, EngineError):
            # The other machine is not reached, or not any more: the process ends.
            host.lost = message
        elif isinstance(message, messages.Reply):
            if message.fatal:
                host.note_end(str(message.error))
            # While the request is still pending: an error here ends the host, and its end answers.
            self._segments.hand_over(segments_of(message.value))
            with self._lock:
                pending = host.requests.get(message.id)
                # A preview that lost the device is answered by the end of its host, which may send it again.
                if message.fatal and pending is not None and pending.is_preview:
                    return
                host.take(message.id)
            if pending is None:
                self.release(*segments_of(message.value))
            else:
                self._answer(pending, message.value, message.error)

    def _ended(self, host: Host, reason: str) -> None:
        """Answer the requests of a host that ended, or hand them to a successor; then remove its segments."""
        with self._lock:
            self._current = None
            # The request that ended it, without a reason by taking long, and its error.
            at_fault: Pending | None = None
            its_error: EngineError | None = None
            if host.is_given_up or not (self._closing or host.end_wanted or host.is_remote):
                for at_fault in filter(attrgetter("begun"), host.requests.values()):
                    its_error = at_fault.request.error_if_lost("" if host.is_given_up else reason)
                    if its_error is not None:
                        host.end_wanted = True
                        break
            left = [*host.requests.values(), *filter(None, [host.waiting_preview])]
            if not self._closing and not host.end_wanted and not host.is_remote:
                self._faults.note_end(was_up=host.ready is not None)
            has_successor, again = self._begin_again(host, left)
            error: EngineError = self._faults.lost_error(reason, has_successor)
            if self._closing:
                error = Cancelled("The request", "the program is closing")
            elif host.end_wanted:
                error = Cancelled("The run was stopped", reason)
            elif host.is_remote and self.remote is not None:
                what = f"The connection to {self.remote.title} ended"
                why = f"of its process on this machine: {reason}"
                error = host.lost or LineLost(what, why, "Your work is kept: connect again.")
            answers = []
            for pending in (one for one in left if one not in again):
                answer, is_second = error, pending.sent_again and pending.host is not None
                # The user may repeat work; what the window requests itself would be repeated for ever.
                is_repeated = pending.request.queue is not QueuePolicy.IN_ORDER
                if pending is at_fault and its_error is not None:
                    answer = its_error
                elif isinstance(error, HostLost) and is_second and is_repeated:
                    answer = self._faults.note_lost_twice(pending.request, reason)
                answers.append((pending, answer))
        if isinstance(error, HostLost):
            _call(self._on_lost, error)
        for pending, answer in answers:
            self._answer(pending, None, answer)
        try:
            self._segments.maker_ended(host.options.segment_prefix)
        except Exception:  # noqa: BLE001 - all is answered; the segments stay until the system restarts
            _log.exception("The shared memory of a process that ended could not be removed")

    def _begin_again(self, host: Host, left: list[Pending]) -> tuple[bool, list[Pending]]:
        """Start a successor if there is to be one; return whether there is, and the requests that it has."""
        # A host that never comes up is replaced a few times only.
        is_wanted = host.ready is not None or self._faults.failed_starts < link.FAILED_STARTS_ALLOWED
        again = [
            p
            for p in left
            # Once: what was not begun, or a preview, which the user cannot repeat.
            if p is host.waiting_preview
            or ((p.is_preview or not p.begun) and not p.cancelled and p.sent_again < 1)
        ]
        if host.is_remote or host.start_again:
            # The line would be lost again, and a password asked for again and again. Requests to
            # one machine may be about pixels that are only there.
            is_wanted, again = host.start_again, []
        if self._closing or not is_wanted:
            return False, []
        try:
            successor = self._host()
        except Exception:  # noqa: BLE001 - no pipe or no thread is free: the next request tries again
            _log.exception("A new engine's process could not be started")
            return False, []
        for pending in again:
            # A host that never came up did not see the request; one ended on purpose did not end by it.
            pending.sent_again += host.ready is not None and not host.end_wanted and pending.host is not None
            successor.add(pending)
        return True, again

    def _answer(self, pending: Pending, value: object, error: EngineError | None) -> None:
        with self._lock:
            is_wanted = not pending.answered and pending.future.set_running_or_notify_cancel()
            pending.answered = True
        if not is_wanted:
            # The result is not wanted any more.
            self.release(*segments_of(value))
        elif error is not None:
            pending.future.set_exception(error)
        else:
            pending.future.set_result(value)


def _call(callback: Callable[[_Event], None], event: _Event) -> None:
    """Call back; an error there is logged and ends neither the thread nor any request."""
    try:
        callback(event)
    except Exception:  # noqa: BLE001 - code that is not the client's must not stop the others
        _log.exception("A callback of the engine's client failed")

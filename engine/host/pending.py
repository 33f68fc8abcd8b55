"""The client's records of a host, and of the requests that are not answered yet."""

import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from engine.errors import EngineError
from engine.host.link import HostLink
from engine.host.messages import Ready, Superseded, ToHost
from engine.host.request import QueuePolicy, Request
from engine.results.progress import Progress

# A host that had 1/8 of a core took 6 s to import what its first request needs.
SHORTEST_DEADLINE_S = 20.0
DEADLINE_FACTOR = 10.0
# What comes beside a run reports no steps; a file of another machine may be slow.
BESIDE_DEADLINE_S = 30.0
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
    link: HostLink | None = None  # of the host that has it; None while it waits here
    begun: bool = False  # that host has reported that it works on it
    cancelled: bool = False
    answered: bool = False
    sent_again: int = 0  # hosts that were up and ended while they had it

    @property
    def is_preview(self) -> bool:
        """Whether only the newest of its kind counts."""
        return self.request.queue is QueuePolicy.NEWEST

    @property
    def may_be_sent_again(self) -> bool:
        """Whether a successor may have it, once: not begun, or a preview, which the user cannot repeat."""
        return (self.is_preview or not self.begun) and not self.cancelled and self.sent_again < 1


@dataclass(eq=False)
class Host:
    """The host. Called on: any thread, under the client's lock."""

    link: HostLink
    ready: Ready | None = None  # what it reported when it was up
    requests: dict[int, Pending] = field(default_factory=dict)  # sent to it and not answered
    waiting_preview: Pending | None = None  # the newest one, while another is sent
    deadline: float | None = None  # for its next report (`time.monotonic`), while it has something to do
    end_wanted: bool = False  # it is being ended on purpose: not a fault of the device
    start_again: bool = False  # the person has asked for a successor
    is_remote: bool = False  # it stands for one on another machine
    lost: EngineError | None = None  # what it said of the line before it ended

    def __post_init__(self) -> None:
        self._allow(START_DEADLINE_S)

    @property
    def is_saving(self) -> bool:
        """Whether it is at work on a file."""
        return any(p.begun and p.request.written_path for p in self.requests.values())

    @property
    def seconds_left(self) -> float | None:
        """Seconds until its deadline, if there is one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def request_at_fault(self, reason: str) -> tuple[Pending | None, EngineError | None]:
        """Return the request that ended it, without a reason by taking long, and its error; None for none."""
        for pending in self.requests.values():
            if pending.begun and (error := pending.request.error_if_lost(reason)) is not None:
                return pending, error
        return None, None

    def add(self, pending: Pending) -> Pending | None:
        """Send a request; a preview waits while another is sent. Return the waiting one that it replaces."""
        pending.begun = False
        before = next((sent for sent in self.requests.values() if sent.is_preview), None)
        if pending.is_preview and before is not None:
            pending.link = None
            if self.is_remote:
                self.link.send(Superseded(before.id))
            replaced, self.waiting_preview = self.waiting_preview, pending
            return replaced
        is_first = not self.requests
        pending.link = self.link
        self.requests[pending.id] = pending
        if self.ready is not None and (is_first or pending.request.queue is QueuePolicy.BESIDE):
            left = 0.0 if is_first or self.deadline is None else self.deadline - time.monotonic()
            self._allow(max(SHORTEST_DEADLINE_S, left))
            self.link.look_again()
        self.link.send(ToHost(pending.id, pending.request))
        return None

    def take(self, request_id: int) -> Pending | None:
        """Remove a request that is answered; send the preview that waited for it."""
        pending = self.requests.pop(request_id, None)
        if pending is None:
            return None
        if not self.requests:
            self.deadline = None
        elif pending.begun:
            self._allow(SHORTEST_DEADLINE_S)
        if pending.is_preview and self.waiting_preview is not None:
            waiting, self.waiting_preview = self.waiting_preview, None
            self.add(waiting)
        return pending

    def note_ready(self, ready: Ready) -> None:
        """Note that it is up."""
        self.ready = ready
        self.deadline = None
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

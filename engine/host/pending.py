"""The client's records of a host, and of the requests that are not answered yet."""

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field

from engine.errors import EngineError, HostLost, HostLostTwice
from engine.host import shared
from engine.host.link import HostLink
from engine.host.request import QueuePolicy, Ready, Request, Superseded, ToHost
from engine.results.problem import Progress

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


FAULTS_ALLOWED = 3
FAULT_WINDOW_S = 600.0
# Hosts in a row that may end before they are up; after that only a request starts one.
FAILED_STARTS_ALLOWED = 3


class Faults:
    """The client's count of faults. Called on: any thread, one at a time (under the client's lock).

    `use_cuda` is False after three faults in ten minutes, if there is a GPU.
    """

    def __init__(self) -> None:
        self.use_cuda = True
        # The GPU may end a host before it is up: until a host has reported, assume that there is one.
        self._has_gpu = True
        self._times: deque[float] = deque()
        self._failed_starts = 0
        self._lost_twice: dict[tuple[type, ...], tuple[Request, HostLostTwice]] = {}

    def note_up(self) -> None:
        """Note that a host is up."""
        self._failed_starts = 0

    def note_gpu(self, is_there: bool) -> None:
        """Note whether a host that looked for a GPU has found one that it can use."""
        self._has_gpu = is_there

    def note_end(self, was_up: bool) -> None:
        """Note that a host ended unexpectedly."""
        self._failed_starts += not was_up
        now = time.monotonic()
        self._times.append(now)
        while self._times and now - self._times[0] > FAULT_WINDOW_S:
            self._times.popleft()
        if self.use_cuda and self._has_gpu and len(self._times) >= FAULTS_ALLOWED:
            self.use_cuda = False
            # A driver that ends starting processes is not used any more: the CPU gets its own attempts.
            self._failed_starts = 0

    def may_start_again(self) -> bool:
        """Return whether a host that ended before it was up is to be replaced at once."""
        return self._failed_starts < FAILED_STARTS_ALLOWED

    def forget(self) -> None:
        """Allow CUDA again, as if nothing had happened."""
        self.use_cuda = True
        self._times.clear()
        self._failed_starts = 0
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


# Where segments cannot be listed they are counted: a host has at most two that it has not handed over yet,
# and three spare ones; the rest is a reserve.
_NOT_HANDED_OVER = 8


class HandedSegments:
    """The segments that the client uses, each with the host that made it.

    A released segment belongs to its maker again, which reuses it. What a host owned when it ended is
    removed: the names of all segments of this client's hosts begin with `prefix`, so those of a killed host
    are found too.
    """

    def __init__(self) -> None:
        self.prefix = shared.new_prefix()
        self._hosts = itertools.count(1)
        self._lock = threading.Lock()
        self._maker: dict[str, HostLink] = {}
        self._newest: dict[HostLink, int] = {}

    def prefix_of_next_host(self) -> str:
        """Return the prefix of the next host's segment names."""
        return shared.name_of(self.prefix, next(self._hosts))

    def hand_over(self, names: tuple[str, ...], maker: HostLink) -> None:
        """Note that a host has handed segments over."""
        with self._lock:
            self._maker.update(dict.fromkeys(names, maker))
            numbers = [int(name.rpartition("-")[2]) for name in names]
            self._newest[maker] = max(self._newest.get(maker, 0), *numbers, 0)

    def give_back(self, names: tuple[str, ...], living: list[HostLink]) -> tuple[str, ...]:
        """Release segments; remove those whose maker has ended, and return those that were handed over.

        A name that was not, or that was released before, may be in use by its maker again: it is only
        detached here.
        """
        shared.forget(*names)
        with self._lock:
            makers = {name: self._maker.pop(name) for name in names if name in self._maker}
        shared.unlink(*(name for name, maker in makers.items() if maker not in living))
        return tuple(makers)

    def maker_ended(self, maker: HostLink) -> None:
        """Remove what a host owned when it ended; what is still used stays."""
        with self._lock:
            last = self._newest.pop(maker, 0) + _NOT_HANDED_OVER
            in_use = set(self._maker)
        left = shared.left_by(maker.options.segment_prefix, last)
        shared.unlink(*(name for name in left if name not in in_use))

    def remove_all(self) -> None:
        """Remove every segment that is still used."""
        with self._lock:
            names = list(self._maker)
            self._maker.clear()
        shared.unlink(*names)

"""Counts of hosts that ended unexpectedly: whether CUDA is used, whether to start another, the errors."""

import time
from collections import deque

from engine.errors import HostLost, HostLostTwice
from engine.host.request import Request

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

"""Toy kinds of request: each a dataclass and a line in the table; a host reads them with the first one."""

import threading
from dataclasses import dataclass

from engine.host import shared
from engine.host.handlers import HANDLERS
from engine.host.request import QueuePolicy, Request
from engine.host.shared_array import SharedArray
from engine.results.progress import Progress


@dataclass(frozen=True, slots=True)
class Doubled:
    """The reply: the process that answered, and the doubled numbers."""

    simulated: bool
    numbers: tuple[SharedArray, ...]


@dataclass(frozen=True, slots=True)
class Double(Request):
    """Double an array of shared memory. Reply: Doubled."""

    numbers: SharedArray
    in_simulator: bool = False

    @property
    def wants_simulator(self):
        return self.in_simulator


@dataclass(frozen=True, slots=True)
class Wait(Request):
    """Be at work until it is stopped."""


@dataclass(frozen=True, slots=True)
class Greet(Request):
    """Be answered while another is at work."""

    queue = QueuePolicy.AT_ONCE


@dataclass(frozen=True, slots=True)
class Newest(Request):
    """Only the newest of these counts."""

    number: int
    queue = QueuePolicy.NEWEST


def double(request, report):
    from engine.device.numba_cuda import SIMULATED

    (result,) = shared.create((request.numbers.shape, request.numbers.dtype))
    shared.attach(result)[...] = 2 * shared.attach(request.numbers)
    return Doubled(SIMULATED, (result,))


def wait(request, report):
    clock = threading.Event()
    while not clock.wait(0.01):
        report(Progress("waiting", 0.0, 60.0))


HANDLERS[Double] = double
HANDLERS[Wait] = wait
HANDLERS[Greet] = lambda request, report: "good morning"
HANDLERS[Newest] = lambda request, report: request.number

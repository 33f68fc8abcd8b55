"""What the client knows of its hosts, and of the requests that it has not answered yet."""

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from engine.host.link import HostLink
from engine.host.protocol import Progress, Ready
from engine.host.queue_policy import QueuePolicy
from engine.host.request import Request

ProgressCallback = Callable[[Progress], None]


@dataclass(eq=False)
class Pending:
    """A request that the client has not answered yet.

    Parameters
    ----------
    id : int
    request : Request
    future : Future
    on_progress : callable of Progress, optional
    simulator : bool
        Whether it is for the simulator's host.
    link : HostLink, optional
        The host that has it; None while it waits here.
    begun : bool
        The host has said that it works on it.
    cancelled : bool
        The person stopped it.
    answered : bool
        Its future has its result, or its error.
    sent_again : int
        Hosts that were up and ended while it waited with them.
    """

    id: int
    request: Request
    future: Future[Any]
    on_progress: ProgressCallback | None
    simulator: bool
    link: HostLink | None = None
    begun: bool = False
    cancelled: bool = False
    answered: bool = False
    sent_again: int = 0

    @property
    def may_be_sent_again(self) -> bool:
        """Whether a successor may have it: once, if it was not begun, or if it is a preview, which nobody asks for anew."""
        is_preview = self.request.queue is QueuePolicy.NEWEST
        return (is_preview or not self.begun) and not self.cancelled and self.sent_again < 1


@dataclass
class NewestQueue:
    """The newest-wins lane of one host: at most one request sent, at most one waiting."""

    sent: Pending | None = None
    waiting: Pending | None = None


@dataclass
class Host:
    """One kind of host: the real one or the simulator's.

    Parameters
    ----------
    link : HostLink
    ready : Ready, optional
        What it said when it was up.
    newest : NewestQueue
    deadline : float, optional
        When the host has to say something next (`time.monotonic`), seconds; None while it has nothing to do.
    end_wanted : bool
        It is being ended on purpose: no fault of the device's.
    """

    link: HostLink
    ready: Ready | None = None
    newest: NewestQueue = field(default_factory=NewestQueue)
    deadline: float | None = None
    end_wanted: bool = False

"""Starts the engine's process before Qt is even imported, so that the two processes start side by side. No Qt in here.

What the client tells meanwhile is kept until the window's link asks for it.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol

from engine.errors import CodeNotKept, HostLost
from engine.host.messages import Progress, Ready
from engine.host.protocol import OpenPicture
from engine.host.request import Request

Event = Ready | HostLost | CodeNotKept


class Client(Protocol):
    """What the window needs of `engine.host.client.EngineClient`; tests put a fake one in its place."""

    @property
    def use_cuda(self) -> bool:
        """Whether CUDA is used; False after three faults in ten minutes."""
        ...

    def start(self) -> None:
        """Start the host and return at once."""
        ...

    def submit(self, request: Request, on_progress: Callable[[Progress], None] | None = None) -> Future[Any]:
        """Ask for something; the reply is the future's result."""
        ...

    def cancel(self, future: Future[Any]) -> None:
        """Stop a request."""
        ...

    def release(self, *names: str) -> None:
        """Give blocks of shared memory back."""
        ...

    def try_cuda_again(self) -> None:
        """Forget the faults and use the GPU again."""
        ...

    def shutdown(self) -> None:
        """End every host."""
        ...


class StartedEngine:
    """A client that is being started, and the events of it that nobody has heard yet.

    Parameters
    ----------
    make_client : callable
        Called with `on_ready`, `on_lost` and `on_notice`.
    before_start : callable of Client, optional
        Called with the client before its process is started.
    """

    def __init__(
        self, make_client: Callable[..., Client], before_start: Callable[[Client], None] = lambda client: None
    ) -> None:
        self._lock = threading.Lock()
        self._events: list[Event] = []
        self._listener: Callable[[Event], None] | None = None
        self.client = make_client(on_ready=self._tell, on_lost=self._tell, on_notice=self._tell)
        before_start(self.client)
        self.client.start()

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Tell the events so far and every later one. The listener is called on any thread."""
        with self._lock:
            events, self._events = self._events, []
            self._listener = listener
        for event in events:
            listener(event)

    def _tell(self, event: Event) -> None:
        with self._lock:
            listener = self._listener
            if listener is None:
                self._events.append(event)
                return
        listener(event)


@dataclass(frozen=True, slots=True)
class FirstPicture:
    """The picture that was asked for before there was a window."""

    request: OpenPicture
    future: Future[Any]

"""Starts the engine's process before Qt is even imported, so that both start side by side. No Qt in here."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from engine.errors import CodeNotKept, HostLost
from engine.host.client import EngineClient
from engine.host.protocol import OpenPicture
from engine.host.request import Ready
from engine.work.messages import ListRequest

Event = Ready | HostLost | CodeNotKept


class StartedEngine:
    """A client that is being started, and its events that have no listener yet.

    `make_client` gets what `EngineClient` takes; `before_start` the client before its process is started.
    """

    def __init__(
        self,
        make_client: Callable[..., EngineClient],
        before_start: Callable[[EngineClient], None] = lambda client: None,
    ) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Event] = []
        self._listener: Callable[[Event], object] = self._waiting.append
        self.client = make_client(
            on_ready=self._note, on_lost=self._note, on_notice=self._note, described=ListRequest()
        )
        before_start(self.client)
        self.client.start()

    def listen(self, listener: Callable[[Event], None]) -> None:
        """Pass on the events so far and every later one. The listener is called on any thread."""
        with self._lock:
            self._listener = listener
            for event in self._waiting:
                listener(event)

    def _note(self, event: Event) -> None:
        with self._lock:
            self._listener(event)


@dataclass(frozen=True, slots=True)
class FirstPicture:
    """The picture that was requested before the window existed."""

    request: OpenPicture
    future: Future[Any]

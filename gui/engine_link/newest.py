"""The newest request wins: what earlier ones bring is dropped, and its shared memory given back."""

from collections.abc import Callable
from typing import Any

from engine.errors import EngineError
from engine.host.request import Request
from engine.host.shared_array import segments_of
from engine.results.progress import Progress
from gui.engine_link.engine_link import Ask, EngineLink


class Newest:
    """Asks for one thing again and again, such as a preview; only the newest request is answered."""

    def __init__(self, link: EngineLink) -> None:
        self._link = link
        self._ask: Ask | None = None

    @property
    def in_flight(self) -> Request | None:
        """The newest request, until it is answered."""
        return self._ask.request if self._ask else None

    def ask(
        self,
        request: Request,
        replied: Callable[[Any], None],
        failed: Callable[[EngineError], None],
        progressed: Callable[[Progress], None] = lambda step: None,
    ) -> None:
        """Send a request."""
        self._link.ask(self.made(request, replied, failed, progressed))

    def made(
        self,
        request: Request,
        replied: Callable[[Any], None],
        failed: Callable[[EngineError], None],
        progressed: Callable[[Progress], None] = lambda step: None,
    ) -> Ask:
        """Return a request that somebody else sends, which is the newest from now on."""

        def is_over() -> bool:
            if self._ask is not ask:
                return False
            self._ask = None
            return True

        ask = Ask(
            request,
            lambda reply: replied(reply) if is_over() else self._link.keeper.discard(segments_of(reply)),
            lambda error: failed(error) if is_over() else None,
            lambda step: progressed(step) if self._ask is ask else None,
        )
        self._ask = ask
        return ask

    def cancel(self) -> None:
        """Stop the request in flight, which then fails with Cancelled."""
        if self._ask is not None:
            self._link.cancel(self._ask)

    def supersede(self) -> None:
        """Let another machine send no more of the preview in flight, if that takes long."""
        if self._ask is not None:
            self._link.supersede(self._ask)

    def forget(self) -> None:
        """Drop what the request in flight brings."""
        self._ask = None

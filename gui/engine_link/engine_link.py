"""Where the client's threads meet the GUI thread: futures and callbacks become queued signals."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal

from engine.errors import Cancelled, CodeNotKept, EngineError, HostLost, HostLostTwice, LineLost
from engine.host.request import Ready, Request, segments_of
from engine.remote.ssh import RemoteServer
from engine.results.problem import Progress
from gui.engine_link.engine_start import Event, StartedEngine
from gui.engine_link.engine_state import CONNECTING, LOST, RESTARTING, STARTING, EngineState

# What takes the error of a request or of other work.
Failed = Callable[[EngineError], None]


@dataclass(frozen=True, slots=True, eq=False)
class Ask:
    """A pending request, and the functions that receive its answer on the GUI thread."""

    request: Request
    replied: Callable[[Any], None]
    failed: Failed
    progressed: Callable[[Progress], None] | None = None


def is_reported_by_link(error: EngineError) -> bool:
    """Whether a request failed because a host was lost, which the signal `lost` reports."""
    return isinstance(error, HostLost) and not isinstance(error, HostLostTwice)


def needs_no_message(error: EngineError) -> bool:
    """Whether a request was stopped, or was lost with its host, which the link reports."""
    return isinstance(error, Cancelled) or is_reported_by_link(error)


class SegmentKeeper:
    """Reference counts of segments of shared memory; `release` gets the names that have no user any more.

    A picture is used by the state that shows it and by every unanswered request; a result by the state and by
    a save in progress.
    """

    def __init__(self, release: Callable[..., None]) -> None:
        self._release = release
        self._users: Counter[str] = Counter()

    def hold(self, names: Iterable[str]) -> None:
        self._users.update(names)

    def drop(self, names: Iterable[str]) -> None:
        """Count one user less; release segments without users."""
        names = tuple(names)
        self._users.subtract(names)
        self.discard(names)

    @contextmanager
    def exchange(self, old: object, new: object) -> Iterator[None]:
        """Hold the segments of what is shown from now on; after the block drop those of what was shown."""
        self.hold(segments_of(new))
        yield
        self.drop(segments_of(old))

    def discard(self, names: Iterable[str]) -> None:
        """Release segments without users."""
        free = [name for name in names if self._users[name] <= 0]
        for name in free:
            del self._users[name]
        if free:
            self._release(*free)


class EngineLink(QObject):
    """Asks the engine, and answers on the GUI thread."""

    ready = Signal(object)  # Ready: a host is up
    lost = Signal(object)  # HostLost: a host ended unexpectedly; its requests fail after this
    noticed = Signal(object)  # CodeNotKept: a warning; no request failed
    save_ended = Signal(bool)  # a file was saved, or could not be; emitted after the answer was passed on
    _event_arrived = Signal(object, object)
    _answer_arrived = Signal(object, object)
    _progress_arrived = Signal(object, object)

    def __init__(self, engine: StartedEngine, state: EngineState) -> None:
        super().__init__()
        self._client, self._state = engine.client, state
        self._open: dict[Ask, Future[Any]] = {}
        self._written_beside: list[str] = []
        self._lost: LineLost | None = None
        if isinstance(engine.client.remote, RemoteServer):
            state.set_machine(engine.client.remote, CONNECTING)
        self.keeper = SegmentKeeper(self._client.release)
        queued = Qt.ConnectionType.QueuedConnection
        self._event_arrived.connect(self._on_event, queued)
        self._answer_arrived.connect(self._on_answer, queued)
        self._progress_arrived.connect(self._on_progress, queued)
        # By then the engine may be another one.
        engine.listen(lambda event: self._event_arrived.emit(event, self._client.remote))

    @property
    def is_remote(self) -> bool:
        """Whether another machine computes, or is to."""
        return self._client.remote is not None

    @property
    def is_lost(self) -> bool:
        """Whether the connection to it was lost, so that nothing is sent."""
        return self._lost is not None

    @property
    def uses_cuda(self) -> bool:
        """False after three faults in ten minutes, until `try_cuda_again`."""
        return self._client.use_cuda

    @property
    def files_being_saved(self) -> tuple[str, ...]:
        """Names of the files, and of the folders of files, that have yet to be written."""
        requested = (ask.request.written_path for ask in self._open)
        return tuple(Path(path).name for path in (*requested, *self._written_beside) if path)

    def begin_writing(self, path: str) -> None:
        """Have the window ask before it closes while another process writes there."""
        self._written_beside.append(path)

    def end_writing(self, path: str, *, is_done: bool) -> None:
        self._written_beside.remove(path)
        self.save_ended.emit(is_done)

    def ask(self, ask: Ask) -> Ask:
        """Send a request; the picture that it reads is kept until it is answered."""
        self.keeper.hold(segments_of(ask.request))
        future: Future[Any] = Future()
        if self._lost is None:
            future = self._client.submit(ask.request, lambda step: self._progress_arrived.emit(ask, step))
        else:
            # Each request would try to connect.
            future.set_exception(self._lost)
        self.follow(ask, future)
        return ask

    def follow(self, ask: Ask, future: Future[Any]) -> None:
        """Answer an ask by the future of a request that was already sent."""
        self._open[ask] = future
        future.add_done_callback(lambda done: self._answer_arrived.emit(ask, done))

    def cancel(self, ask: Ask) -> None:
        """Cancel an ask; it fails with Cancelled unless it is answered first."""
        if (future := self._open.get(ask)) is not None:
            self._client.cancel(future)

    def supersede(self, ask: Ask) -> None:
        """Let another machine send no more of a preview, if that takes long: a newer one waits."""
        if (future := self._open.get(ask)) is not None:
            self._client.supersede(future)

    def connect_to(self, server: RemoteServer | None) -> None:
        """Compute on a server from now on, None for this computer; once more where it is the same one."""
        self._lost = None
        self._state.set_machine(server, CONNECTING if server else STARTING)
        self._client.connect(server)

    def try_cuda_again(self) -> None:
        self._state.set_status(RESTARTING)
        self._client.try_cuda_again()

    def shutdown(self) -> None:
        """End the engine's processes; pending asks get no answer."""
        self._open.clear()
        self._client.shutdown()

    def _on_event(self, event: Event, remote: object) -> None:
        if remote is not self._client.remote:
            return
        if isinstance(event, Ready):
            self._lost = None
            self._state.set_ready(event)
            self.ready.emit(event)
        elif isinstance(event, CodeNotKept):
            self.noticed.emit(event)
        elif isinstance(event, LineLost):
            self._lost = event
            self._state.set_status(LOST)
            self.lost.emit(event)
        else:
            self._state.set_status(f"lost: {event.why}")
            self.lost.emit(event)

    def _on_progress(self, ask: Ask, step: Progress) -> None:
        if ask in self._open and ask.progressed is not None:
            ask.progressed(step)

    def _on_answer(self, ask: Ask, future: Future[Any]) -> None:
        if self._open.pop(ask, None) is None:
            return
        is_done = False
        try:
            reply = future.result()
        except CancelledError:
            ask.failed(Cancelled("The request", "a newer one took its place"))
        except EngineError as error:
            ask.failed(error)
        else:
            is_done = True
            ask.replied(reply)
        if ask.request.written_path:
            self.save_ended.emit(is_done)
        self.keeper.drop(segments_of(ask.request))


class Newest:
    """Asks for one thing again and again, such as a preview; only the newest request is answered."""

    def __init__(self, link: EngineLink) -> None:
        self._link = link
        self._ask: Ask | None = None

    @property
    def in_flight(self) -> Request | None:
        """The newest request, until it is answered."""
        return self._ask.request if self._ask else None

    def ask(self, request: Request, *answers: Callable[[Any], None]) -> None:
        """Send a request; `answers` are called as those of `made`."""
        self._link.ask(self.made(request, *answers))

    def made(
        self,
        request: Request,
        replied: Callable[[Any], None],
        failed: Failed,
        progressed: Callable[[Progress], None] = lambda step: None,
    ) -> Ask:
        """Return a request that another object sends, which is the newest from now on."""

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

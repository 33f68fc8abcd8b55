"""Work of the window: the one queue under everything that runs, and a thread for files of its own."""

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from shiboken6 import isValid

from engine.errors import Cancelled, EngineError, HostLost
from engine.host.request import Request
from gui.engine_link.engine_link import Ask, EngineLink, Failed
from gui.engine_link.engine_state import EngineState
from gui.page.messages import PageMessages


@dataclass(frozen=True, slots=True, eq=False)
class RequestedRun:
    """A request of a run."""

    title: str  # precedes the stage in the status line
    request: Request
    replied: Callable[[Any], None]  # called with the reply; it may add further jobs to the queue
    # Called with the error of a job that was not stopped; the error is shown besides.
    failed: Failed = lambda error: None
    is_counted: bool = True  # False for the request that only finds out which jobs are to be run


class JobQueue(QObject):
    """Runs jobs one after the other, for one page at a time. Only this calls `EngineState.set_running`."""

    finished = Signal()  # the last job is over, also when it failed or was stopped

    def __init__(self, state: EngineState, link: EngineLink) -> None:
        super().__init__()
        self._state, self._link = state, link
        self._waiting: deque[RequestedRun] = deque()
        self._number = self._planned = 0
        self._current: Ask | None = None
        self._source = ""
        self._messages: PageMessages | None = None
        self._ended: Callable[[], None] = lambda: None

    def begin(
        self,
        source: str,
        jobs: Iterable[RequestedRun],
        messages: PageMessages,
        ended: Callable[[], None] = lambda: None,
    ) -> bool:
        """Run these jobs and what they add; False, and nothing happens, while others run.

        `source` is that of their task and messages; `ended` is called when the last one is over.
        """
        if self._state.running:
            return False
        self._source, self._messages, self._ended = source, messages, ended
        self._number = self._planned = 0
        messages.clear(source)
        self._state.set_running(True)
        self.add(jobs)
        self._next()
        return True

    def add(self, jobs: Iterable[RequestedRun]) -> None:
        """Run these too; nothing is added to a run that is being stopped."""
        if not self._state.cancelling:
            jobs = list(jobs)
            self._waiting.extend(jobs)
            self._planned += sum(job.is_counted for job in jobs)

    def cancel(self) -> None:
        """Stop the running job and those that wait."""
        if self._current is not None and not self._state.cancelling:
            self._waiting.clear()
            self._state.set_running(True, cancelling=True)
            self._link.cancel(self._current)

    def _next(self) -> None:
        if not self._waiting:
            self._finish()
            return
        job = self._waiting.popleft()
        self._number += job.is_counted
        number, planned = self._number, max(self._planned, 1)
        count = f" ({number} of {planned})" if planned > 1 and job.is_counted else ""
        prefix = f"{job.title}{count}: "

        def show(stage: str, fraction: float = 0.0) -> None:
            self._state.set_task(self._source, prefix + stage, max(number - 1 + fraction, 0.0) / planned)

        show("waiting for the engine")
        replied, failed = partial(self._replied, job), partial(self._failed, job)
        ask = Ask(job.request, replied, failed, lambda step: show(step.stage, step.fraction))
        self._current = self._link.ask(ask)

    def _replied(self, job: RequestedRun, reply: Any) -> None:
        job.replied(reply)
        self._next()

    def _failed(self, job: RequestedRun, error: EngineError) -> None:
        if isinstance(error, Cancelled):
            self._waiting.clear()
        else:
            # The link reports the loss of the host, once.
            if self._messages and not isinstance(error, HostLost):
                self._messages.show_error(self._source, error)
            job.failed(error)
        self._next()

    def _finish(self) -> None:
        self._current = None
        self._state.end_task(self._source)
        self._state.set_running(False)
        self._ended()
        self.finished.emit()


Outcome = TypeVar("Outcome")


class Background(QObject):
    """One thread: what is requested first is done first. What is under way ends before the program does."""

    _ended = Signal(object)  # what to call on the GUI thread. Emitted on: the thread

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread = ThreadPoolExecutor(1, "background")
        self._ended.connect(lambda pass_on: pass_on(), Qt.ConnectionType.QueuedConnection)

    def do(
        self, work: Callable[[], Outcome], done: Callable[[Outcome], object], failed: Failed
    ) -> "Future[Outcome]":
        """Do work; then call `done` with what it returned, or `failed` with the error."""

        def pass_on(future: "Future[Outcome]") -> None:
            # The window may have been closed meanwhile.
            if isValid(self):
                self._ended.emit(lambda: deliver(future, done, failed))

        future = self._thread.submit(work)
        future.add_done_callback(pass_on)
        return future

    def end(self) -> None:
        """Wait for what is under way, and do no more."""
        self._thread.shutdown()


def deliver(future: "Future[Outcome]", done: Callable[[Outcome], object], failed: Failed) -> None:
    """Pass on the outcome of work; an unexpected error is raised."""
    try:
        outcome = future.result()
    except EngineError as error:
        failed(error)
    else:
        done(outcome)

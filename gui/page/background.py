"""Work on a thread, such as reading a file of the window's own; its outcome comes back to the GUI thread."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from PySide6.QtCore import QObject, Qt, Signal
from shiboken6 import isValid

from engine.errors import EngineError

Outcome = TypeVar("Outcome")


class Background(QObject):
    """One thread: what is asked first is done first. What is under way ends before the program does."""

    _ended = Signal(object)  # what to call on the GUI thread. Emitted on: the thread

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._thread = ThreadPoolExecutor(1, "background")
        self._ended.connect(lambda pass_on: pass_on(), Qt.ConnectionType.QueuedConnection)

    def do(
        self,
        work: Callable[[], Outcome],
        done: Callable[[Outcome], None],
        failed: Callable[[EngineError], None],
    ) -> None:
        """Do work; then call `done` with what it returned, or `failed` with the error."""

        def pass_on(future: "Future[Outcome]") -> None:
            # The window may have been closed meanwhile.
            if isValid(self):
                self._ended.emit(lambda: deliver(future, done, failed))

        self._thread.submit(work).add_done_callback(pass_on)


def deliver(
    future: "Future[Outcome]", done: Callable[[Outcome], None], failed: Callable[[EngineError], None]
) -> None:
    """Pass on the outcome of work; an error that nobody expected is raised."""
    try:
        outcome = future.result()
    except EngineError as error:
        failed(error)
    else:
        done(outcome)

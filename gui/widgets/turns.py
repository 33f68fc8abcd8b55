"""Work on the GUI thread in turns: one job after the other, with the window answering between them."""

from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

PAUSE_MS = 8
# Results, from which on what follows them takes turns.
TURNS_FROM = 3


class Turns(QObject):
    """Runs what was asked for, each job once and `PAUSE_MS` after the one before it has ended.

    Timers of 0 ms that were started together run together: three plots of 200 rows would take 40 ms at once.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[Callable[[], None]] = deque()
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._run_next)

    def ask(self, job: Callable[[], None]) -> None:
        """Run a job in its turn; one that waits already is not run twice."""
        if job not in self._waiting:
            self._waiting.append(job)
        if not self._timer.isActive():
            self._timer.start(PAUSE_MS)

    def _run_next(self) -> None:
        job = self._waiting.popleft()
        try:
            job()
        finally:
            if self._waiting:
                self._timer.start(PAUSE_MS)

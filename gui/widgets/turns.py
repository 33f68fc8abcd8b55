"""Work on the GUI thread in turns: one job after the other, with the window answering between them."""

from collections import deque
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer

PAUSE_MS = 8


class Turns(QObject):
    """Runs what was asked for, each job once and `PAUSE_MS` after the one before it has ended.

    Timers of 0 ms that were started together run together: three plots of 200 rows would take 40 ms at once.
    So would a pause that ends while what a job has set off is laid out; it begins after that.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._waiting: deque[Callable[[], None]] = deque()
        self._pause = QTimer(self, singleShot=True, interval=PAUSE_MS)
        self._pause.timeout.connect(self._run_next)
        self._after_layout = QTimer(self, singleShot=True, interval=0)
        self._after_layout.timeout.connect(self._pause.start)

    def ask(self, job: Callable[[], None]) -> None:
        """Run a job in its turn; one that waits already is not run twice."""
        if job not in self._waiting:
            self._waiting.append(job)
        if not self._pause.isActive():
            self._after_layout.start()

    def _run_next(self) -> None:
        job = self._waiting.popleft()
        try:
            job()
        finally:
            if self._waiting:
                self._after_layout.start()

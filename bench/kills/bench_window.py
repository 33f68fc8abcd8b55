"""The real window around the real engine, on no screen, with what a check needs to know of it."""

import os
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from multiprocessing import resource_tracker
from pathlib import Path
from typing import Any

import numpy as np
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from engine.host import shared
from engine.host.client import EngineClient, RemoteHost
from engine.host.request import Request
from engine.host.shared import left_by
from engine.mask.mask import Mask
from engine.work.filtering.oracle import correlate
from gui.engine_link.engine_start import StartedEngine
from gui.shell.app import Haloscope

TICK_MS = 2


class CountingClient(EngineClient):
    """The client, which remembers every request that it was given and has not answered."""

    def __init__(self, **callbacks: Any) -> None:
        super().__init__(**callbacks)
        self.asked = 0
        self._open: list[Future[Any]] = []

    def submit(self, request: Request, on_progress: Any = None) -> Future[Any]:
        """Ask, and remember."""
        future = super().submit(request, on_progress)
        self.asked += 1
        self._open = [*self.unanswered(), future]
        return future

    def unanswered(self) -> list[Future[Any]]:
        """Return the futures that have no answer yet."""
        return [future for future in self._open if not future.done()]


class BenchWindow:
    """A window to treat badly."""

    def __init__(
        self, app: QApplication, remote: RemoteHost | None = None, *, preferences: Path | None = None
    ) -> None:
        self._app = app
        self.engine = StartedEngine(partial(CountingClient, remote=remote))
        assert isinstance(self.engine.client, CountingClient)
        self.client = self.engine.client
        self.haloscope = Haloscope(app, self.engine, preferences)
        self.haloscope.window.resize(1280, 800)
        self.haloscope.window.show()
        self.haloscope.finish()
        self.lost: list[str] = []
        self.haloscope.link.lost.connect(lambda error: self.lost.append(str(error)))
        # The loop wakes at least so often to look.
        self._ticks = QTimer(interval=TICK_MS)
        self._ticks.start()

    def wait(self, condition: Callable[[], bool], limit_s: float) -> bool:
        """Let the window live until something holds; return whether it did in time."""
        end = time.monotonic() + limit_s
        while not condition():
            if time.monotonic() > end:
                return False
            self._app.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        return True

    @property
    def is_at_rest(self) -> bool:
        """Whether a host is up, nothing is awaited and no work is reported to go on."""
        state = self.haloscope.state
        return state.is_ready and not state.running and not state.busy and not self.client.unanswered()

    @property
    def shows_the_job(self) -> bool:
        """Whether the result that is shown is that of the settings as they are."""
        haloscope = self.haloscope
        return (
            self.is_at_rest
            and haloscope.state.last_result is not None
            and not haloscope.window.first_page.display.is_earlier
        )

    def show_mask(self, mask: Mask) -> None:
        """Edit the mask, which asks for a preview."""
        self.haloscope.window.first_page.workspace.set_mask(mask)

    def result_is_right(self) -> bool:
        """Whether what is shown equals the float64 oracle, which is exact for whole numbers."""
        job, result = self.haloscope.window.first_page.workspace.job(), self.haloscope.state.last_result
        if job is None or job.filter is None or result is None or result.values is None:
            return False
        step = job.filter
        expected = correlate(shared.attach(job.picture.pixels), step.mask, step.border, step.cval)
        return np.array_equal(shared.attach(result.values), expected.astype(np.float32))

    def describe(self) -> str:
        """Return what it says of itself, for a failed check."""
        state, message = self.haloscope.state, self.haloscope.messages.newest
        return (
            f"status {state.status!r}, running {state.running}, busy {state.busy} ({state.stage!r}), "
            f"{len(self.client.unanswered())} unanswered, message {message}"
        )

    def segments(self) -> list[str]:
        """Return the names of the segments of shared memory that its hosts have made and that exist."""
        return left_by(self.client.segment_prefix, 0)

    def close(self) -> None:
        """Close it as a person does."""
        self.haloscope.window.close()
        self.haloscope.link.shutdown()


def children() -> list[int]:
    """Return the living processes that this one has started, without Python's own tracker of resources."""
    tasks = Path("/proc/self/task").iterdir()
    found = {int(pid) for task in tasks for pid in (task / "children").read_text().split()}
    return sorted(found - {resource_tracker._resource_tracker._pid})


def open_files() -> int:
    """Return the number of files that this process has open."""
    return len(os.listdir("/proc/self/fd"))

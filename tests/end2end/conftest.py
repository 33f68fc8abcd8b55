"""The real window and the real engine's process, one of each per module: a start takes a second."""

import time
from contextlib import contextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer

from engine.host.client import EngineClient
from engine.host.protocol import OpenPicture
from gui.engine_link.engine_start import FirstPicture, StartedEngine
from gui.page.intents import Begin
from tests.gui.made_window import OpenedWindow

START_MS = 60_000
# Where Linux counts what this thread has waited for a core, ns.
SCHEDULED = Path("/proc/thread-self/schedstat")
# The bench measures 15 to 45 ms on 2 quiet cores; this only has to catch a window that waits for the engine.
LONGEST_GAP_MS = 250


def _at_work_ms():
    """Return what has passed, less what this thread has waited for a core: others may run beside."""
    waited_ns = int(SCHEDULED.read_text().split()[1]) if SCHEDULED.exists() else 0
    return time.perf_counter() * 1e3 - waited_ns / 1e6


@contextmanager
def smooth():
    """Fail if the window does not answer for long within this block."""
    gaps, last = [], [_at_work_ms()]

    def tick():
        now = _at_work_ms()
        gaps.append(now - last[0])
        last[0] = now

    timer = QTimer(timerType=Qt.TimerType.PreciseTimer, interval=5)
    timer.timeout.connect(tick)
    timer.start()
    yield
    timer.stop()
    tick()
    assert max(gaps) < LONGEST_GAP_MS


@pytest.fixture(scope="module")
def engine():
    """Return the engine that the module's window talks to; the window shuts it down."""
    return StartedEngine(EngineClient)


@pytest.fixture(scope="module")
def haloscope(qapp, engine):
    """Return a window that shows a sample and its first result."""
    haloscope = OpenedWindow(qapp, engine)
    request = OpenPicture(sample="camera")
    haloscope.window.offer(Begin(FirstPicture(request, engine.client.submit(request))))
    haloscope.window.resize(1280, 800)
    haloscope.window.show()
    yield haloscope
    haloscope.window.close()
    haloscope.link.shutdown()
    haloscope.window.deleteLater()


@pytest.fixture
def window(haloscope, qtbot):
    """Return the window when nothing is going on in it."""
    qtbot.waitUntil(lambda: haloscope.state.last_result is not None, timeout=START_MS)
    qtbot.waitUntil(lambda: not haloscope.state.busy, timeout=START_MS)
    haloscope.results.clear()
    return haloscope

"""The real window and the real engine's process, one of each per module: a start takes a second."""

import os
import signal
import time
from contextlib import contextmanager
from functools import partial

import pytest
from PySide6.QtCore import Qt, QTimer

from engine.host.client import EngineClient
from engine.host.protocol import OpenPicture
from gui.engine_link.engine_start import FirstPicture, StartedEngine
from gui.page.contract import Begin
from tests.gui.made_window import OpenedWindow

START_MS = 60_000
# The bench measures 15 to 45 ms on 2 quiet cores.
LONGEST_TURN_MS = 250


@contextmanager
def smooth():
    """Fail if the window computes for long in a turn of this block; yield the turns so far."""
    turns, last = [], [time.thread_time()]

    # The time of this thread's own work: others may run beside it.
    def tick():
        now = time.thread_time()
        turns.append((now - last[0]) * 1e3)
        last[0] = now

    timer = QTimer(timerType=Qt.TimerType.PreciseTimer, interval=5)
    timer.timeout.connect(tick)
    timer.start()
    yield turns
    timer.stop()
    tick()
    assert max(turns) < LONGEST_TURN_MS


@contextmanager
def standing_still(engine):
    """Let the engine's process stand still within this block: a window that waits for it never gets on."""
    pid = engine.client.host_pid
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


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
    # A run samples for 0.5 s, several of them for most of the time of a file.
    haloscope.runs._run_of = partial(haloscope.runs._run_of, budget_s=0.05)
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
    haloscope.results.take_out(haloscope.results.kept)
    return haloscope

"""The real window and the real engine's process, one of each per module: a start takes a second."""

import pytest

from engine.host.client import EngineClient
from engine.host.protocol import OpenPicture
from gui.engine_link.engine_start import FirstPicture, StartedEngine
from gui.page.intents import Begin
from tests.gui.made_window import OpenedWindow

START_MS = 60_000


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

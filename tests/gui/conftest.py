import pytest

from gui.engine_link.engine_start import StartedEngine
from gui.shell.app import Haloscope
from tests.gui.fake_engine import FakeEngineClient


@pytest.fixture
def open_window(qtbot, qapp):
    """Make the whole window around a fake engine, with a sample picture and its preview; returns Haloscope."""
    made = []

    def make(size=(1280, 800), theme="light", preferences_path=None, **options):
        engine = StartedEngine(lambda **callbacks: FakeEngineClient(**callbacks, **options))
        haloscope = Haloscope(qapp, engine, preferences_path, theme)
        made.append(haloscope)
        qtbot.addWidget(haloscope.window)
        haloscope.window.resize(*size)
        with qtbot.waitExposed(haloscope.window):
            haloscope.window.show()
        haloscope.finish()
        haloscope.pictures.open_sample("astronaut")
        qtbot.waitUntil(lambda: haloscope.state.last_result is not None)
        return haloscope

    yield make
    for haloscope in made:
        haloscope.window.close()
        haloscope.link.shutdown()

import pytest

from engine.host.protocol import Availability
from gui.engine_link.engine_state import SLOW_MS, EngineState
from tests.gui.fake_engine import READY


def test_that_it_knows_variants_and_devices_once_the_host_is_up(qtbot):
    state = EngineState()
    with qtbot.waitSignal(state.ready_changed):
        state.set_ready(READY)
    assert state.is_ready
    assert state.variant("tiled").title == "Tiled"
    assert state.variant("none") is None
    assert state.device("cuda:0").reason


def test_that_the_same_availability_again_is_no_change(qtbot):
    state = EngineState()
    state.set_availability((Availability("naive", "no"),))
    with qtbot.assertNotEmitted(state.availability_changed):
        state.set_availability((Availability("naive", "no"),))


def test_that_the_newest_task_is_shown_and_the_older_one_after_it(qapp):
    state = EngineState()
    state.set_task("run", "verifying", 0.2)
    state.set_task("open", "opening photo.png")
    assert state.stage == "opening photo.png"
    state.end_task("open")
    assert (state.stage, state.fraction) == ("verifying", 0.2)
    state.end_task("run")
    assert not state.busy
    assert state.stage == ""


@pytest.mark.slow
def test_that_progress_is_only_shown_after_half_a_second(qtbot):
    assert SLOW_MS == 500
    state = EngineState()
    state.set_task("run", "compiling")
    assert state.busy
    assert not state.slow
    qtbot.waitUntil(lambda: state.slow, timeout=5000)
    state.end_task("run")
    assert not state.slow
    # Short work is never shown as slow.
    state.set_task("preview", "filtering")
    state.end_task("preview")
    assert not state._slow_timer.isActive()


def test_that_unchanged_progress_emits_no_change(qtbot):
    state = EngineState()
    state.set_task("run", "sampling", 0.5)
    with qtbot.assertNotEmitted(state.progress_changed):
        state.set_task("run", "sampling", 0.5)
    with qtbot.waitSignal(state.progress_changed):
        state.set_task("run", "sampling", 0.6)

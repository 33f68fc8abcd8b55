import pytest

from gui.engine_link.engine_state import EngineState
from gui.page.contract import PageStatus
from gui.shell.status_line import StatusLine
from tests.gui.fake_engine import READY


@pytest.fixture
def parts(qtbot):
    state = EngineState()
    line = StatusLine(state)
    qtbot.addWidget(line)
    line.show()
    return line, state


def test_that_it_says_what_the_engine_is_and_the_device_of_the_page(parts):
    line, state = parts
    assert line._engine.text() == "Engine: starting"
    state.set_ready(READY)
    assert line._engine.text() == "Engine: CPU, 2 cores, ready"
    line.show_page(PageStatus(device="simulator"))
    assert line._engine.text() == "Engine: CUDA simulator, ready"
    state.set_status("lost: it crashed (SIGSEGV)")
    assert "SIGSEGV" in line._engine.text()


@pytest.mark.slow
def test_that_progress_is_shown_only_for_slow_work(parts, qtbot):
    line, state = parts
    state.set_task("run", "verifying", 0.25)
    assert not line._bar.isVisible()
    qtbot.waitUntil(line._bar.isVisible, timeout=5000)
    assert line._stage.text() == "verifying"
    assert line._bar.value() == 250
    state.end_task("run")
    assert not line._bar.isVisible()
    assert line._last.isVisible()


def test_that_a_long_reason_is_cut_with_an_ellipsis_and_whole_in_the_tooltip(parts):
    line, _ = parts
    line.resize(500, line.sizeHint().height())
    line.show_page(PageStatus("It failed. " * 40, "500× cpu-serial"))
    (shown,) = line._last._cut(line.last_run, 1)
    assert shown.endswith("…")
    assert line._last.fontMetrics().horizontalAdvance(shown) <= line._last.width()
    assert line._last.toolTip() == line.last_run
    assert line._figure.text() == "500× cpu-serial"
    assert line.width() == 500

"""The panel Why with the real engine, which bounds the time of a run on this processor."""

import pytest

from gui.explore.explain.why_state import Step

# The engine's process starts, and measures the limits of the processor for 2 s.
pytestmark = pytest.mark.slow


def test_that_a_run_on_this_processor_has_bounds_beside_its_time(window, qtbot):
    page = window.window.page_of("explore")
    page.bring_to_front("why")
    window.workspace.change(variant="cpu-parallel")
    window.actions["run"].trigger()
    qtbot.waitUntil(lambda: page.why.explained is not None, timeout=200_000)
    if page.why.step is Step.MEASURE:
        page.why.take_step()
    qtbot.waitUntil(lambda: page.why.words == "", timeout=200_000)
    (result,) = window.results.results()
    assert result.explained.measured_ms == result.kernel_ms
    assert result.explained.words

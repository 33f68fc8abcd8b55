"""The panel Roofline with the real engine, which measures the limits of this processor."""

import pytest

# The engine's process starts, and measures for 2 s.
pytestmark = pytest.mark.slow


def test_that_runs_stand_under_the_limits_of_this_processor(window, qtbot):
    page = window.window.page_of("explore")
    page.bring_to_front("roofline")
    window.workspace.change(variant="cpu-parallel")
    window.actions["run"].trigger()
    qtbot.waitUntil(lambda: page.roofline.points != (), timeout=200_000)
    qtbot.waitUntil(lambda: page.roofline.lacks_limits or page.roofline.roofs != (), timeout=200_000)
    if page.roofline.lacks_limits:
        page.roofline.measure(page.roofline.device)
    qtbot.waitUntil(lambda: page.roofline.roofs != (), timeout=200_000)
    (point,) = page.roofline.points
    assert point.roof == min(point.roof, page.roofline.roofs[-1].measured)
    # Limit and run are measured one after the other; others may run beside one of them.
    assert 0 < point.share < 4

"""The page Network: the window, the engine's process and everything between are real."""

from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication

from gui.network.layers import LayerCell
from tests.end2end.conftest import smooth, standing_still
from tests.gui.made_window import made

# Each starts processes: 1 s and more.
pytestmark = pytest.mark.slow

RUN_MS = 60_000
FIVE = [(20, 3), (9, 3), (8, 12), (14, 11), (19, 14), (19, 20), (14, 25), (8, 23)]


@pytest.fixture
def page(window, qtbot):
    """Return the page with its first digit recognised."""
    window.window.show_page("network")
    page = window.window.page
    qtbot.waitUntil(lambda: page.network.answer is not None, timeout=RUN_MS)
    return page


def point_of(canvas, column, row):
    side, field = canvas.cell_side, canvas._field()
    return QPoint(int(field.left() + column * side), int(field.top() + row * side))


def test_that_a_digit_drawn_with_the_mouse_is_told_while_the_window_stays_smooth(page, engine, qtbot):
    canvas, network = made(page, "drawing").canvas, page.network
    left = Qt.MouseButton.LeftButton
    with smooth():
        with standing_still(engine):
            qtbot.mousePress(canvas, left, pos=point_of(canvas, *FIVE[0]))
            for (from_x, from_y), (to_x, to_y) in pairwise(FIVE):
                for part in np.linspace(0.0, 1.0, 12):
                    point = point_of(canvas, from_x + (to_x - from_x) * part, from_y + (to_y - from_y) * part)
                    qtbot.mouseMove(canvas, point)
                    QApplication.processEvents()
            qtbot.mouseRelease(canvas, left, pos=point_of(canvas, *FIVE[-1]))
        ink = network.drawing.ink.tobytes()
        qtbot.waitUntil(lambda: page.is_complete, timeout=RUN_MS)
    assert network.drawing.ink.tobytes() == ink
    assert network.answer.digit == 5
    assert network.answer.probabilities[5] > 0.5


def test_that_the_shown_parts_of_a_value_are_those_that_the_engine_added(page):
    network = page.network
    for cell in (
        LayerCell(0, 8, 10, 12),
        LayerCell(1, 8, 5, 6),
        LayerCell(2, 9, 3, 4),
        LayerCell(4, column=7),
        LayerCell(5, column=7),
    ):
        network.point(cell, keep=True)
        parts = network.all_origins()
        total = sum(one.adds for one in parts)
        expected = total if cell.layer == 5 else max(total, 0.0)
        # 1,024 products at most, each rounded a few times.
        scale = sum(float(np.abs(one.values * one.weights).sum()) if one.weights is not None else
                    float(one.values.mean()) for one in parts)  # fmt: skip
        assert network.value_of(cell) == pytest.approx(expected, abs=2.0**-23 * 1024 * scale)
    network.release_cell()


def test_that_run_proves_a_stage_whose_layers_it_times(page, window, qtbot):
    page.network.change(stage="network-cpu", batch=10, device="cpu")
    qtbot.waitUntil(lambda: bool(page.network.results()), timeout=RUN_MS)
    with qtbot.waitSignal(window.jobs.finished, timeout=RUN_MS):
        window.actions["run"].trigger()
    run = page.network.runs["network-cpu", None]
    assert run.result.is_proven
    assert run.layers[0].name == "convolution-1 + pool-1"

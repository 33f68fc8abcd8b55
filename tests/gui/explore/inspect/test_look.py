"""The panel Look: histograms with what is clipped, a profile along a line, the pixels at the mouse."""

import numpy as np
import pytest
from PySide6.QtCore import Qt

from engine.host import shared
from engine.verify.verification import Region
from gui.explore.inspect.histogram_plot import HistogramPlot
from gui.explore.inspect.look_panel import HISTOGRAM, PROFILE
from gui.explore.picture.layers import Drawing, Line
from tests.gui.made_window import made


@pytest.fixture
def look(haloscope, qtbot):
    """The state of the panel, which is in front and has counted."""
    page = haloscope.window.first_page
    haloscope.actions["region_measure"].trigger()
    qtbot.waitUntil(lambda: page.look.numbers is not None)
    return page.look


def test_that_a_region_is_counted_alone_and_a_profile_has_the_values_along_its_line(look, haloscope, qtbot):
    rows, columns, _ = haloscope.workspace.picture.pixels.shape
    assert [one.total for one in look.numbers.before] == [rows * columns] * 3
    haloscope.workspace.select(Region(4, 11, 5, 13))
    qtbot.waitUntil(lambda: look.numbers.before[0].total == 7 * 8)
    values = haloscope.window.first_page.picture_view.values
    part = values.original[4:11, 5:13, 0].astype(np.float64)
    assert look.numbers.before[0].mean == pytest.approx(float(part.mean()), rel=1e-12)
    page = haloscope.window.first_page
    qtbot.waitUntil(lambda: page.is_settled)
    haloscope.workspace.select(Region(4, 11, 5, 14))
    assert not page.is_settled
    qtbot.waitUntil(lambda: page.is_settled)
    assert look.numbers.before[0].total == 7 * 9
    look.choose(PROFILE)
    look._take_line(Line((2, 3), (2, 9)))
    values = haloscope.window.first_page.picture_view.values
    assert (look.profile.original == values.original[2, 3:10]).all()
    canvas = haloscope.window.first_page.picture_view.canvas
    assert canvas.drawing is Drawing.LINE
    look.choose(HISTOGRAM)
    assert canvas.drawing is Drawing.PAN


def test_that_handles_and_percentiles_choose_a_window_that_a_session_keeps(look, haloscope, qtbot, tmp_path):
    files, (original, result) = haloscope.window.first_page.files, look.windows
    original.choose((20.0, 90.0))
    qtbot.waitUntil(lambda: original.screen is not None)
    files.save_session(tmp_path / "work.haloscope")
    qtbot.waitUntil((tmp_path / "work.haloscope").exists)
    original.choose(None)
    files.open_session(tmp_path / "work.haloscope")
    qtbot.waitUntil(lambda: original.screen is not None)
    assert (original.ends, result.ends) == ((20.0, 90.0), None)
    page, (original, result) = haloscope.window.first_page, look.windows
    view = page.picture_view
    before = view.values.original[5, 6].tolist()
    panel = made(page, "look")
    panel.before.window_moved.emit((20.0, 90.0))
    result.choose_percentiles()
    qtbot.waitUntil(lambda: original.screen is not None and result.screen is not None)
    assert original.ends == (20.0, 90.0)
    assert result.ends[0] < result.ends[1]
    painted = shared.attach(original.screen.levels[0])
    assert painted[5, 6, 2::-1].tolist() == np.rint((np.clip(before, 20, 90) - 20) / 70 * 255).tolist()
    assert view.values.original[5, 6].tolist() == before
    # The result of another job has the same window; another picture has none.
    shown = result.screen
    haloscope.workspace.change(flip=True)
    qtbot.waitUntil(lambda: result.screen not in (None, shown))
    haloscope.pictures.open_sample("camera")
    qtbot.waitUntil(lambda: haloscope.workspace.picture.title != "astronaut")
    assert (original.ends, original.screen, result.ends) == (None, None, None)


def test_that_the_bracket_keys_move_the_handles(qtbot):
    plot = HistogramPlot()
    qtbot.addWidget(plot)
    plot.show_counts(((1, 2, 3, 4),), (0.0, 400.0))
    plot.show_window((0.0, 400.0))
    moved = []
    plot.window_moved.connect(lambda ends: (moved.append(ends), plot.show_window(ends)))
    for key in (Qt.Key.Key_Home, Qt.Key.Key_Right, Qt.Key.Key_BracketLeft, Qt.Key.Key_BracketRight):
        qtbot.keyClick(plot, key)
    assert moved == [(100.0, 400.0), (100.0, 200.0)]

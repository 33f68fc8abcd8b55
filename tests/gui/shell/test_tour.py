import pytest
from PySide6.QtCore import Qt

from gui.shell.tour import STEPS


@pytest.fixture
def haloscope(window_of_file):
    return window_of_file


@pytest.fixture
def tour(haloscope):
    """The tour over the window."""
    haloscope.window.activateWindow()
    haloscope.actions["tour"].trigger()
    yield haloscope.dialogs.tour
    if haloscope.dialogs.tour is not None:
        haloscope.dialogs.tour.close()


def test_that_each_step_points_at_a_part_that_is_seen(tour):
    for number, step in enumerate(STEPS):
        tour.show_step(number)
        assert (tour._target() is not None) == bool(step.target), step


def test_that_a_card_never_leaves_the_window(tour, haloscope):
    for number in range(len(STEPS)):
        tour.show_step(number)
        assert haloscope.window.rect().contains(tour.geometry())


def test_that_escape_ends_the_tour_wherever_the_focus_is(tour, haloscope, qtbot):
    field = haloscope.window.page.mask_panel.grid
    field.setFocus()
    qtbot.keyClick(field, Qt.Key.Key_Escape)
    assert haloscope.dialogs.tour is None


def test_that_the_window_works_during_the_tour(tour, haloscope, qtbot):
    haloscope.actions["run"].trigger()
    qtbot.waitUntil(lambda: haloscope.results.rowCount() == 1)
    assert tour.isVisible()


def test_that_the_last_step_ends_it(tour, haloscope):
    tour.show_step(len(STEPS) - 1)
    tour._next.click()
    assert haloscope.dialogs.tour is None


def test_that_only_a_first_start_is_one(open_window, tmp_path):
    path = tmp_path / "preferences.json"
    first = open_window(preferences_path=path)
    assert first.preferences.is_first_start
    first.begin_tour()
    first.dialogs.tour.close()
    assert not open_window(preferences_path=path).preferences.is_first_start

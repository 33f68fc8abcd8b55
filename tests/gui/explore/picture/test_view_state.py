import pytest

from gui.explore.picture.view_state import ViewState
from gui.explore.picture.view_transform import Size


@pytest.fixture
def view():
    state = ViewState()
    state.set_pane_size(Size(400, 300))
    state.set_picture_size(Size(800, 600))
    return state


def test_that_a_picture_of_another_size_is_fitted_and_one_of_the_same_size_stays(view):
    assert view.transform.zoom == 0.5
    view.zoom_to(3.0, 10, 20)
    before = view.transform
    view.set_picture_size(Size(800, 600))
    assert view.transform == before
    view.set_picture_size(Size(801, 600))
    assert view.is_fitted


def test_that_a_fitted_picture_follows_the_pane_and_a_zoomed_one_keeps_its_middle(view):
    view.set_pane_size(Size(800, 600))
    assert view.transform.zoom == 1.0
    view.zoom_to(2.0, 120, 80)
    middle = view.transform.to_picture(400, 300)
    view.set_pane_size(Size(1000, 800))
    assert view.transform.to_picture(500, 400) == middle


@pytest.mark.parametrize("at", [(0, 0), (399, 299), (37, 205)])
def test_that_zooming_in_keeps_the_pixel_under_the_cursor(view, at):
    pixel = view.transform.to_picture(*at)
    for _ in range(6):
        view.zoom_by(1, *at)
        assert view.transform.to_picture(*at) == pytest.approx(pixel, abs=1e-9)


def test_that_actual_size_is_100_percent(view):
    view.show_actual()
    assert view.transform.zoom == 1.0
    assert not view.is_fitted


def test_that_the_first_and_the_last_pixel_are_there_and_beside_them_is_none(view):
    x, y = view.transform.to_pane(0, 0)
    assert view.pixel_at(x, y) == (0, 0)
    assert view.pixel_at(x - 0.01, y) is None
    view.zoom_to(1.0, 0, 0)
    view.pan(-10_000, -10_000)
    x, y = view.transform.to_pane(799.5, 599.5)
    assert view.pixel_at(x, y) == (599, 799)
    assert view.pixel_at(x + 1, y) is view.pixel_at(x, y + 1) is None

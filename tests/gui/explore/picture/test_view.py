import pytest

from gui.explore.picture.view import (
    LARGEST_ZOOM,
    SMALLEST_ZOOM,
    Size,
    ViewState,
    ViewTransform,
    centred,
    fitted,
    next_zoom,
)

PANE = Size(640, 480)


@pytest.mark.parametrize("zoom", [0.1, 0.5, 1.0, 3.0, 100.0])
def test_that_zooming_keeps_the_place_under_the_cursor(zoom):
    before = ViewTransform(0.7, -31.0, 12.5)
    after = before.zoomed(zoom, 201.0, 99.0)
    place = before.to_picture(201.0, 99.0)
    assert after.to_picture(201.0, 99.0) == pytest.approx(place, abs=1e-9)
    assert after.to_pane(*place) == pytest.approx((201.0, 99.0), abs=1e-9)
    assert after.zoom == zoom


def test_that_a_fitted_picture_lies_whole_in_the_middle_on_whole_pixels_and_a_small_one_grows_by_a_factor():
    assert fitted(PANE, Size(1280, 400)) == ViewTransform(0.5, 0, 140)
    assert fitted(PANE, Size(100, 100)).zoom == 4.0
    for picture in (Size(1, 1), Size(100_000, 2)):
        assert SMALLEST_ZOOM <= fitted(PANE, picture).zoom <= LARGEST_ZOOM
    actual = centred(1.0, PANE, Size(333, 221))
    assert (actual.left, actual.top) == (round(actual.left), round(actual.top))


def test_that_steps_end_on_stops_two_double_the_zoom_and_part_of_a_step_is_part_of_the_way():
    for start in (0.013, 0.37, 1.0, 1.9):
        inside = next_zoom(start, 1)
        assert inside > start
        assert next_zoom(next_zoom(inside, 1), -1) == pytest.approx(inside, rel=1e-12)
    assert [next_zoom(1.0, 2), next_zoom(1.0, -2)] == [2.0, 0.5]
    assert 1.0 < next_zoom(1.0, 0.25) < next_zoom(1.0, 1)


def test_that_the_picture_cannot_leave_the_middle_of_the_pane():
    lost = ViewTransform(1.0, 5000.0, -5000.0).kept_in(PANE, Size(100, 100))
    column, row = lost.to_picture(320, 240)
    assert 0 <= column <= 100
    assert 0 <= row <= 100


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


def test_that_the_first_and_the_last_pixel_are_there_and_beside_them_is_none(view):
    x, y = view.transform.to_pane(0, 0)
    assert view.pixel_at(x, y) == (0, 0)
    assert view.pixel_at(x - 0.01, y) is None
    view.show_actual()
    assert (view.transform.zoom, view.is_fitted) == (1.0, False)
    view.pan(-10_000, -10_000)
    x, y = view.transform.to_pane(799.5, 599.5)
    assert view.pixel_at(x, y) == (599, 799)
    assert view.pixel_at(x + 1, y) is view.pixel_at(x, y + 1) is None

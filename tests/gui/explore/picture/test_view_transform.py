import pytest

from gui.explore.picture.view_transform import (
    LARGEST_ZOOM,
    SMALLEST_ZOOM,
    Size,
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


def test_that_a_fitted_picture_lies_whole_in_the_middle_and_a_small_one_grows_by_a_whole_factor():
    assert fitted(PANE, Size(1280, 400)) == ViewTransform(0.5, 0, 140)
    assert fitted(PANE, Size(100, 100)).zoom == 4.0
    for picture in (Size(1, 1), Size(100_000, 2)):
        assert SMALLEST_ZOOM <= fitted(PANE, picture).zoom <= LARGEST_ZOOM


def test_that_at_100_percent_pixels_fall_on_pixels():
    transform = centred(1.0, PANE, Size(333, 221))
    assert (transform.left, transform.top) == (round(transform.left), round(transform.top))


@pytest.mark.parametrize("start", [0.013, 0.37, 1.0, 1.9])
def test_that_a_step_in_and_a_step_out_end_on_stops(start):
    inside = next_zoom(start, 1)
    assert inside > start
    assert next_zoom(next_zoom(inside, 1), -1) == pytest.approx(inside, rel=1e-12)


def test_that_two_steps_double_the_zoom_and_part_of_a_step_is_part_of_the_way():
    assert [next_zoom(1.0, 2), next_zoom(1.0, -2)] == [2.0, 0.5]
    assert 1.0 < next_zoom(1.0, 0.25) < next_zoom(1.0, 1)


def test_that_the_picture_cannot_leave_the_middle_of_the_pane():
    lost = ViewTransform(1.0, 5000.0, -5000.0).kept_in(PANE, Size(100, 100))
    column, row = lost.to_picture(320, 240)
    assert 0 <= column <= 100
    assert 0 <= row <= 100

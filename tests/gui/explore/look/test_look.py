"""The panel Look: histograms with what is clipped, a profile along a line, the pixels at the mouse."""

import numpy as np
import pytest

from engine.verify.regions import Region
from gui.explore.look.look_state import HISTOGRAM, PIXELS, PROFILE
from gui.explore.picture.drawn import Drawing, Line
from gui.explore.picture.pixel_values import PixelValues


@pytest.fixture
def look(haloscope, qtbot):
    """The state of the panel, which is in front and has counted."""
    page = haloscope.window.first_page
    haloscope.actions["region_measure"].trigger()
    qtbot.waitUntil(lambda: page.look.numbers is not None)
    return page.look


def test_that_every_sample_of_the_picture_is_counted(look, haloscope):
    rows, columns, _ = haloscope.workspace.picture.pixels.shape
    assert [one.total for one in look.numbers.before] == [rows * columns] * 3


def test_that_a_region_is_measured_alone(look, haloscope, qtbot):
    haloscope.workspace.select(Region(4, 11, 5, 13))
    qtbot.waitUntil(lambda: look.numbers.before[0].total == 7 * 8)
    values = haloscope.window.first_page.picture_view.values
    assert isinstance(values, PixelValues)
    part = values.original[4:11, 5:13, 0].astype(np.float64)
    assert look.numbers.before[0].mean == pytest.approx(float(part.mean()), rel=1e-12)


def test_that_the_page_is_not_at_rest_until_what_is_looked_at_is_counted(look, haloscope, qtbot):
    page = haloscope.window.first_page
    qtbot.waitUntil(lambda: page.is_settled)
    haloscope.workspace.select(Region(4, 11, 5, 13))
    assert not page.is_settled
    qtbot.waitUntil(lambda: page.is_settled)
    assert look.numbers.before[0].total == 7 * 8


def test_that_a_profile_has_the_values_along_the_line(look, haloscope):
    look.choose(PROFILE)
    look._take_line(Line((2, 3), (2, 9)))
    values = haloscope.window.first_page.picture_view.values
    assert isinstance(values, PixelValues)
    assert (look.profile.original == values.original[2, 3:10]).all()


def test_that_dragging_draws_a_line_only_while_the_profile_is_shown(look, haloscope):
    canvas = haloscope.window.first_page.picture_view.canvas
    look.choose(PROFILE)
    assert canvas.drawing is Drawing.LINE
    look.choose(HISTOGRAM)
    assert canvas.drawing is Drawing.PAN


def test_that_pixels_beside_the_picture_are_marked(look):
    look.choose(PIXELS)
    look._point((0, 0))
    assert look.pixels.outside[0, 0]
    assert not look.pixels.outside[3, 3]

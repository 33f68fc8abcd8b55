"""The lens: it follows the mouse, is pinned, walks, lets go, and frames what it looks at."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt

from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.work.filtering.sum_order import SumOrder, by_rows
from gui.explore.inspect.lens import FilterLens
from tests.gui.made_results import handle_of
from tests.picture_jobs import mask_job

SOBEL = Mask([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])


@pytest.fixture
def look(share):
    """Return a function that looks at a pixel of an 8-bit picture of 4 x 5 pixels, filtered on the CPU."""
    pixels = (np.arange(20).reshape(4, 5, 1) * 11 % 256).astype(np.uint8)

    def at(pixel, value, mask=SOBEL, order=None, border=Border.ZERO):
        result = np.full(pixels.shape, np.float32(value))
        job = mask_job(picture=handle_of(pixels, share), mask=mask, border=border, variant="cpu-serial")
        return FilterLens(job, order or by_rows(mask.columns, is_fused=False), pixel, pixels, result)

    return at


@pytest.fixture
def page(haloscope, qtbot):
    """The page with the panel Lens in front."""
    page = haloscope.window.first_page
    haloscope.actions["lens"].trigger()
    qtbot.waitUntil(lambda: page.lens.is_visible)
    return page


def place_of(page, row, column):
    x, y = page.picture_view.canvas.view.transform.to_pane(column + 0.5, row + 0.5)
    return QPoint(round(x), round(y))


def pin(page, qtbot, row=5, column=7):
    qtbot.mouseClick(page.picture_view.canvas, Qt.MouseButton.LeftButton, pos=place_of(page, row, column))
    qtbot.waitUntil(lambda: page.lens.seen is not None and page.lens.seen.pixel == (row, column))


def test_that_only_a_sum_that_is_the_result_is_said_to_be_it_exactly(look):
    assert look((1, 2), 88.0).verdict == "exactly the result shown"
    assert look((1, 2), 89.0).verdict == "not the result shown"
    words = look((1, 2), 88.0, order=SumOrder("It transforms.")).words(0)
    assert words.startswith("It transforms. It differs from the float64 sum by 0; the bound is ")


def test_that_the_lens_follows_the_mouse_until_a_click_pins_a_pixel_from_which_arrow_keys_walk(page, qtbot):
    qtbot.mouseMove(page.picture_view.canvas, place_of(page, 3, 4))
    page.picture_view.canvas.pixel_hovered.emit((3, 4))
    qtbot.waitUntil(lambda: page.lens.seen is not None and page.lens.seen.pixel == (3, 4))
    canvas = page.picture_view.canvas
    pin(page, qtbot)
    window, pixel = canvas._frames
    assert (window.row, window.column, window.height, pixel.row) == (4, 6, 3, 5)
    canvas.pixel_hovered.emit((1, 1))
    assert page.lens.pixel == (5, 7)
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: page.lens.seen.pixel == (5, 8))
    page.bring_to_front("mask")
    qtbot.waitUntil(lambda: canvas._frames == (None, None))
    qtbot.keyClick(canvas, Qt.Key.Key_Escape)
    assert not page.lens.is_pinned


def test_that_a_preset_under_a_pinned_lens_is_looked_at_anew(page, haloscope, qtbot):
    pin(page, qtbot)
    haloscope.workspace.set_mask(preset("gaussian-5"))
    qtbot.waitUntil(lambda: page.lens.seen is not None and page.lens.seen.job.mask.rows == 5)

"""The result of a large picture in memory, of which no values are kept: all that is read of it is its own.

Answered by the engine in this process.
"""

import numpy as np
import pytest
from PIL import Image

import engine
from engine.host import shared, shared_picture
from engine.host.protocol import MeasurePicture, WantedTiles
from engine.host.request import Computed, answer
from engine.host.shared_picture import level_shapes, render
from engine.mask.presets import preset
from engine.verify.verification import Region
from gui.explore.inspect.look_panel import HISTOGRAM, PROFILE
from gui.explore.picture.layers import Line, ViewMode
from tests.gui.made_window import wait

ROWS, COLUMNS = 300, 530


@pytest.fixture
def pixels():
    return np.random.default_rng(6).integers(0, 255, (ROWS, COLUMNS, 3), np.uint8)


@pytest.fixture
def opened(haloscope, pixels, tmp_path, qtbot, monkeypatch):
    """The window with a picture that counts as large, and its result."""
    monkeypatch.setattr(shared_picture, "FULL_SIZE_BYTES", 0)
    Image.fromarray(pixels).save(tmp_path / "large.bmp")
    haloscope.workspace.set_mask(preset("sobel-x"))
    haloscope.pictures.open_path(tmp_path / "large.bmp")
    wait(qtbot, lambda: isinstance(getattr(haloscope.state.last_result, "values", None), Computed))
    return haloscope


@pytest.fixture
def page(opened):
    return opened.window.page_of("explore")


@pytest.fixture
def whole(opened, pixels):
    """The whole result, by the same kernel."""
    return engine.correlate(pixels, preset("sobel-x"), variant=opened.state.last_result.variant)


def test_that_the_lens_ends_in_the_value_of_the_whole_result(opened, page, whole, qtbot):
    opened.actions["lens"].trigger()
    wait(qtbot, lambda: page.lens.is_visible)
    for pixel in ((0, 0), (157, 300), (ROWS - 1, COLUMNS - 1)):
        page.lens.point(pixel)
        wait(qtbot, lambda pixel=pixel: page.lens.seen is not None and page.lens.seen.pixel == pixel)
        assert page.lens.seen.is_equal
        np.testing.assert_array_equal(page.lens.seen.shown, whole[pixel])


def test_that_the_numbers_under_the_cursor_are_those_of_the_result(page, whole, qtbot):
    page.picture_view.canvas.pixel_hovered.emit((201, 77))
    wanted = f"{whole[201, 77, 2]:#.4g}".replace("-", "−")
    wait(qtbot, lambda: page.picture_view.readout.words.endswith(wanted))


def test_that_a_profile_has_the_values_of_the_whole_result(opened, page, pixels, whole, qtbot):
    opened.actions["region_measure"].trigger()
    page.look.choose(PROFILE)
    page.look._take_line(Line((20, 0), (20, COLUMNS - 1)))
    wait(qtbot, lambda: page.look.profile is not None)
    np.testing.assert_array_equal(page.look.profile.original, pixels[20])
    np.testing.assert_array_equal(page.look.profile.result, whole[20])


def test_that_the_histogram_is_that_of_the_whole_result(opened, page, whole, qtbot):
    page.look.choose(HISTOGRAM)
    opened.actions["region_measure"].trigger()
    wait(qtbot, lambda: page.look.numbers is not None and bool(page.look.numbers.after))
    (kept,) = shared.create((whole.shape, "float32"))
    shared.attach(kept)[...] = whole
    wanted = answer(MeasurePicture(opened.workspace.picture, kept), lambda step: None)
    shared.unlink(kept.name)
    assert page.look.numbers == wanted


def test_that_an_edit_stops_the_count_that_its_preview_would_wait_for(opened, page, qtbot):
    opened.actions["region_measure"].trigger()
    wait(qtbot, lambda: page.look.numbers is not None)
    fake = opened.link._client
    fake.automatic = False
    opened.workspace.select(Region(4, 90, 5, 80))
    wait(qtbot, lambda: any(isinstance(one.request, MeasurePicture) for one in fake.asked))
    opened.workspace.set_mask(preset("sharpen"))
    assert [type(request) for request in fake.cancelled] == [MeasurePicture]
    fake.automatic = True


def test_that_difference_and_error_are_shown(page, qtbot):
    for mode in (ViewMode.DIFFERENCE, ViewMode.ERROR):
        page.picture_view.set_mode(mode)
        word = mode.value
        wait(qtbot, lambda word=word: page.picture_view.comparison.words.startswith(word))
        assert page.picture_view.comparison.screen is not None


def test_that_full_size_is_asked_for_where_it_is_seen_and_is_the_result(opened, page, whole, qtbot):
    view = page.picture_view
    seen = opened.link._client.seen
    view.canvas.view.fit()
    wait(qtbot, lambda: view.is_settled)
    view.canvas.view.zoom_to(4.0, 10, 10)
    wait(qtbot, lambda: view._result.is_complete)
    asked = [request for request in seen if isinstance(request, WantedTiles) and request.job is not None]
    assert {request.level for request in asked} == {0}
    shown = np.empty(level_shapes(ROWS, COLUMNS)[0], np.uint8)
    render(whole, [shown], 255.0)
    for (_, place), kept in view._result._kept.items():
        rows, columns = view._result._screen.extent(0, place)
        pixels = np.frombuffer(kept.image.constBits(), np.uint8).reshape(shown[rows, columns].shape)
        np.testing.assert_array_equal(pixels, shown[rows, columns])


def test_that_the_memory_of_a_result_is_given_back_with_the_next_one(opened, page, qtbot):
    for name in ("sharpen", "gaussian-5", "identity"):
        old = opened.state.last_result
        opened.workspace.set_mask(preset(name))
        wait(qtbot, lambda old=old: opened.state.last_result is not old)
        assert old.screen.coarse[0].name in opened.link._client.released
    assert opened.workspace.picture.pixels.name not in opened.link._client.released

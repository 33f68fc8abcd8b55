from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent

from engine.host.protocol import Filtered
from engine.mask.mask import Mask
from gui.engine_link.engine_state import EngineState
from gui.explore.explore_actions import ExploreActions
from gui.explore.picture.layers import ViewMode
from gui.explore.picture.picture_view import PictureView
from gui.explore.workspace import Workspace
from gui.page.actions import Actions
from tests.gui.made_results import filtered_of, handle_of
from tests.gui.made_window import place_of


@pytest.fixture
def workspace():
    return Workspace(Mask([[1.0]]))


@pytest.fixture
def engine_state():
    return EngineState()


@pytest.fixture
def view(show_widget, workspace, engine_state, bench):
    services = replace(bench.services, actions=Actions(), state=engine_state)
    ExploreActions(services.actions, workspace, engine_state)
    return show_widget(PictureView(workspace, services, bench.messages.everywhere), 640, 480)


@pytest.fixture
def shown(view, workspace, engine_state, share):
    """The view with a black 21 x 33 picture and its white result."""
    workspace.set_picture(handle_of(np.zeros((21, 33, 3), np.uint8), share))
    engine_state.filtered.emit(filtered_of(np.full((21, 33, 3), 255.0), share))
    return view


def colour_at(view, row, column):
    return view.canvas.grab().toImage().pixelColor(place_of(view.canvas, row, column)).name()


def test_that_original_is_left_and_result_right_of_the_handle_or_both_side_by_side(shown, qtbot):
    shown.canvas.handle.set_fraction(0.5)
    assert colour_at(shown, 10, 5) == "#000000"
    assert colour_at(shown, 10, 28) == "#ffffff"
    shown.canvas.handle.set_fraction(0.0)
    assert colour_at(shown, 10, 5) == "#ffffff"
    for mode, colour in ((ViewMode.ORIGINAL, "#000000"), (ViewMode.RESULT, "#ffffff")):
        shown.set_mode(mode)
        assert not shown.canvas.handle.isVisible()
        assert colour_at(shown, 10, 5) == colour_at(shown, 10, 28) == colour
    shown.set_mode(ViewMode.SIDE_BY_SIDE)
    left = place_of(shown.canvas, 3, 4)
    right = left + QPoint(shown.canvas.width() - (shown.canvas.width() - 2) // 2, 0)
    for point in (left, right):
        with qtbot.waitSignal(shown.canvas.pixel_hovered, check_params_cb=lambda pixel: pixel == (3, 4)):
            qtbot.mouseMove(shown.canvas, point)


def test_that_the_line_tells_the_numbers_under_the_cursor(qtbot, view, workspace, engine_state, share):
    pixels = np.arange(21 * 33 * 3).reshape(21, 33, 3).astype(np.uint16)
    result = pixels.astype(np.float32) + 0.5
    result[20, 32, 0] = np.nan
    workspace.set_picture(handle_of(pixels, share))
    engine_state.filtered.emit(filtered_of(result, share))
    height = view.readout.height()
    for pixel in ((0, 0), (20, 32), (7, 11)):
        qtbot.mouseMove(view.canvas, place_of(view.canvas, *pixel))
        assert view.readout.height() == height
        words = view.readout.words.split()
        assert words[:4] == ["row", str(pixel[0]), "col", str(pixel[1])]
        assert words[5:8] == [str(value) for value in pixels[pixel]]
        read = [float(word) for word in words[9:12]]
        written = [f"{value:.1f}" if value >= 1000 else f"{value:.4g}" for value in result[pixel]]
        np.testing.assert_array_equal(np.float32(read), np.float32(written))


def test_that_the_wheel_zooms_around_the_cursor_and_dragging_and_arrow_keys_move_the_picture(shown, qtbot):
    point = place_of(shown.canvas, 6, 9)
    before = shown.canvas.view.transform
    buttons, keys = Qt.MouseButton.NoButton, Qt.KeyboardModifier.NoModifier
    phase, at = Qt.ScrollPhase.NoScrollPhase, QPointF(point)
    shown.canvas.wheelEvent(QWheelEvent(at, at, QPoint(), QPoint(0, 120), buttons, keys, phase, False))
    after = shown.canvas.view.transform
    assert after.zoom > before.zoom
    assert shown.canvas.view.pixel_at(point.x(), point.y()) == (6, 9)
    shown.canvas.view.show_actual()
    assert shown.toolbar.zoom_text.text() == "100 %"
    qtbot.keyClick(shown.canvas, Qt.Key.Key_Plus)
    shown.canvas.view.zoom_by(1)
    assert shown.toolbar.zoom_text.text() == "200 %"
    shown.canvas.view.zoom_by(-1)
    qtbot.keyClick(shown.canvas, Qt.Key.Key_Minus)
    assert shown.toolbar.zoom_text.text() == "100 %"
    shown.canvas.view.fit()
    assert shown.canvas.view.is_fitted
    shown.canvas.view.zoom_to(100.0, 320, 200)

    def moved(do):
        before = shown.canvas.view.transform
        do()
        after = shown.canvas.view.transform
        return after.left - before.left, after.top - before.top

    def drag():
        qtbot.mousePress(shown.canvas, Qt.MouseButton.LeftButton, pos=QPoint(100, 100))
        qtbot.mouseMove(shown.canvas, QPoint(110, 95))
        qtbot.mouseRelease(shown.canvas, Qt.MouseButton.LeftButton)

    assert moved(drag) == pytest.approx((10, -5), abs=1e-9)
    for key, way in (("Left", (64, 0)), ("Right", (-64, 0)), ("Up", (0, 64)), ("Down", (0, -64))):
        press = partial(qtbot.keyClick, shown.canvas, Qt.Key[f"Key_{key}"])
        assert moved(press) == pytest.approx(way, abs=1e-9), key


def test_that_a_new_result_keeps_the_place_and_a_cursor_survives_another_picture(
    shown, workspace, engine_state, share, qtbot, qapp
):
    before = shown.canvas.view.transform
    engine_state.filtered.emit(filtered_of(np.full((21, 33, 3), 255.0), share))
    assert shown.canvas.view.transform == before
    engine_state.filtered.emit(Filtered(None, None, "naive", "cuda:0", 0.0))
    assert colour_at(shown, 10, 28) == "#ffffff"
    engine_state.filtered.emit(filtered_of(np.zeros((5, 5, 3)), share))
    assert colour_at(shown, 10, 28) == "#ffffff"
    # A new picture waits for its own result.
    workspace.set_picture(handle_of(np.full((21, 33, 3), 9, np.uint8), share))
    assert colour_at(shown, 10, 28) == "#090909"
    qtbot.mouseMove(shown.canvas, place_of(shown.canvas, 3, 3))
    workspace.set_picture(handle_of(np.zeros((2, 3, 1), np.uint8), share))
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    shown.canvas.pixel_hovered.emit((1, 2))
    assert shown.readout.words.split() == ["row", "1", "col", "2", "original", "0", "result", "–"]


def test_that_an_earlier_result_is_called_so_and_the_range_mode_is_a_setting_unless_the_kernel_has_clipped(
    shown, engine_state, workspace
):
    shown.canvas.pixel_hovered.emit((10, 5))
    before = shown.canvas.grab().toImage()
    engine_state.set_result_earlier(True)
    assert "earlier result 255" in shown.readout.words
    assert "earlier result 255" in shown.readout.accessibleDescription()
    assert "earlier result" in shown.canvas.accessibleDescription()
    assert shown.canvas.grab().toImage() != before
    engine_state.set_result_earlier(False)
    assert "earlier" not in shown.readout.words
    assert shown.canvas.grab().toImage() == before
    shown.set_mode(ViewMode.ORIGINAL)
    for zoom, is_written in ((40.0, False), (60.0, True)):
        shown.canvas.view.zoom_to(zoom, 320, 200)
        image = shown.canvas.grab().toImage()
        # Bright, around the middle of a black picture.
        middle = [image.pixelColor(x, y).lightness() for x in range(280, 360) for y in range(160, 240)]
        assert (max(middle) > 200) == is_written
    box = shown.toolbar.range_box
    box.setCurrentIndex(1)
    box.activated.emit(1)
    assert workspace.settings.range_mode == "absolute"
    workspace.change(result_type="same")
    assert box.currentData() == "clip"
    assert not box.isEnabled()
    assert "clipped already" in box.toolTip()
    workspace.change(range_mode="rescale", result_type="float32")
    assert box.currentData() == "rescale"
    assert box.isEnabled()

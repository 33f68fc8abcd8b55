"""The parts of the canvas: what is seen of a picture, its levels, the split handle, the numbers."""

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRectF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QWidget

from engine.host.protocol import DisplayScale, ScreenLevels
from gui.explore.picture import levels as full_size
from gui.explore.picture.canvas import WIDTH, SplitHandle
from gui.explore.picture.levels import PictureLevels
from gui.explore.picture.tiled import numbers_of, value_text
from gui.explore.picture.view import LARGEST_ZOOM, Size, ViewState, ViewTransform, centred, fitted, next_zoom
from tests.gui.made_results import handle_of, screen_of

PANE = Size(640, 480)


def test_that_zooming_keeps_the_place_under_the_cursor_and_another_size_is_fitted(view_state):
    for at in ((0, 0), (399, 299), (37, 205)):
        view_state.fit()
        pixel = view_state.transform.to_picture(*at)
        for _ in range(6):
            view_state.zoom_by(1, *at)
            assert view_state.transform.to_picture(*at) == pytest.approx(pixel, abs=1e-9)
            assert view_state.transform.to_pane(*pixel) == pytest.approx(at, abs=1e-9)
    x, y = view_state.transform.to_pane(0, 0)
    assert view_state.pixel_at(x, y) == (0, 0)
    assert view_state.pixel_at(x - 0.01, y) is None
    view_state.show_actual()
    assert (view_state.transform.zoom, view_state.is_fitted) == (1.0, False)
    view_state.pan(-10_000, -10_000)
    x, y = view_state.transform.to_pane(799.5, 599.5)
    assert view_state.pixel_at(x, y) == (599, 799)
    assert view_state.pixel_at(x + 1, y) is view_state.pixel_at(x, y + 1) is None
    view_state.fit()
    assert view_state.transform.zoom == 0.5
    view_state.zoom_to(3.0, 10, 20)
    before = view_state.transform
    view_state.set_picture_size(Size(800, 600))
    assert view_state.transform == before
    view_state.set_picture_size(Size(801, 600))
    assert view_state.is_fitted
    view_state.set_picture_size(Size(800, 600))
    view_state.set_pane_size(Size(800, 600))
    assert view_state.transform.zoom == 1.0
    view_state.zoom_to(2.0, 120, 80)
    middle = view_state.transform.to_picture(400, 300)
    view_state.set_pane_size(Size(1000, 800))
    assert view_state.transform.to_picture(500, 400) == middle


def test_that_a_fitted_picture_lies_whole_in_the_middle_and_zooms_end_on_stops():
    assert fitted(PANE, Size(1280, 400)) == ViewTransform(0.5, 0, 140)
    assert fitted(PANE, Size(100, 100)).zoom == 4.0
    for picture in (Size(1, 1), Size(100_000, 2)):
        zoom = fitted(PANE, picture).zoom
        assert zoom <= LARGEST_ZOOM
        assert picture.width * zoom <= PANE.width
    actual = centred(1.0, PANE, Size(333, 221))
    assert (actual.left, actual.top) == (round(actual.left), round(actual.top))
    lost = ViewTransform(1.0, 5000.0, -5000.0).kept_in(PANE, Size(100, 100))
    column, row = lost.to_picture(320, 240)
    assert 0 <= column <= 100
    assert 0 <= row <= 100
    for start in (0.013, 0.37, 1.0, 1.9):
        inside = next_zoom(start, 1)
        assert inside > start
        assert next_zoom(next_zoom(inside, 1), -1) == pytest.approx(inside, rel=1e-12)
    assert [next_zoom(1.0, 2), next_zoom(1.0, -2)] == [2.0, 0.5]
    assert 1.0 < next_zoom(1.0, 0.25) < next_zoom(1.0, 1)


@pytest.fixture
def view_state():
    state = ViewState()
    state.set_pane_size(Size(400, 300))
    state.set_picture_size(Size(800, 600))
    return state


def painted(levels, transform, width, height):
    """Return what a painter makes of a picture on black, H x W x 3, red first."""
    image = QImage(width, height, QImage.Format.Format_RGB32)
    image.fill(0)
    painter = QPainter(image)
    levels.paint(painter, transform, QRectF(0, 0, width, height))
    painter.end()
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(height, image.bytesPerLine())
    return rows[:, : 4 * width].reshape(height, width, 4)[..., 2::-1].copy()


def random_pixels(rows, columns):
    return np.random.default_rng(7).integers(0, 256, (rows, columns, 3), np.uint8)


@pytest.fixture
def levels_of(qapp, share):
    return lambda pixels, **options: PictureLevels(screen_of(pixels, share, **options))


def test_that_the_pixels_that_are_seen_are_painted_of_the_smallest_level_that_will_do(levels_of):
    pixels = random_pixels(64, 64)
    for transform, size, wanted in (
        # Above 100 % a pixel is a square; a part is seen of a moved picture; half the size is the half level.
        (ViewTransform(5.0), (320, 320), lambda pixels: pixels.repeat(5, axis=0).repeat(5, axis=1)),
        (ViewTransform(1.0, -20.0, -31.0), (10, 10), lambda pixels: pixels[31:41, 20:30]),
        (ViewTransform(0.5), (32, 32), lambda pixels: pixels[::2, ::2]),
        (ViewTransform(1.0, 100.0, 0.0), (20, 20), lambda pixels: np.zeros((20, 20, 3), np.uint8)),
    ):
        np.testing.assert_array_equal(painted(levels_of(pixels), transform, *size), wanted(pixels))
    for columns in (1, 2, 3, 5, 7, 33, 101):
        pixels = random_pixels(5, columns)
        np.testing.assert_array_equal(painted(levels_of(pixels), ViewTransform(), columns, 5), pixels)
    wanted = {8.0: 0, 1.0: 0, 0.51: 0, 0.5: 1, 0.3: 1, 0.01: 1}
    levels = levels_of(random_pixels(8, 8))
    assert {zoom: levels.level_for(zoom) for zoom in wanted} == wanted
    levels = levels_of(np.zeros((32, 32, 3), np.uint8), opacity=0)
    assert len({tuple(pixel) for pixel in painted(levels, ViewTransform(), 32, 32).reshape(-1, 3)}) == 2


@pytest.fixture
def large_levels_of(qapp, share):
    """Return levels of a picture whose full size is made of its samples."""

    def made(pixels, paint_again=lambda: None):
        half = screen_of(pixels, share).levels[1]
        levels = PictureLevels(ScreenLevels((share(pixels), half), shown=DisplayScale(1.0, 0.0)))
        levels.updated.connect(paint_again)
        return levels

    return made


def test_that_full_size_is_made_where_it_is_seen_or_a_coarse_level_stands_in(large_levels_of, monkeypatch):
    for zoom in (1.0, 3.0):
        # However busy the machine is.
        monkeypatch.setattr(full_size, "_MOST_S", 60.0)
        pixels = random_pixels(300, 530)
        seen = painted(large_levels_of(pixels), ViewTransform(zoom, -240.0 * zoom, -250.0 * zoom), 30, 18)
        wanted = pixels[250:268, 240:270].repeat(int(zoom), axis=0).repeat(int(zoom), axis=1)[:18, :30]
        np.testing.assert_array_equal(seen, wanted)
    asked, pixels = [], np.full((300, 530, 3), 90, np.uint8)
    levels = large_levels_of(pixels, lambda: asked.append(True))
    assert not levels.is_complete
    monkeypatch.setattr(full_size, "_MOST_S", -1.0)
    assert (painted(levels, ViewTransform(), 530, 300) == 90).all()
    assert asked
    assert not levels.is_complete


@pytest.fixture
def handle(show_widget):
    """A handle in a pane 200 wide."""
    handle = SplitHandle(show_widget(QWidget(), 200, 100))
    handle.update_position()
    handle.show()
    return handle


def test_that_dragging_and_keys_move_it_within_the_pane(qtbot, handle):
    assert handle.geometry().center().x() == 100
    middle = QPoint(WIDTH // 2, 50)
    qtbot.mouseMove(handle, QPoint(WIDTH - 1, 50))
    assert handle.fraction == 0.5
    qtbot.mousePress(handle, Qt.MouseButton.LeftButton, pos=middle)
    with qtbot.waitSignal(handle.moved) as moved:
        qtbot.mouseMove(handle, middle + QPoint(50, 0))
    qtbot.mouseRelease(handle, Qt.MouseButton.LeftButton)
    assert moved.args == [0.75]
    assert handle.geometry().center().x() == 150
    handle.set_fraction(0.5)
    for key, fraction in (("Left", 0.49), ("Shift+Right", 0.6), ("Home", 0.0), ("End", 1.0)):
        qtbot.keySequence(handle, key)
        assert handle.fraction == pytest.approx(fraction, abs=1e-12)
        assert f"{100 * fraction:.0f} %" in handle.accessibleDescription()
        handle.set_fraction(1.7)
        assert handle.fraction == 1.0
        handle.set_fraction(0.5)


def test_that_the_numbers_are_those_of_the_pixel_in_few_digits(share):
    written = {52.25: "52.25", 131: "131.0", -2.5: "−2.500", 0: "0.0", 65535: "65535.0"}
    written |= {np.nan: "NaN", np.inf: "∞", -np.inf: "−∞"}
    assert {value: value_text(np.float32(value)) for value in written} == written
    assert [value_text(np.uint8(255)), value_text(np.uint16(65535))] == ["255", "65535"]
    pixels = np.arange(5 * 7 * 3, dtype=np.uint8).reshape(5, 7, 3)
    values = numbers_of(handle_of(pixels, share))
    values.result = pixels.astype(np.float32) + 0.5
    for cell in ((0, 0), (4, 6), (0, 6), (4, 0)):
        assert values.texts("original", *cell) == tuple(str(value) for value in pixels[cell])
        assert [float(text) for text in values.texts("result", *cell)] == list(pixels[cell] + 0.5)
    # Alpha and a result are read where there are any.
    pixels = np.zeros((2, 3, 1), np.uint16)
    alpha = np.array([[0, 1, 2], [3, 4, 65535]], np.uint16)
    assert numbers_of(handle_of(pixels, share, alpha)).texts("alpha", 1, 2) == ("65535",)
    values = numbers_of(handle_of(pixels, share))
    assert values.texts("alpha", 1, 2) == values.texts("result", 1, 2) == ()

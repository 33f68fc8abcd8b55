"""The window with large pictures: what it says, reads and saves; answered by the engine in this process."""

import numpy as np
import pytest
from PIL import Image

import engine
from engine.errors import ImageReadError
from engine.host import shared, shared_picture, tile_jobs
from engine.host.protocol import CloseTiled, MeasurePicture, TiledScreen, WantedTiles, WantedValues
from engine.host.request import ComputedResult, Run, answer
from engine.host.shared_picture import level_shapes, render
from engine.mask.presets import preset
from engine.verify.verification import Region
from engine.work.messages import SaveFiltered
from gui.explore.files import filters_in_parts
from gui.explore.inspect.look_panel import HISTOGRAM, PROFILE
from gui.explore.picture.layers import PixelLine, ViewMode
from gui.explore.picture.picture_controller import SAVE_SOURCE
from gui.page.messages import Severity
from tests.gui.fake_engine import is_kind
from tests.gui.made_window import wait

MASK = preset("sobel-x")
SIDES = (300, 530)
OF_PICTURE = (WantedValues, type(None))
# One stays in its file; of the other, which is in memory, the result keeps no values.
OF_BOTH = pytest.mark.parametrize("kind", ["file", "memory"], indirect=True)
IN_MEMORY = pytest.mark.parametrize("kind", ["memory"], indirect=True)


@pytest.fixture
def pixels():
    return np.random.default_rng(6).integers(0, 255, (*SIDES, 3), np.uint8)


@pytest.fixture
def kind(request):
    """Which of the two is opened: by default the one in its file."""
    return getattr(request, "param", "file")


@pytest.fixture
def opened(haloscope, kind, pixels, tmp_path, monkeypatch, qtbot):
    """The window with a picture that counts as large, and its result."""
    monkeypatch.setattr(tile_jobs, "_IN_MEMORY_BYTES", 0)
    monkeypatch.setattr(shared_picture, "FULL_SIZE_BYTES", 0)
    path = tmp_path / ("big.npy" if kind == "file" else "big.bmp")
    if kind == "file":
        np.save(path, pixels)
    else:
        Image.fromarray(pixels).save(path)
    haloscope.workspace.set_mask(MASK)
    haloscope.pictures.open_path(path)
    wait(qtbot, lambda: haloscope.workspace.picture.title == path.name)
    wait(qtbot, lambda: haloscope.state.last_result is not None and not haloscope.display.is_earlier)
    result = haloscope.state.last_result
    assert isinstance(*((result.screen, TiledScreen) if kind == "file" else (result.values, ComputedResult)))
    yield haloscope
    for tiles in tile_jobs._open.values():
        tiles.picture.close()
    tile_jobs._open.clear()


@pytest.fixture
def page(opened):
    return opened.window.page_of("explore")


@pytest.fixture
def view(page):
    return page.picture_view


@pytest.fixture
def whole(opened, pixels):
    """The whole result, by the same kernel."""
    return engine.correlate(pixels, MASK, variant=opened.state.last_result.variant)


def of_kind(haloscope, kind):
    return [request for request in haloscope.link._client.seen if isinstance(request, kind)]


@OF_BOTH
def test_that_numbers_lens_and_profile_are_those_of_full_size(view, pixels, whole, qtbot, opened, page):
    view.canvas.view.zoom_to(0.25, 10, 10)
    view.canvas.pixel_hovered.emit((201, 77))
    wait(qtbot, lambda: f"original {pixels[201, 77, 0]} " in view.readout.words)
    wanted = f"{whole[201, 77, 2]:#.4g}".replace("-", "−")
    wait(qtbot, lambda: view.readout.words.endswith(wanted))
    opened.actions["lens"].trigger()
    wait(qtbot, lambda: page.lens.is_visible)
    for pixel in ((0, 0), (157, 300), (SIDES[0] - 1, SIDES[1] - 1)):
        page.lens.point(pixel)
        wait(qtbot, lambda pixel=pixel: page.lens.seen is not None and page.lens.seen.pixel == pixel)
        np.testing.assert_array_equal(page.lens.seen.window.cells[1, 1], pixels[pixel])
        assert page.lens.seen.is_equal
        np.testing.assert_array_equal(page.lens.seen.shown, whole[pixel])
    opened.actions["lens"].trigger()
    page.look.choose(PROFILE)
    page.look.watch(True)
    page.look._take_line(PixelLine((20, 0), (20, SIDES[1] - 1)))
    wait(qtbot, lambda: page.look.profile is not None)
    np.testing.assert_array_equal(page.look.profile.original, pixels[20])
    np.testing.assert_array_equal(page.look.profile.result, whole[20])
    assert page.look.words == ""


def test_that_a_run_is_of_the_part_in_the_middle_nothing_is_copied_and_the_file_is_closed(
    opened, view, qtbot
):
    view.canvas.view.show_actual()
    view.canvas.view.pan(-100, 0)
    opened.runs.run()
    (run,) = of_kind(opened, Run)
    assert run.job.centre == view.canvas.view.middle
    for name in ("copy_picture", "copy_original"):
        opened.actions[name].trigger()
        assert "stays in its file" in opened.window.message_bar.text
        assert "Ctrl+S" in opened.window.message_bar.text
    # Of the picture, and of its result.
    wait(qtbot, lambda: {one.job is None for one in of_kind(opened, WantedTiles)} == {True, False})
    opened.pictures.open_sample("astronaut")
    wait(qtbot, lambda: bool(of_kind(opened, CloseTiled)))


def test_that_the_lens_says_why_a_pixel_cannot_be_read(opened, page, qtbot):
    opened.actions["lens"].trigger()
    wait(qtbot, lambda: page.lens.is_visible)
    page.lens.point((9, 9))
    wait(qtbot, lambda: page.lens.seen is not None)
    fake = opened.link._client
    fake.automatic = False
    page.lens.point((250, 300))
    wait(qtbot, lambda: any(is_kind(one.request, OF_PICTURE) for one in fake.asked))
    fake.fail(ImageReadError("/somewhere/big.npy cannot be read", "it was cut short"), OF_PICTURE)
    wait(qtbot, lambda: "it was cut short" in page.lens.words)


def test_that_a_result_is_saved_by_filtering_the_file_also_with_an_operation(opened, tmp_path, qtbot, pixels):
    opened.pictures.save_result(tmp_path / "result.npy")
    wait(qtbot, lambda: (tmp_path / "result.npy").exists())
    (request,) = of_kind(opened, SaveFiltered)
    assert request.job == opened.workspace.job()
    saved = np.load(tmp_path / "result.npy")
    assert saved.shape[:2] == SIDES
    assert saved.dtype == np.uint8
    shown = opened.state.last_result
    opened.workspace.choose("median")
    wait(qtbot, lambda: opened.workspace.job().operation is not None)
    opened.display.show(shown)
    opened.pictures.save_result(tmp_path / "median.npy")
    wait(qtbot, lambda: (tmp_path / "median.npy").exists())
    whole = engine.operate(pixels, "median", device="cpu").picture
    np.testing.assert_array_equal(np.load(tmp_path / "median.npy").reshape(whole.shape), whole)


def test_that_a_stopped_save_says_how_to_go_on_and_one_without_metadata_why_not(opened, tmp_path, qtbot):
    opened.actions["save_bare"].trigger()
    message = opened.messages.of(SAVE_SOURCE)
    assert message.severity is Severity.WARNING
    assert "tags" in message.why
    assert opened.files.dialog is None
    fake = opened.link._client
    fake.automatic = False
    opened.pictures.save_result(tmp_path / "result.tif")
    opened.pictures.cancel()
    assert [type(request) for request in fake.cancelled[-1:]] == [SaveFiltered]
    fake.automatic = True
    wait(qtbot, lambda: opened.messages.of(SAVE_SOURCE) is not None)
    message = opened.messages.of(SAVE_SOURCE)
    assert message.severity is Severity.INFO
    assert "go on" in message.remedy


def test_that_results_in_parts_are_offered_as_files_that_are_written_in_parts():
    suffixes = {".tif", ".zarr", ".npy"}
    offered = filters_in_parts(with_float=True)
    assert set(offered.values()) == {"keep", "float32"}
    assert {name[name.index("*") + 1 : -1] for name in offered} == suffixes


@IN_MEMORY
def test_that_the_histogram_is_of_the_whole_result_and_an_edit_stops_its_count(opened, page, whole, qtbot):
    page.look.choose(HISTOGRAM)
    opened.actions["region_measure"].trigger()
    wait(qtbot, lambda: page.look.numbers is not None and bool(page.look.numbers.after))
    (kept,) = shared.create((whole.shape, "float32"))
    shared.attach(kept)[...] = whole
    wanted = answer(MeasurePicture(opened.workspace.picture, kept), lambda step: None)
    shared.unlink(kept.name)
    assert page.look.numbers == wanted
    opened.actions["region_measure"].trigger()
    wait(qtbot, lambda: page.look.numbers is not None)
    fake = opened.link._client
    fake.automatic = False
    opened.workspace.select(Region(4, 90, 5, 80))
    wait(qtbot, lambda: any(isinstance(one.request, MeasurePicture) for one in fake.asked))
    opened.workspace.set_mask(preset("sharpen"))
    assert [type(request) for request in fake.cancelled[-1:]] == [MeasurePicture]
    fake.automatic = True


@IN_MEMORY
def test_that_full_size_and_differences_are_those_of_the_whole_result(page, qtbot, opened, view, whole):
    for mode in (ViewMode.DIFFERENCE, ViewMode.ERROR):
        page.picture_view.set_mode(mode)
        word = mode.value
        wait(qtbot, lambda word=word: page.picture_view.comparison.words.startswith(word))
        assert page.picture_view.comparison.screen is not None
    seen = opened.link._client.seen
    view.canvas.view.fit()
    wait(qtbot, lambda: view.is_complete)
    view.canvas.view.zoom_to(4.0, 10, 10)
    wait(qtbot, lambda: view._result.has_all_tiles)
    asked = [request for request in seen if isinstance(request, WantedTiles) and request.job is not None]
    assert {request.level for request in asked} == {0}
    shown = np.empty(level_shapes(*SIDES)[0], np.uint8)
    render(whole, [shown], 255.0)
    for (_, place), kept in view._result._kept.items():
        rows, columns = view._result._screen.extent(0, place)
        pixels = np.frombuffer(kept.image.constBits(), np.uint8).reshape(shown[rows, columns].shape)
        np.testing.assert_array_equal(pixels, shown[rows, columns])
    for name in ("sharpen", "gaussian-5", "identity"):
        old = opened.state.last_result
        opened.workspace.set_mask(preset(name))
        wait(qtbot, lambda old=old: opened.state.last_result is not old)
        assert old.screen.coarse[0].name in opened.link._client.released
    assert opened.workspace.picture.pixels.name not in opened.link._client.released

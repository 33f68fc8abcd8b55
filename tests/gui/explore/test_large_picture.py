"""The window with a large picture: what it says, reads and saves; answered by the engine in this process."""

import numpy as np
import pytest

import engine
from engine.errors import ImageReadError
from engine.host import tile_jobs
from engine.host.protocol import CloseTiled, TiledScreen, WantedTiles, WantedValues
from engine.host.request import Run
from engine.work.messages import SaveFiltered
from gui.explore.files import filters_in_parts
from gui.explore.inspect.look_panel import PROFILE
from gui.explore.picture.layers import Line
from gui.explore.picture.picture_controller import SAVE_SOURCE
from gui.page.messages import Severity
from tests.gui.fake_engine import is_kind
from tests.gui.made_window import wait

SIDES = (600, 900)
OF_PICTURE = (WantedValues, type(None))


@pytest.fixture
def pixels():
    return np.random.default_rng(6).integers(0, 200, (*SIDES, 1), np.uint8)


@pytest.fixture
def path(tmp_path, pixels, monkeypatch):
    monkeypatch.setattr(tile_jobs, "_IN_MEMORY_BYTES", 0)
    np.save(tmp_path / "big.npy", pixels)
    yield tmp_path / "big.npy"
    for tiles in tile_jobs._open.values():
        tiles.picture.close()
    tile_jobs._open.clear()


@pytest.fixture
def opened(haloscope, path, qtbot):
    """The window with the large picture and its result."""
    haloscope.pictures.open_path(path)
    wait(qtbot, lambda: haloscope.workspace.picture.title == "big.npy")
    wait(qtbot, lambda: isinstance(getattr(haloscope.state.last_result, "screen", None), TiledScreen))
    return haloscope


@pytest.fixture
def view(opened):
    return opened.window.page_of("explore").picture_view


def of_kind(haloscope, kind):
    return [request for request in haloscope.link._client.seen if isinstance(request, kind)]


def of_result(haloscope):
    return [request for request in of_kind(haloscope, WantedTiles) if request.job is not None]


def test_that_the_tiles_of_picture_and_result_that_are_seen_are_asked_for(opened, qtbot):
    wait(qtbot, lambda: 0 < len(of_result(opened)) < len(of_kind(opened, WantedTiles)))


def test_that_the_numbers_under_the_cursor_are_those_of_full_size(view, pixels, qtbot):
    view.canvas.view.zoom_to(0.25, 10, 10)
    view.canvas.pixel_hovered.emit((401, 77))
    wait(qtbot, lambda: f"original {pixels[401, 77, 0]} " in view.readout.words)
    around = pixels[:, :, 0].astype(int)
    sharp = 5 * around[401, 77] - around[400, 77] - around[402, 77] - around[401, 76] - around[401, 78]
    wanted = f"{sharp:#.4g}" if abs(sharp) < 1000 and sharp else f"{sharp:.1f}"
    wait(qtbot, lambda: view.readout.words.endswith(f"result {wanted.replace('-', '−')}"))


def test_that_the_lens_reads_a_picture_that_stays_in_its_file(opened, pixels, qtbot):
    page = opened.window.page_of("explore")
    opened.actions["lens"].trigger()
    wait(qtbot, lambda: page.lens.is_visible)
    for pixel in ((0, 899), (401, 77)):
        page.lens.point(pixel)
        wait(qtbot, lambda pixel=pixel: page.lens.seen is not None and page.lens.seen.pixel == pixel)
        assert page.lens.seen.window.cells[1, 1, 0] == pixels[pixel][0]
        assert page.lens.seen.is_equal


def test_that_a_profile_of_a_picture_in_its_file_has_the_values_along_the_line(opened, pixels, qtbot):
    look = opened.window.page_of("explore").look
    opened.actions["lens"].trigger()
    look.choose(PROFILE)
    look.watch(True)
    look._take_line(Line((20, 0), (20, 899)))
    wait(qtbot, lambda: look.profile is not None)
    np.testing.assert_array_equal(look.profile.original, pixels[20])
    assert look.words == ""


def test_that_the_lens_says_why_a_pixel_cannot_be_read(opened, qtbot):
    page = opened.window.page_of("explore")
    opened.actions["lens"].trigger()
    wait(qtbot, lambda: page.lens.is_visible)
    page.lens.point((9, 9))
    wait(qtbot, lambda: page.lens.seen is not None)
    fake = opened.link._client
    fake.automatic = False
    page.lens.point((300, 300))
    wait(qtbot, lambda: any(is_kind(one.request, OF_PICTURE) for one in fake.asked))
    fake.fail(ImageReadError("/somewhere/big.npy cannot be read", "it was cut short"), OF_PICTURE)
    wait(qtbot, lambda: "it was cut short" in page.lens.words)


def test_that_another_picture_closes_the_file(opened, qtbot):
    opened.pictures.open_sample("astronaut")
    wait(qtbot, lambda: bool(of_kind(opened, CloseTiled)))


def test_that_a_run_is_of_the_part_in_the_middle_of_the_view(opened, view):
    view.canvas.view.show_actual()
    view.canvas.view.pan(-100, 0)
    opened.runs.run()
    (run,) = of_kind(opened, Run)
    assert run.job.centre == view.canvas.view.middle


def test_that_the_result_is_saved_by_filtering_the_file(opened, tmp_path, qtbot):
    opened.pictures.save_result(tmp_path / "result.npy")
    wait(qtbot, lambda: (tmp_path / "result.npy").exists())
    (request,) = of_kind(opened, SaveFiltered)
    assert request.job == opened.workspace.job()
    saved = np.load(tmp_path / "result.npy")
    assert saved.shape[:2] == SIDES
    assert saved.dtype == np.uint8


def test_that_an_operation_is_saved_in_parts_too(opened, pixels, tmp_path, qtbot):
    shown = opened.state.last_result
    opened.workspace.choose("median")
    wait(qtbot, lambda: opened.workspace.job().operation is not None)
    opened.display.show(shown)
    opened.pictures.save_result(tmp_path / "result.npy")
    wait(qtbot, lambda: (tmp_path / "result.npy").exists())
    whole = engine.operate(pixels, "median", device="cpu").picture
    np.testing.assert_array_equal(np.load(tmp_path / "result.npy").reshape(whole.shape), whole)


def test_that_a_save_that_was_stopped_says_how_to_go_on(opened, tmp_path, qtbot):
    fake = opened.link._client
    fake.automatic = False
    opened.pictures.save_result(tmp_path / "result.tif")
    opened.pictures.cancel()
    assert [type(request) for request in fake.cancelled] == [SaveFiltered]
    fake.automatic = True
    wait(qtbot, lambda: opened.messages.of(SAVE_SOURCE) is not None)
    message = opened.messages.of(SAVE_SOURCE)
    assert message.severity is Severity.INFO
    assert "go on" in message.remedy


def test_that_a_result_in_parts_is_not_saved_without_metadata_as_it_keeps_its_tags(opened):
    opened.actions["save_bare"].trigger()
    message = opened.messages.of(SAVE_SOURCE)
    assert message.severity is Severity.WARNING
    assert "tags" in message.why
    assert opened.files.dialog is None


def test_that_results_in_parts_are_offered_as_files_that_are_written_in_parts():
    suffixes = {".tif", ".zarr", ".npy"}
    offered = filters_in_parts(with_float=True)
    assert set(offered.values()) == {"keep", "float32"}
    assert {name[name.index("*") + 1 : -1] for name in offered} == suffixes


@pytest.mark.parametrize("name", ["copy_picture", "copy_original"])
def test_that_a_large_picture_is_not_copied_but_its_user_told_what_to_do(opened, name):
    opened.actions[name].trigger()
    assert "stays in its file" in opened.window.message_bar.text
    assert "Ctrl+S" in opened.window.message_bar.text

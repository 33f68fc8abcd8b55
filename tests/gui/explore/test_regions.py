"""A region of the picture, drawn, filtered, cropped and searched for; and a part for the simulator."""

from pathlib import Path

import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from engine.course.papers import PAPERS
from engine.errors import EngineError
from engine.host.request import Preview
from engine.mask.mask import Mask
from engine.verify.verification import Region
from gui.explore.preview_controller import USE_PART
from gui.explore.session_file import load_session, save_session
from gui.explore.sessions import Session
from gui.explore.state import EditedStep, PictureSource, State
from tests.gui.made_results import NO_CUDA
from tests.gui.made_window import place_of

REGION = Region(4, 11, 5, 13)


@pytest.fixture
def page(haloscope):
    """The page Explore with a picture of 48 x 36."""
    return haloscope.window.first_page


def drag(page, qtbot, first, last, modifier=Qt.KeyboardModifier.NoModifier):
    """Drag from a pixel (row, column) to another one."""
    canvas, left = page.picture_view.canvas, Qt.MouseButton.LeftButton
    places = [place_of(canvas, *pixel) for pixel in (first, last)]
    qtbot.mousePress(canvas, left, modifier, places[0])
    # The middle of the way, too: a single jump is no drag on some systems.
    for place in ((places[0] + places[1]) / 2, places[1]):
        qtbot.mouseMove(canvas, place)
    qtbot.mouseRelease(canvas, left, modifier, places[1])


def test_that_a_region_is_dragged_filtered_alone_and_cleared_or_the_patch_to_find(page, haloscope, qtbot):
    drag(page, qtbot, (4, 5), (10, 12), Qt.KeyboardModifier.ShiftModifier)
    assert haloscope.workspace.region == REGION
    haloscope.actions["region_filter"].trigger()
    assert haloscope.workspace.job().region == REGION
    haloscope.actions["region_clear"].trigger()
    assert haloscope.workspace.job().region is None
    haloscope.workspace.choose("find-patch")
    drag(page, qtbot, (4, 5), (10, 12), Qt.KeyboardModifier.ShiftModifier)
    assert haloscope.workspace.settings.parameters == {"top": 4, "left": 5, "height": 7, "width": 8}


def test_that_a_crop_becomes_the_picture_also_of_a_session_and_is_undone(page, haloscope, qtbot, tmp_path):
    def crop():
        workspace.select(REGION)
        haloscope.actions["region_crop"].trigger()
        qtbot.waitUntil(lambda: workspace.picture.pixels.shape == (7, 8, 3))

    workspace = haloscope.workspace
    crop()
    save_session(tmp_path / "one.haloscope", Session(workspace.state))
    assert load_session(tmp_path / "one.haloscope").state.source.crop == REGION
    haloscope.actions["region_whole"].trigger()
    qtbot.waitUntil(lambda: workspace.picture.crop is None)
    crop()
    assert workspace.undo_stack.undoText() == f"Crop {workspace.picture.title}"
    page.undo_stack.undo()
    qtbot.waitUntil(lambda: workspace.picture.crop is None)


def test_that_a_session_with_a_bad_crop_opens_without_its_picture_and_says_so(tmp_path):
    for crop in ["[1, 2]", "[4, 2, 0, 9]", '"all"', "[0, 1, 0, 99999999999]"]:
        path = tmp_path / "one.haloscope"
        save_session(
            path, Session(State((EditedStep.of(Mask([[1]])),), source=PictureSource(sample="camera")))
        )
        path.write_text(path.read_text().replace('"sample":', f'"crop": {crop}, "sample":', 1))
        session = load_session(path)
        assert session.state.source is None
        assert any("'picture'" in note for note in session.left_out)


def test_that_the_simulator_gets_512_by_512_around_the_region_and_a_kernel_that_it_runs(haloscope, qtbot):
    workspace = haloscope.workspace
    for chosen, runs in (("cpu-serial", "auto"), ("tiled", "tiled")):
        haloscope.pictures.open_path(Path("huge.png"))
        qtbot.waitUntil(lambda: workspace.picture.title == "huge.png" and workspace.picture.crop is None)
        workspace.change(variant=chosen, device="auto")
        workspace.select(Region(600, 800, 1500, 1560))
        haloscope.actions["region_simulate"].trigger()
        qtbot.waitUntil(lambda: workspace.picture.crop == Region(444, 956, 1088, 1600))
        qtbot.waitUntil(lambda: workspace.settings.device == "simulator")
        assert workspace.run_job().variant == runs


def test_that_clipping_is_said_as_long_as_it_lasts_with_the_range_that_shows_it(page, haloscope, qtbot):
    def show(share):
        haloscope.state.show_filtered(replace(haloscope.state.last_result, clipped=(share, 0.0)))
        is_named = "41 %" in page.picture_view.canvas.scene.result_name
        return is_named, haloscope.messages.of("clipped") is not None

    workspace = haloscope.workspace
    assert show(0.41) == (True, True)
    haloscope.messages.clear("clipped")
    assert show(0.41) == (True, False)
    workspace.set_mask(Mask([[-1.0]], name="another"))
    qtbot.waitUntil(lambda: not page.display.is_earlier)
    assert show(0.41) == (True, True)
    haloscope.messages.clear("clipped")
    haloscope.pictures.open_sample("camera")
    qtbot.waitUntil(lambda: workspace.picture.sample == "camera" and haloscope.state.last_result is not None)
    assert show(0.41) == (True, True)
    assert show(0.0) == (False, False)
    haloscope.workspace.change(result_type="same")
    qtbot.waitUntil(lambda: not page.display.is_earlier)
    clipped = replace(haloscope.state.last_result, clipped=(0.41, 0.0))
    page.clip_hint._follow(clipped)
    message = haloscope.messages.newest
    assert message.what == "41 % of the values are negative and shown black"
    message.act()
    assert haloscope.workspace.range_mode == "absolute"
    assert haloscope.workspace.result_dtype == "float32"


def test_that_each_refusal_of_the_simulator_offers_a_small_picture(haloscope, qtbot):
    bar, workspace, actions = haloscope.window.message_bar, haloscope.workspace, haloscope.actions
    workspace.change(device="simulator")
    refused = {
        "preview": lambda: None,
        "run": actions["run"].trigger,
        "run all": actions["run_all"].trigger,
        "operation": lambda: workspace.choose("median"),
    }
    for what, ask in refused.items():
        haloscope.pictures.open_path(Path("huge.png"))
        qtbot.waitUntil(lambda: workspace.picture.title == "huge.png" and workspace.picture.crop is None)
        qtbot.waitUntil(bar.isVisible)
        if what != "preview":
            haloscope.messages.clear("preview")
        ask()
        button, other = bar.findChildren(QPushButton)
        qtbot.waitUntil(lambda button=button: button.isVisible() and not haloscope.state.running)
        assert not other.isVisible()
        assert button.text() == USE_PART
        assert "oo large for the simulator (limit 2,097,152 pixels)" in bar.text
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        qtbot.waitUntil(lambda: workspace.picture.crop is not None)
        crop = workspace.picture.crop
        assert (crop.bottom - crop.top, crop.right - crop.left) == (512, 512)
        # In the middle of what is seen, to the pixel: the picture has 1440 rows and 1600 columns.
        assert (crop.top, crop.left) == pytest.approx((464, 544), abs=1)
        qtbot.waitUntil(lambda: haloscope.state.last_result is not None and not haloscope.display.is_earlier)
        assert workspace.settings.device == "simulator"
        assert actions["save"].isEnabled()
        assert not bar.isVisible()


def test_that_a_papers_kernel_without_a_gpu_comes_with_a_button_that_runs_it(haloscope, qtbot):
    kernels = (kernel for paper in PAPERS for kernel in paper.kernels)
    tiled = next(kernel for kernel in kernels if kernel.variant == "tiled")
    client = haloscope.link._client
    haloscope.window.show_page("course")
    client.automatic = False
    haloscope.window.offer(tiled)
    assert haloscope.window.page is haloscope.window.first_page
    assert haloscope.workspace.settings.variant == "tiled"
    bar = haloscope.window.message_bar
    qtbot.waitUntil(lambda: bool(client.waiting(Preview)))
    client.fail(
        EngineError("Tiled cannot run", NO_CUDA, "Choose another device."), client.waiting(Preview)[0]
    )
    client.automatic, client.unavailable = True, {}  # in the simulator
    qtbot.waitUntil(bar.isVisible)
    button = next(one for one in bar.findChildren(QPushButton) if one.isVisible())
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: haloscope.workspace.settings.device == "simulator" and not bar.isVisible())
    qtbot.waitUntil(haloscope.actions["run"].isEnabled)
    haloscope.actions["run"].trigger()
    qtbot.waitUntil(lambda: haloscope.results.rowCount() == 1 and not haloscope.state.running)
    assert haloscope.results.results()[0].variant == "tiled"
    assert haloscope.results.results()[0].is_proven

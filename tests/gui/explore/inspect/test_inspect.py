"""The mask analysis, the panel Look and the lens in the window."""

import numpy as np
import pytest
from PySide6.QtCore import Qt

from engine.geometry.border import Border
from engine.host import shared
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.verify.verification import Region
from engine.work.filtering.sum_order import SumOrder, by_rows
from gui.explore.inspect.analysis_panel import AnalysisPanel, MaskAnalysis
from gui.explore.inspect.lens import FilterLens, Looked
from gui.explore.inspect.look_panel import HISTOGRAM, PROFILE
from gui.explore.picture.layers import DragTool, PixelLine
from tests.gui.made_results import handle_of
from tests.gui.made_window import made, place_of
from tests.picture_jobs import mask_job


@pytest.fixture
def state(workspace):
    workspace.set_mask(preset("sobel-x"))
    return MaskAnalysis(workspace)


@pytest.fixture
def panel(qtbot, state, show_widget):
    panel = show_widget(AnalysisPanel(state), 700, 260)
    with qtbot.waitSignal(state.changed, check_params_cb=lambda: state.examination is not None):
        state.watch(True)
    return panel


def test_that_the_analysis_says_what_a_mask_is_and_costs_as_it_is_applied(panel, workspace, qtbot, state):
    picture = workspace.picture
    samples = picture.height * picture.width * picture.channels
    shown = panel.findings.shown
    assert shown["Rank"] == "1, separable"
    assert shown["Multiply-adds"] == "9 direct, 6 as column and row"
    assert shown["Symmetry"].startswith("antisymmetric")
    assert shown["For the picture"].startswith(f"{9 * samples:,} direct") or samples * 9 >= 10**6
    assert shown["Gain"] == "0 at frequency 0; largest 8 at 0.25 across, 0 down"
    assert panel.plot.image.image.max() == pytest.approx(8.0)
    workspace.set_mask(Mask(np.ones((3, 3))))
    qtbot.waitUntil(lambda: panel.findings.shown["Sum"] == "9")
    workspace.change(normalise=True)
    qtbot.waitUntil(lambda: panel.findings.shown["Sum"] == "1")
    assert not state.is_earlier


def test_that_a_split_is_two_steps_the_column_and_the_row_or_says_why_not(qtbot, panel, workspace):
    before = workspace.mask
    panel.split_button.click()
    column, row = (step.mask for step in workspace.state.steps)
    assert (column.weights @ row.weights).tolist() == before.weights.tolist()
    workspace.undo_stack.undo()
    assert workspace.mask == before
    assert len(workspace.state.steps) == 1
    workspace.set_mask(preset("outline"))
    qtbot.waitUntil(lambda: panel.findings.shown["Rank"] == "2, not separable")
    assert not panel.split_button.isEnabled()
    assert "Only a separable mask" in panel.split_button.toolTip()


@pytest.fixture
def look(haloscope, qtbot):
    """The state of the panel, which is in front and has counted."""
    page = haloscope.window.first_page
    haloscope.actions["region_measure"].trigger()
    qtbot.waitUntil(lambda: page.look.numbers is not None)
    return page.look


def test_that_a_region_is_counted_alone_and_a_profile_has_the_values_along_its_line(look, haloscope, qtbot):
    rows, columns, _ = haloscope.workspace.picture.pixels.shape
    assert [one.total for one in look.numbers.before] == [rows * columns] * 3
    haloscope.workspace.select(Region(4, 11, 5, 13))
    qtbot.waitUntil(lambda: look.numbers.before[0].total == 7 * 8)
    values = haloscope.window.first_page.picture_view.values
    part = values.original[4:11, 5:13, 0].astype(np.float64)
    assert look.numbers.before[0].mean == pytest.approx(float(part.mean()), rel=1e-12)
    page = haloscope.window.first_page
    qtbot.waitUntil(lambda: page.is_complete)
    haloscope.workspace.select(Region(4, 11, 5, 14))
    assert not page.is_complete
    qtbot.waitUntil(lambda: page.is_complete)
    assert look.numbers.before[0].total == 7 * 9
    look.choose(PROFILE)
    look._take_line(PixelLine((2, 3), (2, 9)))
    values = haloscope.window.first_page.picture_view.values
    assert (look.profile.original == values.original[2, 3:10]).all()
    canvas = haloscope.window.first_page.picture_view.canvas
    assert canvas.drawing is DragTool.LINE
    look.choose(HISTOGRAM)
    assert canvas.drawing is DragTool.PAN


def test_that_handles_and_percentiles_choose_a_window_that_a_session_keeps(look, haloscope, qtbot, tmp_path):
    files, (original, result) = haloscope.window.first_page.files, look.windows
    original.choose((20.0, 90.0))
    qtbot.waitUntil(lambda: original.screen is not None)
    files.save_session(tmp_path / "work.haloscope")
    qtbot.waitUntil((tmp_path / "work.haloscope").exists)
    original.choose(None)
    files.open_session(tmp_path / "work.haloscope")
    qtbot.waitUntil(lambda: original.screen is not None)
    assert (original.ends, result.ends) == ((20.0, 90.0), None)
    page, (original, result) = haloscope.window.first_page, look.windows
    view = page.picture_view
    before = view.values.original[5, 6].tolist()
    panel = made(page, "look")
    panel.before.window_moved.emit((20.0, 90.0))
    result.choose_percentiles()
    qtbot.waitUntil(lambda: original.screen is not None and result.screen is not None)
    assert original.ends == (20.0, 90.0)
    assert result.ends[0] < result.ends[1]
    painted = shared.attach(original.screen.levels[0])
    assert painted[5, 6, 2::-1].tolist() == np.rint((np.clip(before, 20, 90) - 20) / 70 * 255).tolist()
    assert view.values.original[5, 6].tolist() == before
    # The result of another job has the same window; another picture has none.
    shown = result.screen
    haloscope.workspace.change(flip=True)
    qtbot.waitUntil(lambda: result.screen not in (None, shown))
    haloscope.pictures.open_sample("camera")
    qtbot.waitUntil(lambda: haloscope.workspace.picture.title != "astronaut")
    assert (original.ends, original.screen, result.ends) == (None, None, None)


SOBEL = Mask([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])


@pytest.fixture
def looked(share):
    """Return a function that looks at a pixel of an 8-bit picture of 4 x 5 pixels, filtered on the CPU."""
    pixels = (np.arange(20).reshape(4, 5, 1) * 11 % 256).astype(np.uint8)

    def at(pixel, value, mask=SOBEL, order=None, border=Border.ZERO):
        result = np.full(pixels.shape, np.float32(value))
        job = mask_job(picture=handle_of(pixels, share), mask=mask, border=border, variant="cpu-serial")
        at = Looked(job, pixel, [pixels], result)
        return FilterLens(at, order or by_rows(mask.columns, is_fused=False))

    return at


@pytest.fixture
def page(haloscope, qtbot):
    page = haloscope.window.first_page
    haloscope.actions["lens"].trigger()
    qtbot.waitUntil(lambda: page.lens.is_visible)
    return page


def test_that_only_a_sum_that_is_the_result_is_said_to_be_it_exactly(looked):
    assert looked((1, 2), 88.0).verdict == "exactly the result shown"
    assert looked((1, 2), 89.0).verdict == "not the result shown"
    words = looked((1, 2), 88.0, order=SumOrder("It transforms.")).words(0)
    assert words.startswith("It transforms. It differs from the float64 sum by 0; the bound is ")


def test_that_the_lens_follows_the_mouse_until_a_click_pins_a_pixel_from_which_arrow_keys_walk(
    page, haloscope, qtbot
):
    canvas = page.picture_view.canvas
    qtbot.mouseMove(canvas, place_of(canvas, 3, 4))
    canvas.pixel_hovered.emit((3, 4))
    qtbot.waitUntil(lambda: page.lens.seen is not None and page.lens.seen.pixel == (3, 4))
    qtbot.mouseClick(canvas, Qt.MouseButton.LeftButton, pos=place_of(canvas, 5, 7))
    qtbot.waitUntil(lambda: page.lens.seen is not None and page.lens.seen.pixel == (5, 7))
    window, pixel = canvas._frames
    assert (window.row, window.column, window.height, pixel.row) == (4, 6, 3, 5)
    canvas.pixel_hovered.emit((1, 1))
    assert page.lens.pixel == (5, 7)
    qtbot.keyClick(canvas, Qt.Key.Key_Right)
    qtbot.waitUntil(lambda: page.lens.seen.pixel == (5, 8))
    # A pinned lens is updated after a preset.
    haloscope.workspace.set_mask(preset("gaussian-5"))
    qtbot.waitUntil(lambda: page.lens.seen is not None and page.lens.seen.job.mask.rows == 5)
    page.bring_to_front("mask")
    qtbot.waitUntil(lambda: canvas._frames == (None, None))
    qtbot.keyClick(canvas, Qt.Key.Key_Escape)
    assert not page.lens.is_pinned

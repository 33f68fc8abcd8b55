"""The main job and what explains it: the window, the engine's process and everything between are real."""

import os
import signal

import numpy as np
import pytest
from PySide6.QtCore import Qt

from engine.geometry.block import Block
from engine.host import shared
from engine.image.open import open_image
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.results.columns import SPEED_UP
from engine.work.filtering import oracle
from gui.explore.explain.why_state import Remedy
from gui.explore.kernel.kernel_list import KernelList
from gui.explore.kernel.variants_model import GroupRow
from tests.end2end.conftest import smooth, standing_still
from tests.engine.variants.emitted import needs_nvvm

# Each starts processes: 1 s and more.
pytestmark = pytest.mark.slow

RUN_MS = 60_000


def run(window, qtbot, **settings):
    window.workspace.change(**settings)
    qtbot.waitUntil(window.actions["run"].isEnabled, timeout=RUN_MS)
    with qtbot.waitSignal(window.jobs.finished, timeout=RUN_MS):
        window.actions["run"].trigger()


def show_result_of(window, qtbot, mask):
    with qtbot.waitSignal(window.previews.shown, timeout=RUN_MS):
        window.workspace.set_mask(mask)


def usable(window):
    return [device for device in window.state.devices if device.available]


def choose(window, qtbot, variant):
    """Click a kernel in the list, and return what its tooltip says."""
    (kernels,) = window.window.findChildren(KernelList)
    # Without a GPU its kernels are behind one head.
    for item in kernels.model().items():
        if isinstance(item, GroupRow):
            kernels.model().open_group(item.title, True)
    index = kernels.model().index(kernels.model().position(variant))
    kernels.scrollTo(index)
    point = kernels.visualRect(index).center()
    qtbot.mouseClick(kernels.viewport(), Qt.MouseButton.LeftButton, pos=point)
    return index.data(Qt.ItemDataRole.ToolTipRole)


def test_that_a_right_preview_follows_an_edit_or_a_flip(window, qtbot):
    assert window.workspace.picture.title == "camera.png"
    assert window.state.last_result.values is not None
    mask = Mask([[0, 1, 2], [-1, 0, 1], [-2, -1, 7]])
    show_result_of(window, qtbot, mask)
    pixels = shared.attach(window.workspace.picture.pixels)
    assert np.array_equal(shared.attach(window.state.last_result.values), oracle.correlate(pixels, mask))
    with qtbot.waitSignal(window.previews.shown, timeout=RUN_MS):
        window.workspace.change(flip=True)
    shown = shared.attach(window.state.last_result.values)
    assert np.array_equal(shown, oracle.correlate(pixels, mask.flipped()))
    window.workspace.change(flip=False)


def test_that_run_all_gives_the_speed_up_of_every_variant_that_can_run(window, qtbot):
    show_result_of(window, qtbot, Mask([[0, 1, 0], [1, -4, 2], [0, 1, 0]]))
    window.workspace.change(variant="auto", baseline="cpu-serial")
    qtbot.waitUntil(window.actions["run_all"].isEnabled, timeout=RUN_MS)
    with qtbot.waitSignal(window.jobs.finished, timeout=RUN_MS):
        window.actions["run_all"].trigger()
    found = {result.variant: result for result in window.results.results()}
    assert {"cpu-serial", "cpu-parallel"} <= set(found)
    assert all(result.kernel_ms for result in found.values())
    speed_ups = {row.result.variant: row.speed_up for row in window.results.rows()}
    assert speed_ups["cpu-serial"] == 1.0
    assert speed_ups["cpu-parallel"] == found["cpu-serial"].kernel_ms / found["cpu-parallel"].kernel_ms
    column = window.results.position(SPEED_UP)
    shown = [window.results.index(row, column).data() for row in range(window.results.rowCount())]
    said = [window.results.words(run) for run in window.results.rows()]
    assert all(f"{text} against" in words for text, words in zip(shown, said, strict=True))


def test_that_a_variant_without_its_device_says_why_it_cannot_be_chosen(window, qtbot):
    window.workspace.change(variant="auto")
    qtbot.waitUntil(lambda: "naive" in window.state.availability)
    has_gpu = any(device.times_mean_speed and device.kind == "cuda" for device in usable(window))
    choose(window, qtbot, "cpu-parallel")
    assert window.workspace.settings.variant == "cpu-parallel"
    why_not = choose(window, qtbot, "naive")
    assert window.workspace.settings.variant == ("naive" if has_gpu else "cpu-parallel")
    assert ("driver" in why_not) is not has_gpu
    window.workspace.change(variant="auto")


@pytest.mark.parametrize("end", ["escape", "kill"])
def test_that_after_escape_or_a_killed_engine_the_next_run_works(window, engine, qtbot, monkeypatch, end):
    window.workspace.change(variant="cpu-serial")
    run_of = window.runs._run_of
    with monkeypatch.context() as longer, qtbot.waitSignal(window.jobs.finished, timeout=RUN_MS):
        # It lasts until it is ended, also where this process stands still for a while.
        longer.setattr(window.runs, "_run_of", lambda job: run_of(job, budget_s=600.0))
        window.actions["run"].trigger()
        qtbot.waitUntil(lambda: "sampling" in window.state.stage, timeout=RUN_MS)
        if end == "escape":
            window.actions["cancel"].trigger()
        else:
            os.kill(engine.client.host_pid, signal.SIGKILL)
    assert not window.state.running
    if end == "kill":
        (failed,) = window.results.results()
        assert "SIGKILL" in failed.status
        assert failed.kernel_ms is None
        assert window.window.isVisible()
        assert "killed" in window.window.message_bar.text
    run(window, qtbot, variant="cpu-parallel")
    assert window.results.results()[-1].kernel_ms > 0
    show_result_of(window, qtbot, preset("box-5" if end == "kill" else "box-3"))


def test_that_the_window_stays_alive_while_runs_become_verified_rows_with_their_times(window, engine, qtbot):
    with smooth() as turns:
        window.workspace.change(variant="cpu-serial")
        qtbot.waitUntil(window.actions["run"].isEnabled, timeout=RUN_MS)
        with qtbot.waitSignal(window.jobs.finished, timeout=RUN_MS), standing_still(engine):
            window.actions["run"].trigger()
            before = len(turns)
            qtbot.waitUntil(lambda: len(turns) > before + 20)
        run(window, qtbot, variant="cpu-parallel")
    for result, variant in zip(window.results.results(), ("cpu-serial", "cpu-parallel"), strict=True):
        assert (result.variant, result.verification.passed) == (variant, True)
        assert result.kernel_ms > 0


def test_that_runs_stand_under_the_limits_of_this_processor(window, qtbot):
    page = window.window.page_of("explore")
    page.bring_to_front("roofline")
    window.workspace.change(variant="cpu-parallel")
    window.actions["run"].trigger()
    qtbot.waitUntil(lambda: page.roofline.points != (), timeout=200_000)
    qtbot.waitUntil(lambda: page.roofline.lacks_limits or page.roofline.roofs != (), timeout=200_000)
    if page.roofline.lacks_limits:
        page.roofline.measure(page.roofline.device)
    qtbot.waitUntil(lambda: page.roofline.roofs != (), timeout=200_000)
    (point,) = page.roofline.points
    assert point.roof == min(point.roof, page.roofline.roofs[-1].measured)
    # Limit and run are measured one after the other; others may run beside one of them.
    assert 0 < point.share < 4


def test_that_a_run_on_this_processor_has_bounds_beside_its_time(window, qtbot):
    page = window.window.page_of("explore")
    page.bring_to_front("why")
    window.workspace.change(variant="cpu-parallel")
    window.actions["run"].trigger()
    qtbot.waitUntil(lambda: page.why.explained is not None, timeout=200_000)
    if page.why.step is Remedy.MEASURE:
        page.why.take_step()
    qtbot.waitUntil(lambda: page.why.words == "", timeout=200_000)
    (result,) = window.results.results()
    assert result.explained.measured_ms == result.kernel_ms
    assert result.explained.words


@needs_nvvm
def test_that_the_engine_finds_the_registers_of_the_selected_kernel(window, qtbot):
    page = window.window.page_of("explore")
    page.bring_to_front("launch")
    page.selection.select("tiled")
    page.workspace.change(block=Block(16, 8))
    state = page.launch
    qtbot.waitUntil(lambda: state.answer is not None and state.answer.is_complete, timeout=200_000)
    (launch,) = state.answer.launches
    assert launch.facts.block[:2] == (16, 8)
    assert 16 <= launch.facts.registers <= 255
    assert page.launch.note == ""


def test_that_a_file_that_is_being_saved_is_whole_when_the_window_has_closed(window, qtbot, tmp_path):
    # The last test: the window closes when the file is written.
    out = tmp_path / "x.png"
    show_result_of(window, qtbot, preset("sobel-x"))
    page = window.window.page_of("explore")
    page.pictures.save_result(out)
    window.window.close()
    assert window.window.isVisible(), "it waits"
    qtbot.waitUntil(lambda: not window.window.isVisible(), timeout=RUN_MS)
    assert open_image(out).pixels.shape == (512, 512)
    assert [path.name for path in tmp_path.iterdir()] == ["x.png"]

"""The way out where the simulator refuses a picture: one button, wherever it is refused."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from engine.course.papers import PAPERS
from engine.errors import EngineError
from engine.host.request import Preview
from gui.explore.preview_controller import USE_PART
from tests.gui.made_results import NO_CUDA


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

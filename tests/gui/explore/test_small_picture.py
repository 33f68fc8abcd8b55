"""The way out where the simulator refuses a picture: one button, wherever it is refused."""

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from gui.explore.small_picture import USE_PART


def by_preview(haloscope):
    """A photo is opened while the simulator is chosen."""


def by_run(haloscope):
    haloscope.messages.clear("preview")
    haloscope.actions["run"].trigger()


def by_run_all(haloscope):
    haloscope.messages.clear("preview")
    haloscope.actions["run_all"].trigger()


def by_operation(haloscope):
    haloscope.messages.clear("preview")
    haloscope.window.page.workspace.choose("median")


@pytest.mark.parametrize("refused", [by_preview, by_run, by_run_all, by_operation])
def test_that_each_refusal_of_the_simulator_offers_a_small_picture(haloscope, qtbot, refused):
    bar = haloscope.window.message_bar
    haloscope.workspace.change(device="simulator")
    haloscope.pictures.open_path(Path("large.png"))
    qtbot.waitUntil(lambda: haloscope.workspace.picture.title == "large.png" and bar.isVisible())
    refused(haloscope)
    button, other = bar.findChildren(QPushButton)
    qtbot.waitUntil(lambda: button.isVisible() and not haloscope.state.running)
    assert not other.isVisible()
    assert button.text() == USE_PART
    assert "oo large for the simulator (limit 64 × 64)" in bar.text
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: haloscope.workspace.picture.crop == (4, 68, 16, 80, 1))
    qtbot.waitUntil(lambda: haloscope.state.last_result is not None and not haloscope.display.is_earlier)
    assert haloscope.workspace.settings.device == "simulator"
    assert haloscope.actions["save"].isEnabled()
    assert not bar.isVisible()


def test_that_the_kernels_that_the_simulator_refuses_share_one_short_reason(haloscope, qtbot):
    haloscope.workspace.change(device="simulator")
    haloscope.pictures.open_path(Path("large.png"))
    variants = haloscope.window.page.kernel_panel.variants
    wanted = "Too large for the simulator (limit 64 × 64): 5 kernels"
    qtbot.waitUntil(lambda: variants.rows()[1].under == wanted)

"""The mask doctor in the window."""

import numpy as np
import pytest

from engine.mask.mask import Mask
from engine.mask.presets import preset
from gui.explore.inspect.doctor_panel import DoctorPanel, DoctorState


@pytest.fixture
def state(workspace):
    workspace.set_mask(preset("sobel-x"))
    return DoctorState(workspace)


@pytest.fixture
def panel(qtbot, state):
    panel = DoctorPanel(state)
    qtbot.addWidget(panel)
    panel.resize(700, 260)
    panel.show()
    with qtbot.waitSignal(state.changed, check_params_cb=lambda: state.examination is not None):
        state.watch(True)
    return panel


def test_that_the_doctor_says_what_a_mask_is_and_costs_as_it_is_applied(panel, workspace, qtbot, state):
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

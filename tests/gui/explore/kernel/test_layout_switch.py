import pytest
from pytestqt.qtbot import QtBot

from engine.geometry.layout import Layout
from gui.engine_link.engine_state import EngineState
from gui.explore.kernel.memory_controls import LayoutSwitch
from gui.explore.workspace import Workspace
from tests.gui.made_results import make_engine_state, make_picture, make_workspace


def make_switch(qtbot: QtBot, engine_state: EngineState) -> tuple[LayoutSwitch, Workspace]:
    workspace = make_workspace()
    switch = LayoutSwitch(workspace, engine_state)
    workspace.setParent(switch)
    engine_state.setParent(switch)
    qtbot.addWidget(switch)
    return switch, workspace


def test_that_a_click_changes_the_layout_of_the_job(qtbot: QtBot) -> None:
    switch, workspace = make_switch(qtbot, make_engine_state())
    assert switch.isChecked()
    with qtbot.waitSignal(workspace.job_changed):
        switch.click()
    job = workspace.job()
    assert job is not None
    assert job.layout is Layout.PACKED
    switch.click()
    assert workspace.settings.layout is Layout.PITCHED


def test_that_it_follows_the_state(qtbot: QtBot) -> None:
    switch, workspace = make_switch(qtbot, make_engine_state())
    workspace.change(layout=Layout.PACKED)
    assert not switch.isChecked()


@pytest.mark.parametrize(("device", "cuda"), [("cpu", True), ("auto", False)])
def test_that_on_the_cpu_it_is_greyed_with_the_reason_and_the_choice_is_kept(
    qtbot: QtBot, device: str, cuda: bool
) -> None:
    switch, workspace = make_switch(qtbot, make_engine_state(cuda=cuda))
    workspace.change(device=device)
    assert not switch.isEnabled()
    assert switch.isChecked()
    assert switch.text() == "Packed rows"
    assert "always packed" in switch.toolTip()
    assert "choose a CUDA device or the simulator" in switch.toolTip()
    assert workspace.settings.layout is Layout.PITCHED
    workspace.change(device="simulator")
    assert switch.isEnabled()
    assert switch.isChecked()


def test_that_the_tooltip_tells_what_the_layout_means_for_the_picture(qtbot: QtBot) -> None:
    switch, workspace = make_switch(qtbot, make_engine_state())
    assert "1001" in switch.toolTip()
    assert "1,536 bytes per row, which is a boundary already" in switch.toolTip()
    workspace.set_picture(make_picture(width=1001, channels=1))
    assert "1,001 bytes per row packed, 1,024 pitched" in switch.toolTip()

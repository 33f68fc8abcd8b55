from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from gui.engine_link.device_box import DeviceBox
from gui.engine_link.engine_state import EngineState
from gui.explore.workspace import Workspace
from tests.gui.made_results import NO_CUDA, make_engine_state, make_workspace

_TOOLTIP = Qt.ItemDataRole.ToolTipRole


def make_box(qtbot: QtBot, engine_state: EngineState) -> tuple[DeviceBox, Workspace]:
    workspace = make_workspace()
    box = DeviceBox(workspace, engine_state)
    workspace.setParent(box)
    engine_state.setParent(box)
    qtbot.addWidget(box)
    return box, workspace


def test_that_a_device_that_cannot_be_used_is_greyed_with_the_reason(qtbot):
    box, _ = make_box(qtbot, make_engine_state(cuda=False))
    position = box.findData("cuda:0")
    assert not box.model().flags(box.model().index(position, 0)) & Qt.ItemFlag.ItemIsEnabled
    assert NO_CUDA in box.itemData(position, _TOOLTIP)


def test_that_choosing_a_device_changes_the_state(qtbot):
    box, workspace = make_box(qtbot, make_engine_state())
    box.activated.emit(box.findData("cuda:0"))
    assert workspace.settings.device == "cuda:0"


def test_that_the_simulator_says_that_its_times_mean_nothing(qtbot):
    box, workspace = make_box(qtbot, make_engine_state())
    workspace.change(device="simulator")
    assert box.currentData() == "simulator"
    assert "not speed" in box.note
    assert "64 x 64" in box.note


def test_that_a_device_of_another_machine_is_shown_as_not_here(qtbot):
    box, workspace = make_box(qtbot, make_engine_state())
    workspace.change(device="cuda:7")
    assert box.currentText() == "cuda:7"
    assert "cuda:7" in box.note


def test_that_devices_arrive_with_the_engine_and_the_choice_stays(qtbot):
    engine_state = EngineState()
    box, workspace = make_box(qtbot, engine_state)
    workspace.change(device="cpu")
    engine_state.devices = make_engine_state().devices
    engine_state.ready_changed.emit()
    assert box.currentData() == "cpu"
    assert box.count() == 4

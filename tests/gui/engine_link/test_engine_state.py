from PySide6.QtCore import Qt

from gui.engine_link.device_box import DeviceBox
from gui.engine_link.engine_state import EngineState
from tests.gui.made_results import NO_CUDA, make_engine_state, make_workspace


def test_that_the_newest_task_is_shown_first(qtbot):
    state = EngineState()
    with qtbot.waitSignal(state.progress_changed):
        state.set_task("run", "verifying", 0.2)
    state.set_task("open", "opening photo.png")
    assert state.stage == "opening photo.png"
    state.end_task("open")
    assert (state.stage, state.fraction) == ("verifying", 0.2)
    state.end_task("run")
    assert (state.busy, state.stage) == (False, "")


def test_that_a_device_is_chosen_greyed_with_its_reason_or_shown_as_not_here(qtbot):
    state, workspace = EngineState(), make_workspace()
    box = DeviceBox(workspace, state)
    workspace.setParent(box)
    state.setParent(box)
    qtbot.addWidget(box)
    workspace.change(device="cpu")
    state.devices = make_engine_state(cuda=False).devices
    state.ready_changed.emit()
    assert box.currentData() == "cpu", "also when devices arrive"
    position = box.findData("cuda:0")
    assert not box.model().flags(box.model().index(position, 0)) & Qt.ItemFlag.ItemIsEnabled
    assert NO_CUDA in box.itemData(position, Qt.ItemDataRole.ToolTipRole)
    box.activated.emit(box.findData("simulator"))
    assert workspace.settings.device == "simulator"
    assert "no speeds" in box.note
    workspace.change(device="cuda:7")
    assert box.currentText() == "cuda:7"
    assert "cuda:7" in box.note

from PySide6.QtCore import Qt

from gui.engine_link.device_box import DeviceBox
from gui.engine_link.engine_state import EngineState
from tests.gui.made_results import NO_CUDA, make_engine_state, make_workspace


def test_that_the_newest_task_is_shown_first(qtbot, qapp):
    state = EngineState()
    state.set_task("run", "sampling", 0.5)
    with qtbot.assertNotEmitted(state.progress_changed):
        state.set_task("run", "sampling", 0.5)
    with qtbot.waitSignal(state.progress_changed):
        state.set_task("run", "verifying", 0.2)
    state.set_task("open", "opening photo.png")
    assert state.stage == "opening photo.png"
    state.end_task("open")
    assert (state.stage, state.fraction) == ("verifying", 0.2)
    state.end_task("run")
    assert (state.busy, state.stage) == (False, "")


_TOOLTIP = Qt.ItemDataRole.ToolTipRole


def make_box(qtbot, engine_state):
    workspace = make_workspace()
    box = DeviceBox(workspace, engine_state)
    workspace.setParent(box)
    engine_state.setParent(box)
    qtbot.addWidget(box)
    return box, workspace


def test_that_a_device_is_chosen_greyed_with_its_reason_or_shown_as_not_here(qtbot):
    box, workspace = make_box(qtbot, make_engine_state(cuda=False))
    position = box.findData("cuda:0")
    assert not box.model().flags(box.model().index(position, 0)) & Qt.ItemFlag.ItemIsEnabled
    assert NO_CUDA in box.itemData(position, _TOOLTIP)
    box.activated.emit(box.findData("cpu"))
    assert workspace.settings.device == "cpu"
    workspace.change(device="simulator")
    assert box.currentData() == "simulator"
    assert "no speeds" in box.note
    assert "2 megapixels" in box.note
    workspace.change(device="cuda:7")
    assert box.currentText() == "cuda:7"
    assert "cuda:7" in box.note


def test_that_the_choice_of_a_device_stays_when_devices_arrive(qtbot):
    engine_state = EngineState()
    box, workspace = make_box(qtbot, engine_state)
    workspace.change(device="cpu")
    engine_state.devices = make_engine_state().devices
    engine_state.ready_changed.emit()
    assert box.currentData() == "cpu"
    keys = [box.itemData(position) for position in range(box.count())]
    assert [key for key in keys if key] == ["auto", "cpu", "cuda:0", "simulator"]

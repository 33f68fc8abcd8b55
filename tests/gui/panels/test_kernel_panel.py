from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.host.protocol import Availability, Ready
from gui.panels.kernel_panel import KernelPanel
from gui.state.engine_state import EngineState
from gui.state.results_model import ResultsModel
from gui.state.workspace import Workspace
from tests.gui.made_results import (
    NO_CUDA,
    make_engine_state,
    make_failure,
    make_result,
    make_simulated,
    make_workspace,
)


def make_panel(
    qtbot: QtBot, engine_state: EngineState | None = None
) -> tuple[KernelPanel, Workspace, EngineState, ResultsModel]:
    workspace, results = make_workspace(), ResultsModel()
    engine_state = engine_state or make_engine_state()
    panel = KernelPanel(workspace, engine_state, results)
    for owned in (workspace, results, engine_state):
        owned.setParent(panel)
    qtbot.addWidget(panel)
    panel.resize(300, 760)
    panel.show()
    return panel, workspace, engine_state, results


def click_kernel(qtbot: QtBot, panel: KernelPanel, key: str) -> None:
    index = panel.variants.index(panel.variants.position(key))
    place = panel.kernels.visualRect(index).center()
    qtbot.mouseClick(panel.kernels.viewport(), Qt.MouseButton.LeftButton, pos=place)


def test_that_clicking_a_kernel_chooses_it(qtbot: QtBot) -> None:
    panel, workspace, _, _ = make_panel(qtbot)
    click_kernel(qtbot, panel, "tiled")
    assert workspace.settings.variant == "tiled"


def test_that_a_greyed_kernel_cannot_be_chosen_and_its_reason_is_on_the_panel_and_in_the_tooltip(
    qtbot: QtBot,
) -> None:
    panel, workspace, _, _ = make_panel(qtbot, make_engine_state(cuda=False))
    click_kernel(qtbot, panel, "tiled")
    assert workspace.settings.variant == "auto"
    assert f"naive, tiled, cached: {NO_CUDA}" in panel.greyed.toolTip()
    index = panel.variants.index(panel.variants.position("tiled"))
    assert NO_CUDA in index.data(Qt.ItemDataRole.ToolTipRole)
    panel.kernels.hovered.emit("tiled")
    assert panel.note.text() == NO_CUDA


def test_that_arrow_keys_choose_and_pass_over_greyed_kernels(qtbot: QtBot) -> None:
    panel, workspace, _, _ = make_panel(qtbot, make_engine_state(cuda=False))
    for _ in range(5):
        qtbot.keyClick(panel.kernels, Qt.Key.Key_Down)
    assert workspace.settings.variant == "cpu-parallel"


def test_that_the_list_follows_the_state(qtbot: QtBot) -> None:
    panel, workspace, _, _ = make_panel(qtbot)
    workspace.change(variant="cached")
    assert panel.kernels.currentIndex().row() == panel.variants.position("cached")


def test_that_the_baseline_is_chosen_among_the_variants(qtbot: QtBot) -> None:
    panel, workspace, _, _ = make_panel(qtbot)
    assert panel.baseline.currentText() == "cpu-serial"
    position = panel.baseline.findData("naive")
    panel.baseline.activated.emit(position)
    assert workspace.settings.baseline == "naive"


def test_that_the_greyed_line_says_the_first_sentence_and_its_tooltip_the_rest(qtbot: QtBot) -> None:
    state = make_engine_state()
    reason = "No NVIDIA driver was found. Choose a CPU variant."
    state.set_availability(tuple(Availability(key, reason) for key in ("naive", "tiled")))
    panel, _, _, _ = make_panel(qtbot, state)
    assert panel.greyed.text() == "naive, tiled: No NVIDIA driver was found"
    assert "Choose a CPU variant" in panel.greyed.toolTip()
    state.set_availability(())
    assert panel.greyed.isHidden()


def test_that_the_note_keeps_its_height_whatever_is_hovered(qtbot: QtBot) -> None:
    panel, _, _, _ = make_panel(qtbot)
    places = set()
    for key in ("", "tiled", "cpu-serial"):
        panel.kernels.hovered.emit(key)
        QApplication.processEvents()
        places.add(panel.block.y())
    assert len(places) == 1


def test_that_the_breakdown_is_hidden_before_the_first_run_and_for_runs_without_a_speed(qtbot: QtBot) -> None:
    panel, _, _, results = make_panel(qtbot)
    results.add(make_failure())
    results.add(make_simulated())
    assert not panel.breakdown.isVisible()
    results.add(make_result("tiled", 0.04))
    assert panel.breakdown.isVisible()
    for part in ("compile 412 ms", "allocate 1.20 ms", "H2D 0.220 ms", "kernel 0.0400 ms", "D2H 0.220 ms"):
        assert part in panel.breakdown.accessibleDescription()


def test_that_the_breakdown_of_a_run_on_the_cpu_has_no_copies(qtbot: QtBot) -> None:
    panel, _, _, results = make_panel(qtbot)
    results.add(make_result("cpu-serial", 18.0))
    assert "H2D" not in panel.breakdown.accessibleDescription()


def test_that_nothing_jumps_when_the_engine_tells_of_its_kernels(qtbot: QtBot) -> None:
    state = EngineState()
    panel, _, _, _ = make_panel(qtbot, state)
    QApplication.processEvents()
    place = panel.block.y()
    ready = make_engine_state(cuda=False)
    state.set_ready(Ready(ready.variants, ready.devices))
    state.set_availability(tuple(ready.availability.values()))
    QApplication.processEvents()
    assert panel.block.y() == place

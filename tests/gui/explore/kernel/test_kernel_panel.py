from dataclasses import replace

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from engine.geometry.block import Block
from engine.host.messages import Ready
from engine.host.protocol import Availability
from gui.engine_link.engine_state import EngineState
from gui.explore.kernel.kernel_panel import KernelPanel
from gui.explore.kernel.variants_model import ROW_ROLE
from gui.explore.results.results_model import ResultsModel, SelectedResult
from gui.explore.workspace import Workspace
from gui.style.metrics import small_font
from tests.gui.made_results import (
    CPU_DEVICE,
    CUDA_DEVICE,
    NO_CUDA,
    REMARK,
    VARIANTS,
    make_engine_state,
    make_workspace,
)
from tests.made_runs import WORK, make_failure, make_result, make_simulated


def make_panel(
    qtbot: QtBot, engine_state: EngineState | None = None
) -> tuple[KernelPanel, Workspace, EngineState, ResultsModel]:
    workspace, results = make_workspace(), ResultsModel()
    engine_state = engine_state or make_engine_state()
    panel = KernelPanel(workspace, engine_state, results, SelectedResult(results, workspace))
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


def under(panel: KernelPanel, key: str) -> str:
    """What stands under a kernel in the list."""
    return panel.variants.index(panel.variants.position(key)).data(ROW_ROLE).under


def words_of(panel: KernelPanel, key: str) -> tuple[QRect, QRect]:
    """The row of a kernel, and what the words under its title take of it when they are written there."""
    row = panel.kernels.visualRect(panel.variants.index(panel.variants.position(key)))
    place = QRect(row.left() + 28, row.top() + 20, panel.kernels.viewport().width() - 28 - 8, 1000)
    words = QFontMetrics(small_font()).boundingRect(place, Qt.TextFlag.TextWordWrap, under(panel, key))
    return row, words


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
    assert under(panel, "naive") == "There is no NVIDIA driver here (3 kernels)"
    index = panel.variants.index(panel.variants.position("tiled"))
    assert NO_CUDA in index.data(Qt.ItemDataRole.ToolTipRole)
    panel.kernels.hovered.emit("tiled")
    assert panel.note.text() == NO_CUDA
    assert panel.note.toolTip() == f"{NO_CUDA}\n\n{REMARK}"


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
    panel.baseline.textActivated.emit("naive")
    assert workspace.settings.baseline == "naive"


def test_that_a_greyed_kernel_says_under_its_title_why_and_its_tooltip_the_rest(qtbot: QtBot) -> None:
    state = make_engine_state()
    reason = "Running sums need equal weights; that in row 1 is 0.3. Choose a CPU variant."
    state.set_availability((Availability("tiled", reason),))
    panel, _, _, _ = make_panel(qtbot, state)
    assert under(panel, "tiled") == "Running sums need equal weights"
    tooltip = panel.variants.index(panel.variants.position("tiled")).data(Qt.ItemDataRole.ToolTipRole)
    assert "Choose a CPU variant" in tooltip
    state.set_availability(())
    assert under(panel, "tiled") == ""


def test_that_neighbours_that_differ_only_in_what_would_do_are_told_why_once(qtbot: QtBot) -> None:
    state = make_engine_state()
    reasons = {key: f"A mask of one row is needed. Or take {key}." for key in ("naive", "tiled")}
    reasons["cpu-serial"] = "A mask of one row is needed. Or wait."
    state.set_availability(tuple(Availability(key, reason) for key, reason in reasons.items()))
    panel, _, _, _ = make_panel(qtbot, state)
    assert under(panel, "cpu-serial") == "A mask of one row is needed"
    assert under(panel, "naive") == "A mask of one row is needed (2 kernels)"
    assert under(panel, "tiled") == ""


def test_that_a_kernel_that_only_refuses_its_block_has_nothing_under_its_title(qtbot: QtBot) -> None:
    refused = {"tiled": Availability("tiled", "A block of 40 x 40 has too many threads.", Block(32, 32))}
    panel, _, _, _ = make_panel(qtbot, make_engine_state(refused=refused))
    assert under(panel, "tiled") == ""


@pytest.mark.parametrize("width", [288, 400])
def test_that_a_long_reason_has_the_lines_that_it_needs_and_the_next_kernel_begins_below_it(
    qtbot: QtBot, width: int
) -> None:
    state = make_engine_state()
    panel, _, _, _ = make_panel(qtbot, state)
    panel.resize(width, 760)
    QApplication.processEvents()
    reason = "A block that covers the input tile needs at least 3,969 threads for a mask as large as this one"
    state.set_availability((Availability("naive", reason),))
    QApplication.processEvents()
    row, words = words_of(panel, "naive")
    assert words.height() > QFontMetrics(small_font()).lineSpacing() or width > 288
    assert words.right() <= panel.kernels.viewport().width()
    assert words.bottom() <= row.bottom()
    below = panel.kernels.visualRect(panel.variants.index(panel.variants.position("tiled")))
    assert below.top() > row.bottom()


def test_that_a_reason_that_moves_to_another_kernel_takes_its_lines_along(qtbot: QtBot) -> None:
    state = make_engine_state()
    panel, _, _, _ = make_panel(qtbot, state)
    for key, other in (("naive", "tiled"), ("tiled", "naive")):
        state.set_availability((Availability(key, "It needs equal weights. Take another."),))
        QApplication.processEvents()
        row, words = words_of(panel, key)
        assert words.bottom() <= row.bottom()
        assert row.height() > words_of(panel, other)[0].height()


def test_that_page_down_shows_the_reasons_of_greyed_kernels_and_chooses_nothing(qtbot: QtBot) -> None:
    panel, workspace, _, _ = make_panel(qtbot, ladder_of_fourteen())
    panel.resize(288, 420)
    QApplication.processEvents()
    seen = panel.kernels.viewport().rect()
    assert not seen.contains(words_of(panel, "more-6")[1])
    for _ in range(4):
        qtbot.keyClick(panel.kernels, Qt.Key.Key_PageDown)
    assert seen.contains(words_of(panel, "more-6")[1])
    assert workspace.settings.variant == "auto"
    for _ in range(4):
        qtbot.keyClick(panel.kernels, Qt.Key.Key_PageUp)
    assert panel.kernels.verticalScrollBar().value() == 0


def test_that_the_note_of_the_chosen_kernel_is_not_cut(qtbot: QtBot) -> None:
    state = make_engine_state()
    long = (
        "For masks of rank 2. Where weights of both signs meet, the error is larger, and it is stated. " * 2
    )
    state.set_ready(Ready((*VARIANTS[:-1], replace(VARIANTS[-1], remark=long)), state.devices))
    panel, workspace, _, _ = make_panel(qtbot, state)
    QApplication.processEvents()
    short = panel.note.height()
    workspace.change(variant="cached")
    QApplication.processEvents()
    lines = panel.note.lines_of(panel.note.text())
    assert lines > 2
    assert panel.note.height() >= lines * panel.note.fontMetrics().lineSpacing() > short


def test_that_each_setting_has_a_label_with_a_letter_of_its_own(qtbot: QtBot) -> None:
    panel, _, _, _ = make_panel(qtbot)
    labels = [label for label in panel.findChildren(QLabel) if label.buddy() is not None]
    named = {label.text().replace("&", ""): label.buddy() for label in labels}
    assert named == {
        "Block width": panel.block.width_box,
        "Output type": panel.result_type,
        "height": panel.block.height_box,
        "Device": panel.device,
        "Baseline": panel.baseline,
    }
    letters = [
        label.text()[label.text().index("&") + 1].casefold() for label in labels if "&" in label.text()
    ]
    assert len({*letters, *"fevrh"}) == len(letters) + len("fevrh"), "the menu bar has its own"
    for label in labels:
        assert isinstance(label.buddy(), QWidget)
        assert label.buddy().accessibleName()


def test_that_the_letter_of_a_label_brings_the_keys_there(qtbot: QtBot) -> None:
    panel, _, _, _ = make_panel(qtbot)
    panel.activateWindow()
    qtbot.waitUntil(panel.isActiveWindow)
    qtbot.keyClick(panel, Qt.Key.Key_T, Qt.KeyboardModifier.AltModifier)
    assert panel.result_type.hasFocus()


def ladder_of_fourteen() -> EngineState:
    """Return a state with as many kernels as Haloscope has, the last three greyed."""
    more = tuple(replace(VARIANTS[-1], key=f"more-{n}", title=f"More {n}") for n in range(9))
    state = EngineState()
    state.set_ready(Ready(VARIANTS + more, (CPU_DEVICE, CUDA_DEVICE)))
    reason = "A 1-D kernel takes a mask of one row, and this one has 3. Take a mask of one row."
    state.set_availability(tuple(Availability(variant.key, reason) for variant in more[-3:]))
    return state


def test_that_the_whole_ladder_is_seen_where_there_is_room(qtbot: QtBot) -> None:
    panel, _, _, _ = make_panel(qtbot, ladder_of_fourteen())
    QApplication.processEvents()
    last = panel.kernels.visualRect(panel.variants.index(14))
    assert panel.kernels.viewport().rect().contains(last)


def test_that_in_a_low_window_the_ladder_scrolls_and_everything_below_it_stays_in_sight(qtbot: QtBot) -> None:
    panel, workspace, _, results = make_panel(qtbot, ladder_of_fourteen())
    results.add(make_result("tiled", 0.04))
    panel.resize(288, 475)
    QApplication.processEvents()
    assert panel.kernels.verticalScrollBar().maximum() > 0
    assert panel.kernels.viewport().height() >= 6 * 24
    assert not panel.breakdown.visibleRegion().isEmpty()
    assert panel.breakdown.visibleRegion().boundingRect().height() == panel.breakdown.height()
    workspace.change(variant="more-5")
    chosen = panel.kernels.visualRect(panel.kernels.currentIndex())
    assert panel.kernels.viewport().rect().contains(chosen)


def test_that_in_the_lowest_window_some_rows_are_left_and_the_panel_scrolls(qtbot: QtBot) -> None:
    panel, _, _, _ = make_panel(qtbot, ladder_of_fourteen())
    panel.resize(288, 200)
    QApplication.processEvents()
    assert panel.height() == 200
    assert panel.kernels.height() >= 5 * 24
    panel.resize(288, 900)
    QApplication.processEvents()
    assert panel.kernels.verticalScrollBar().maximum() == 0


def test_that_the_note_keeps_its_height_whatever_is_hovered(qtbot: QtBot) -> None:
    panel, _, _, _ = make_panel(qtbot)
    places = set()
    for key in ("", "tiled", "cpu-serial"):
        panel.kernels.hovered.emit(key)
        QApplication.processEvents()
        places.add(panel.block.y())
    assert len(places) == 1


def test_that_the_note_tells_what_to_know_before_using_a_kernel(qtbot: QtBot) -> None:
    panel, workspace, _, _ = make_panel(qtbot)
    workspace.change(variant="tiled")
    told = "The input tile with its halo in shared memory."
    assert panel.note.text() == f"{told} {REMARK}"
    assert panel.note.toolTip() == f"{told}\n\n{REMARK}"


def test_that_the_model_of_work_of_the_last_run_is_told_also_of_the_simulator(qtbot: QtBot) -> None:
    panel, _, _, results = make_panel(qtbot)
    results.add(make_failure())
    assert panel.work.isHidden()
    results.add(make_result("naive", 900.0, device="simulator", work=WORK))
    assert panel.work.isVisible()
    QApplication.processEvents()
    assert (
        panel.work.lines_of(panel.work.text()) * panel.work.fontMetrics().lineSpacing() <= panel.work.height()
    )
    assert panel.work.text().startswith("Model: 25 operations per global load (CGMA). Per output value: ")
    assert "1.6 image loads, 0.4 mask loads, 25 shared loads" in panel.work.text()
    assert "<b>naive</b>" in panel.work.toolTip()
    results.clear()
    assert panel.work.isHidden()


def test_that_the_breakdown_is_hidden_before_the_first_run_and_says_why_a_run_has_no_time(
    qtbot: QtBot,
) -> None:
    panel, _, _, results = make_panel(qtbot)
    assert not panel.breakdown.isVisible()
    results.add(make_simulated())
    assert panel.breakdown.accessibleDescription().endswith("Simulated: no times")
    results.add(make_result("tiled", 0.04))
    for part in ("compile 412 ms", "allocate 1.20 ms", "H2D 0.220 ms", "kernel 0.0400 ms", "D2H 0.220 ms"):
        assert part in panel.breakdown.accessibleDescription()


def test_that_breakdown_and_work_model_follow_the_selected_run_and_name_it(qtbot: QtBot) -> None:
    panel, workspace, _, results = make_panel(qtbot)
    selected = workspace.findChild(SelectedResult)
    assert isinstance(selected, SelectedResult)
    results.add(make_result("cpu-serial", 18.0))
    results.add(make_result("tiled", 0.04, work=WORK))
    assert panel.breakdown.title == "Run 2: tiled, 16 x 16"
    assert panel.work.isVisible()
    selected.select(results.results()[0])
    assert panel.breakdown.title == "Run 1: cpu-serial"
    assert "kernel 18.0 ms" in panel.breakdown.accessibleDescription()
    assert not panel.work.isVisible()
    results.add(make_failure("cpu-parallel"))
    assert panel.breakdown.title == "Run 3: cpu-parallel"


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


@pytest.mark.parametrize("key", ["kernel-8", "kernel-14"])
@pytest.mark.parametrize("can_run", [True, False])
def test_that_the_chosen_kernel_stays_in_view_when_a_run_makes_the_list_shorter(
    qtbot: QtBot, key: str, can_run: bool
) -> None:
    state = make_engine_state()
    ladder = tuple(replace(VARIANTS[-1], key=f"kernel-{at}") for at in range(15))
    state.set_ready(Ready(ladder, state.devices))
    reason = "" if can_run else NO_CUDA
    state.set_availability(tuple(Availability(variant.key, reason) for variant in ladder))
    panel, workspace, _, results = make_panel(qtbot, state)
    panel.resize(300, 640)
    workspace.change(variant=key)
    before = panel.kernels.height()
    results.add(make_result("tiled", 0.06, work=WORK))
    qtbot.waitUntil(lambda: panel.kernels.height() < before)
    QApplication.processEvents()
    place = panel.kernels.visualRect(panel.variants.index(panel.variants.position(key)))
    assert panel.kernels.viewport().rect().contains(place)

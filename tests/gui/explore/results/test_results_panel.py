from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QToolButton
from pytestqt.qtbot import QtBot

from engine.results.columns import KERNEL, SPEED_UP
from gui.explore.results.results_model import ResultsModel
from gui.explore.results.results_panel import ResultsPanel
from tests.gui.made_results import make_workspace
from tests.made_runs import make_failure, make_result


def make_panel(qtbot: QtBot) -> tuple[ResultsPanel, ResultsModel]:
    results, workspace = ResultsModel(), make_workspace()
    panel = ResultsPanel(results, workspace)
    results.setParent(panel)
    workspace.setParent(panel)
    qtbot.addWidget(panel)
    panel.show()
    return panel, results


def button(panel: ResultsPanel, text: str) -> QToolButton:
    return next(found for found in panel.findChildren(QToolButton) if found.text() == text)


def test_that_an_empty_panel_says_what_will_be_there_and_how_to_fill_it(qtbot: QtBot) -> None:
    panel, results = make_panel(qtbot)
    shown = [label.text() for label in panel.findChildren(QLabel) if label.isVisible()]
    assert any("Run" in text for text in shown)
    assert not button(panel, "CSV").isEnabled()
    results.add(make_result())
    assert panel.table.isVisible()
    assert button(panel, "CSV").isEnabled()


def test_that_copy_takes_the_selected_rows_in_the_order_shown(qtbot: QtBot) -> None:
    panel, results = make_panel(qtbot)
    for variant, kernel_ms in (("cpu-serial", 20.0), ("naive", 2.0), ("tiled", 0.5)):
        results.add(make_result(variant, kernel_ms))
    panel.table.sortByColumn(results.position(KERNEL), Qt.SortOrder.AscendingOrder)
    # Not selectRow, which asks for the keys that are down and may find those of an earlier test.
    rows = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
    panel.table.selectionModel().select(panel.table.order.index(0, 0), rows)
    qtbot.keyClick(panel.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["Variant", "tiled"]
    assert "40" in lines[1].split("\t")


def test_that_copy_takes_every_row_where_none_is_selected(qtbot: QtBot) -> None:
    panel, results = make_panel(qtbot)
    for variant in ("cpu-serial", "naive"):
        results.add(make_result(variant))
    qtbot.mouseClick(button(panel, "Copy"), Qt.MouseButton.LeftButton)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert [line.split("\t")[0] for line in lines] == ["Variant", "cpu-serial", "naive"]


def test_that_the_buttons_ask_for_files_and_clear(qtbot: QtBot) -> None:
    panel, results = make_panel(qtbot)
    results.add(make_failure())
    with qtbot.waitSignal(panel.save_csv_requested):
        button(panel, "CSV").click()
    with qtbot.waitSignal(panel.save_json_requested):
        button(panel, "JSON").click()
    button(panel, "Clear").click()
    assert results.results() == ()


def test_that_the_baseline_of_the_workspace_is_that_of_the_table_and_its_header_is_not_cut(
    qtbot: QtBot,
) -> None:
    results, workspace = ResultsModel(), make_workspace()
    panel = ResultsPanel(results, workspace)
    qtbot.addWidget(panel)
    workspace.change(baseline="separable-register-blocked")
    assert results.baseline == "separable-register-blocked"
    at, header = results.position(SPEED_UP), panel.table.horizontalHeader()
    title, against = str(panel.table.model().headerData(at, Qt.Orientation.Horizontal)).splitlines()
    assert (title, against) == ("Speed-up", "vs separable-register-blocked")
    assert panel.table.columnWidth(at) > header.fontMetrics().horizontalAdvance(against)


def test_that_the_columns_that_matter_most_are_seen_in_a_narrow_window(qtbot: QtBot) -> None:
    panel, results = make_panel(qtbot)
    results.add(make_result())
    panel.resize(480, 240)
    width = panel.table.viewport().width()
    for key in ("variant", KERNEL, SPEED_UP):
        position = results.position(key)
        assert panel.table.columnViewportPosition(position) + panel.table.columnWidth(position) <= width


def test_that_what_is_the_same_for_all_runs_stands_once_above_the_table(qtbot: QtBot) -> None:
    panel, results = make_panel(qtbot)
    results.add(make_result("tiled"))
    hidden = {
        key: panel.table.isColumnHidden(results.position(key)) for key in ("picture", "device", "block")
    }
    assert hidden == {"picture": True, "device": True, "block": False}
    assert panel.summary.text() == (
        "1 run · 512 x 512 RGB uint8 · mask Gaussian, 5 x 5 · border zero · pitched rows · cuda:0"
    )
    results.add(make_result("cpu-serial"))
    assert not panel.table.isColumnHidden(results.position("device"))
    assert "cuda:0" not in panel.summary.text()


def test_that_columns_are_chosen_in_the_menu_of_the_header(qtbot: QtBot) -> None:
    panel, results = make_panel(qtbot)
    results.add(make_result("tiled"))
    actions = {action.text(): action for action in panel.table.column_menu().actions()}
    assert not actions["Compile, ms"].isChecked()
    assert actions["Compile, ms"].toolTip()
    actions["Compile, ms"].trigger()
    actions["Picture, px"].trigger()
    actions["Proof"].trigger()
    hidden = [panel.table.isColumnHidden(results.position(key)) for key in ("compile_ms", "picture", "proof")]
    assert hidden == [False, False, True]
    assert "512" not in panel.summary.text()
    panel.table.copy()
    header = QGuiApplication.clipboard().text().splitlines()[0].split("\t")
    assert "Compile, ms" in header
    assert "Proof" not in header
    actions["Columns as at first"].trigger()
    assert panel.table.isColumnHidden(results.position("compile_ms"))


def test_that_a_row_can_be_used_as_baseline(qtbot: QtBot) -> None:
    panel, results = make_panel(qtbot)
    for variant, kernel_ms in (("naive", 2.0), ("naive", 8.0)):
        results.add(make_result(variant, kernel_ms))
    results.add(make_failure())
    assert not panel.table.run_menu(2).actions()[0].isEnabled()
    panel.table.run_menu(1).actions()[0].trigger()
    assert results.baseline == "naive"
    assert results.rows()[0].baseline_run == 2
    use, fastest, *_ = panel.table.run_menu(1).actions()
    assert not use.isEnabled()
    fastest.trigger()
    assert results.rows()[1].baseline_run == 1

import pytest
from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel, QToolButton

from engine.results.columns import KERNEL, SPEED_UP
from gui.explore.results.results_panel import ResultsPanel
from tests.made_runs import make_failure, make_result


@pytest.fixture
def panel(qtbot, results, workspace):
    panel = ResultsPanel(results, workspace)
    qtbot.addWidget(panel)
    panel.show()
    return panel


def button(panel, text):
    return next(found for found in panel.findChildren(QToolButton) if found.text() == text)


def copied():
    """Return the cells on the clipboard, by rows."""
    return [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]


def hidden(panel, results, *keys):
    return [panel.table.isColumnHidden(results.position(key)) for key in keys]


def test_that_an_empty_panel_says_what_will_be_there_and_how_to_fill_it(panel, results):
    shown = [label.text() for label in panel.findChildren(QLabel) if label.isVisible()]
    assert any("Run" in text for text in shown)
    assert not button(panel, "CSV").isEnabled()
    results.add(make_result())
    assert panel.table.isVisible()
    assert button(panel, "CSV").isEnabled()


def test_that_copy_takes_the_selected_rows_in_the_order_shown_or_every_row(qtbot, panel, results):
    for variant, kernel_ms in (("cpu-serial", 20.0), ("naive", 2.0), ("tiled", 0.5)):
        results.add(make_result(variant, kernel_ms))
    qtbot.mouseClick(button(panel, "Copy"), Qt.MouseButton.LeftButton)
    assert [cells[0] for cells in copied()] == ["Variant", "cpu-serial", "naive", "tiled"]
    panel.table.sortByColumn(results.position(KERNEL), Qt.SortOrder.AscendingOrder)
    # Not selectRow, which asks for the keys that are down and may find those of an earlier test.
    rows = QItemSelectionModel.SelectionFlag.ClearAndSelect | QItemSelectionModel.SelectionFlag.Rows
    panel.table.selectionModel().select(panel.table.order.index(0, 0), rows)
    qtbot.keyClick(panel.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert [cells[0] for cells in copied()] == ["Variant", "tiled"]
    assert "40" in copied()[1]
    results.add(make_failure())
    assert not panel.table.selectionModel().selectedRows(), "the newest result is the one to speak of"


def test_that_the_buttons_ask_for_files_and_clear(qtbot, panel, results):
    results.add(make_failure())
    with qtbot.waitSignal(panel.save_csv_requested):
        button(panel, "CSV").click()
    with qtbot.waitSignal(panel.save_json_requested):
        button(panel, "JSON").click()
    button(panel, "Clear").click()
    assert results.results() == ()


def test_that_the_baseline_of_the_workspace_is_that_of_the_table_and_its_header_is_not_cut(
    panel, results, workspace
):
    workspace.change(baseline="separable-register-blocked")
    assert results.baseline == "separable-register-blocked"
    at, header = results.position(SPEED_UP), panel.table.horizontalHeader()
    title, against = panel.table.model().headerData(at, Qt.Orientation.Horizontal).splitlines()
    assert (title, against) == ("Speed-up", "vs separable-register-blocked")
    assert panel.table.columnWidth(at) > header.fontMetrics().horizontalAdvance(against)


def test_that_the_columns_that_matter_most_are_seen_in_a_narrow_window(panel, results):
    results.add(make_result())
    panel.resize(480, 240)
    for at in map(results.position, ("variant", KERNEL, SPEED_UP)):
        right = panel.table.columnViewportPosition(at) + panel.table.columnWidth(at)
        assert right <= panel.table.viewport().width()


def test_that_what_is_the_same_for_all_runs_stands_once_above_the_table(panel, results):
    results.add(make_result("tiled"))
    assert hidden(panel, results, "picture", "device", "block") == [True, True, False]
    assert panel.summary.text() == (
        "1 run · 512 x 512 RGB uint8 · mask Gaussian, 5 x 5 · border zero · pitched rows · cuda:0"
    )
    results.add(make_result("cpu-serial"))
    assert hidden(panel, results, "device") == [False]
    assert "cuda:0" not in panel.summary.text()


def test_that_columns_are_chosen_in_the_menu_of_the_header(panel, results):
    results.add(make_result("tiled"))
    actions = {action.text(): action for action in panel.table.column_menu().actions()}
    assert not actions["Compile, ms"].isChecked()
    assert actions["Compile, ms"].toolTip()
    for title in ("Compile, ms", "Picture, px", "Proof"):
        actions[title].trigger()
    assert hidden(panel, results, "compile_ms", "picture", "proof") == [False, False, True]
    assert "512" not in panel.summary.text()
    panel.table.copy()
    assert "Compile, ms" in copied()[0]
    assert "Proof" not in copied()[0]
    actions["Columns as at first"].trigger()
    assert hidden(panel, results, "compile_ms") == [True]


def test_that_a_row_can_be_used_as_baseline(panel, results, workspace):
    for result in (make_result("naive", 2.0), make_result("naive", 8.0), make_failure()):
        results.add(result)
    assert not panel.table.run_menu(2).actions()[0].isEnabled()
    panel.table.run_menu(1).actions()[0].trigger()
    assert results.baseline == workspace.settings.baseline == "naive"
    assert results.rows()[0].baseline_run == 2
    use, fastest, *_ = panel.table.run_menu(1).actions()
    assert not use.isEnabled()
    fastest.trigger()
    assert results.rows()[1].baseline_run == 1

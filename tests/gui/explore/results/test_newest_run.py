"""The newest run can be seen where people look for it; earlier and recorded ones are never taken for it."""

import json

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QAbstractItemModelTester, QTest

from engine.device_info import RECORDED
from engine.geometry.block import Block
from engine.mask.presets import preset
from engine.tasks.messages import RecordedRequest, RecordedRuns
from gui.explore.kernel.kernel_panel import PRESETS
from gui.explore.results.results_panel import ResultsPanel
from gui.page.messages import Severity, WindowMessage
from gui.page.runs_page import save_runs
from gui.runs.model import RUN_ROLE
from tests.gui.made_results import make_engine_state
from tests.gui.made_window import settle
from tests.made_runs import MASK, PROBLEM, made_recorded_runs, make_result


def run(haloscope, qtbot, action="run_all"):
    rows = haloscope.window.page.results.rowCount()
    haloscope.actions[action].trigger()
    qtbot.waitUntil(lambda: haloscope.window.page.results.rowCount() > rows and not haloscope.state.running)
    settle()


def on_screen(widget, rect=None):
    rect = rect or widget.rect()
    return QRect(widget.mapToGlobal(rect.topLeft()), rect.size())


def test_that_the_fastest_row_is_in_sight(open_window, qtbot):
    haloscope = open_window((1024, 700))
    page, table = haloscope.window.page, haloscope.window.page.results_panel.table
    for mask in ("box-3", "sobel-x", "gaussian-5"):
        haloscope.workspace.set_mask(preset(mask))
        run(haloscope, qtbot)
        # The fastest of the run, which stands first.
        (best,) = table.selectionModel().selectedRows()
        assert best.row() == 0
        rect = table.visualRect(best)
        assert rect.top() >= 0
        assert rect.bottom() <= table.viewport().rect().bottom()
    for severity in Severity:
        haloscope.messages.show(
            WindowMessage("test", severity, "It failed", "for a reason that is long. " * 12)
        )
        settle()
        bar = haloscope.window.message_bar
        assert bar.isVisible()
        assert not on_screen(bar).intersects(on_screen(page.results_panel))
        assert haloscope.window.rect().contains(
            bar.geometry().translated(bar.parentWidget().mapTo(haloscope.window, QPoint()))
        )


def shared_by_bars(page):
    """Return whether the bars are of runs for an earlier problem, and how many rows are."""
    runs = [run for run in page.results.rows() if id(run.result) in page.results.bars.values]
    earlier = sum(page.results.is_earlier(run.result) for run in page.results.rows())
    return all(page.results.is_earlier(run.result) for run in runs), earlier


def test_that_what_is_for_an_earlier_problem_is_dimmed_until_that_is_back(haloscope, qtbot):
    page = haloscope.window.page
    haloscope.workspace.change(variant="cpu-serial")
    run(haloscope, qtbot)
    assert shared_by_bars(page) == (False, 0)
    haloscope.workspace.set_mask(preset("box-3"))
    settle()
    assert shared_by_bars(page) == (True, 3)
    assert "earlier problem" in page.results_panel.summary.text()
    assert "earlier problem" in page.results_panel.about.text()
    # The line over the panels is of what is set now.
    assert page.answer_line.problem.text().endswith("Box 3 × 3 · zero border · no run yet")
    assert page.answer_line.answer.text() == ""
    # A run of the new problem is the one to speak of; three rows are left of the earlier one.
    run(haloscope, qtbot, "run")
    assert shared_by_bars(page) == (False, 3)
    assert "earlier" not in page.results_panel.about.text()
    # Undo: the former runs are again those of the problem that is set.
    haloscope.actions["undo"].trigger()
    settle()
    assert shared_by_bars(page) == (False, 1)


def test_that_another_operation_or_parameter_dims_the_runs_of_an_operation(haloscope, qtbot):
    page = haloscope.window.page
    page.workspace.choose("median")
    qtbot.waitUntil(lambda: page.display.operation_result is not None)
    haloscope.actions["run"].trigger()
    qtbot.waitUntil(lambda: page.results.rowCount() == 1 and not haloscope.state.running)
    for size, is_earlier in ((3, False), (7, True), (3, False)):
        page.workspace.set_parameter("size", size)
        settle()
        assert shared_by_bars(page)[0] == is_earlier
    page.workspace.choose("negative")
    settle()
    assert shared_by_bars(page)[0]


def test_that_a_click_on_a_run_selects_its_kernel_and_a_kernel_its_run(haloscope, qtbot):
    page = haloscope.window.first_page
    run(haloscope, qtbot)
    table = page.results_panel.table
    for row in (2, 0, 1):
        result = table.runs([row])[0].result if row else table.runs()[0].result
        at = table.visualRect(table.order.index(row, 1)).center()
        QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=at)
        assert haloscope.results.described.result is result
        assert [one.key for one in page.kernel_panel.variants.rows() if one.is_described] == [result.variant]
        assert page.selection.known.key == result.variant
    other = table.runs([2])[0].result
    page.kernel_panel.kernels.setCurrentIndex(
        page.kernel_panel.variants.index(page.kernel_panel.variants.position(other.variant))
    )
    assert haloscope.results.described.result is other


def test_that_return_in_the_list_of_blocks_compares_them_or_the_common_ones(haloscope, qtbot):
    panel = haloscope.blocks_panel
    haloscope.window.first_page.bring_to_front("blocks")
    haloscope.workspace.change(variant="naive")
    panel.field.field.setText("8x8, 16x16")
    before = haloscope.results.rowCount()
    qtbot.keyClick(panel.field.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: haloscope.results.rowCount() == before + 2 and not haloscope.state.running)
    assert haloscope.workspace.settings.blocks == (Block(8, 8), Block(16, 16))
    haloscope.workspace.change(blocks=())
    panel.compare_button.click()
    assert haloscope.workspace.settings.blocks == PRESETS
    qtbot.waitUntil(lambda: not haloscope.state.running and haloscope.results.rowCount() > 0)


RECORDED_RUNS = made_recorded_runs(RecordedRequest(PROBLEM, MASK))


@pytest.fixture
def mixed(results):
    results.add(make_result("cpu-serial", 20.0))
    results.show_recorded(RECORDED_RUNS)
    results.add(make_result("tiled", 0.5))
    return results


def variants(results):
    rows = (results.index(at, 0).data(RUN_ROLE).result for at in range(results.rowCount()))
    return [(result.variant, result.device == RECORDED) for result in rows]


def test_that_a_new_run_stands_before_the_recorded_ones_and_stays_selected(qtbot, mixed, results):
    expected = [("cpu-serial", False), ("tiled", False), ("cpu-serial", True), ("tiled", True)]
    assert variants(mixed) == expected
    assert [run.speed_up for run in mixed.rows()] == [1.0, 40.0, 1.0, 3000.0], "within one machine"
    # Runs that came before any problem was set are shown anew when one is; recorded ones are for each.
    with qtbot.waitSignal(mixed.present_changed):
        mixed.follow("another problem")
    assert [mixed.is_earlier(run.result) for run in mixed.rows()] == [True, True, False, False]
    results.add(make_result("cpu-serial", 20.0))
    results.add(make_result("tiled", 0.5))
    results.describe(results.results()[0])
    results.show_recorded(RECORDED_RUNS)
    assert results.described.result.variant == "cpu-serial"


def test_that_recorded_rows_come_and_go_and_are_offered_where_there_is_no_gpu(results, qtbot, workspace):
    QAbstractItemModelTester(results, QAbstractItemModelTester.FailureReportingMode.Fatal)
    results.show_recorded(RECORDED_RUNS)
    results.add(make_result())
    results.take_out(results.kept)
    results.show_recorded(RecordedRuns())
    assert results.rowCount() == 0
    panel = ResultsPanel(results, workspace, make_engine_state(cuda=False))
    qtbot.addWidget(panel)
    assert "There is no GPU here" in panel.stack.text


def test_that_recorded_runs_are_of_the_mask_and_named_in_a_saved_file(haloscope, qtbot, mixed, tmp_path):
    results = haloscope.window.page.results
    haloscope.actions["show_recorded"].trigger()
    qtbot.waitUntil(lambda: results.rowCount() == 2)
    haloscope.workspace.set_mask(preset("box-5"))
    qtbot.waitUntil(lambda: results.recorded[0].result.problem.mask_shape == (5, 5))
    haloscope.actions["show_recorded"].trigger()
    assert results.rowCount() == 0
    path = tmp_path / "results.json"
    mixed.take_out(mixed.kept)
    save_runs(path, mixed, haloscope.state, haloscope.messages)
    saved = json.loads(path.read_text())
    assert {run["device"] for run in saved["results"]} == {"recorded"}
    assert saved["environment"]["versions"] == {}

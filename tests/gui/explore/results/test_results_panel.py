"""The table of runs: what its cells say, its bars, its order, and what can be done with a row."""

from dataclasses import replace

import pytest
from msgspec import structs
from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QMenu

from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.presets import preset
from engine.results.columns import KERNEL, SPEED_UP
from engine.results.metrics import compared
from engine.results.text_forms import MISSING
from gui.explore.results.results_panel import ResultsPanel
from gui.explore.run_words import best_words
from gui.runs.bars import tick_words
from tests.gui.made_window import all_actions, settle
from tests.made_runs import WORK, make_failure, make_result, make_simulated, make_unverified


@pytest.fixture
def panel(show_widget, results, workspace, state):
    return show_widget(ResultsPanel(results, workspace, state))


def choose(panel, text):
    panel.fill_menu()
    next(action for action in all_actions(panel.menu) if action.text() == text).trigger()


def copied():
    return [line.split("\t") for line in QGuiApplication.clipboard().text().splitlines()]


def hidden(panel, results, *keys):
    return [panel.table.isColumnHidden(results.position(key)) for key in keys]


def test_that_copy_takes_selected_rows_or_all_and_the_header_the_baseline(qtbot, panel, results, workspace):
    for variant, kernel_ms in (("cpu-serial", 20.0), ("naive", 2.0), ("tiled", 0.5)):
        results.add(make_result(variant, kernel_ms))
    panel.table.copy(every=True)
    assert [cells[0] for cells in copied()] == ["Variant", "tiled", "naive", "cpu-serial"]
    results.describe(results.results()[2])
    qtbot.keyClick(panel.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert [cells[0] for cells in copied()] == ["Variant", "tiled"]
    assert "40" in copied()[1]
    workspace.change(baseline="separable-register-blocked")
    assert results.baseline == "separable-register-blocked"
    at, header = results.position(SPEED_UP), panel.table.horizontalHeader()
    against = panel.table.model().headerData(at, Qt.Orientation.Horizontal)
    assert against == "vs separable-register-blocked"
    assert panel.table.columnWidth(at) > header.fontMetrics().horizontalAdvance(against)


def test_that_what_is_the_same_stands_above_the_table_unless_its_column_is_chosen(panel, results):
    results.add(make_result("tiled"))
    assert hidden(panel, results, "picture", "device", "operation", "block") == [True, True, True, False]
    # The line over the panels says what is computed.
    assert panel.summary.text() == ""
    shared = "512 × 512 RGB uint8 · mask Gaussian, 5 × 5 · border zero · pitched rows · cuda:0"
    assert shared in panel.summary.toolTip()
    results.add(make_result("cpu-serial"))
    assert hidden(panel, results, "device") == [False]
    assert "cuda:0" not in panel.summary.toolTip()
    results.take_out(results.kept)
    results.add(make_result("tiled"))
    menu = QMenu(panel)
    panel.table.fill_column_menu(menu)
    actions = {action.text(): action for action in all_actions(menu)}
    assert not actions["Compile, ms"].isChecked()
    assert actions["Compile, ms"].toolTip()
    for title in ("Compile, ms", "Picture, px", "Proof"):
        actions[title].trigger()
    assert hidden(panel, results, "compile_ms", "picture", "proof") == [False, False, True]
    assert "512" not in panel.summary.toolTip()
    panel.table.copy()
    assert "Compile, ms" in copied()[0]
    assert "Proof" not in copied()[0]
    actions["Reset columns"].trigger()
    assert hidden(panel, results, "compile_ms") == [True]


def test_that_a_row_can_be_the_baseline_or_be_deleted_and_brought_back(panel, results, workspace, qtbot):
    for result in (make_result("naive", 2.0), make_result("naive", 8.0), make_failure()):
        results.add(result)
    # One without a time is last.
    assert not panel.table.run_menu(2).actions()[0].isEnabled()
    panel.table.run_menu(1).actions()[0].trigger()
    assert results.baseline == workspace.settings.baseline == "naive"
    assert results.rows()[0].baseline_run == 2
    use, fastest, *_ = panel.table.run_menu(1).actions()
    assert not use.isEnabled()
    fastest.trigger()
    assert results.rows()[1].baseline_run == 1
    results.take_out(results.kept)
    add(results, ("cpu-serial", 20.0), ("tiled", 0.5))
    run = results.results()[0]
    results.set_note(run, "slow")
    results.describe(run)
    qtbot.keyClick(panel.table, Qt.Key.Key_Delete)
    assert names(panel) == ["tiled"]
    assert workspace.undo_stack.undoText() == "Delete run 1"
    workspace.undo_stack.undo()
    assert names(panel) == ["tiled", "cpu-serial"]
    assert results.note_of(run) == "slow"


TOOLTIP = Qt.ItemDataRole.ToolTipRole


@pytest.fixture
def order(results):
    return results.order


def add(results, *runs):
    for variant, kernel_ms in runs:
        results.add(make_result(variant, kernel_ms))


def cell(results, row, key, role=Qt.ItemDataRole.DisplayRole):
    return results.index(row, results.position(key)).data(role)


def speed_ups(results):
    return [cell(results, row, SPEED_UP) for row in range(results.rowCount())]


def test_that_the_model_keeps_to_the_rules_of_qt_and_sorts_times_as_numbers(results, order):
    fatal = QAbstractItemModelTester.FailureReportingMode.Fatal
    testers = [QAbstractItemModelTester(results, fatal), QAbstractItemModelTester(order, fatal)]
    for result in (make_result("cpu-serial", 18.0), make_failure(), make_unverified(), make_simulated()):
        results.add(result)
    results.set_baseline("tiled")
    order.sort(results.position(KERNEL))
    results.take_out(results.kept)
    assert results.rowCount() == 0
    assert len(testers) == 2
    for result in (make_failure(), make_result(kernel_ms=9.0), make_simulated(), make_result(kernel_ms=10.0)):
        results.add(result)
    results.add(make_result(kernel_ms=0.5))
    for way, times in (
        (Qt.SortOrder.AscendingOrder, ["500 µs", "9.00 ms", "10.0 ms"]),
        (Qt.SortOrder.DescendingOrder, ["10.0 ms", "9.00 ms", "500 µs"]),
    ):
        order.sort(results.position(KERNEL), way)
        assert [order.index(row, results.position(KERNEL)).data() for row in range(3)] == times


def test_that_a_run_is_read_and_described_once_and_a_baseline_renews_every_speed_up(panel, results, qtbot):
    add(results, ("tiled", 0.5))
    assert speed_ups(results) == [MISSING]
    with qtbot.waitSignal(results.dataChanged):
        add(results, ("cpu-serial", 20.0))
    assert speed_ups(results) == ["40.0×", "1.00×"]
    with qtbot.waitSignals([results.dataChanged, results.headerDataChanged]):
        results.set_baseline("tiled")
    assert speed_ups(results) == ["1.00×", "40.0× slower"]
    assert "tiled" in results.headerData(results.position(SPEED_UP), Qt.Orientation.Horizontal)
    results.take_out(results.kept)
    results.set_baseline("cpu-serial")
    add(results, ("cpu-serial", 20.0), ("naive", 2.0))
    changed, described = [], []
    results.dataChanged.connect(lambda first, _last: changed.append(first.row()))
    results.described_changed.connect(lambda: described.append(results.described.result.variant))
    add(results, ("tiled", 0.5))
    assert (changed, described) == ([], ["tiled"])
    assert [run.result.variant for run in results.selected] == ["tiled"]
    assert speed_ups(results) == ["1.00×", "10.0×", "40.0×"]
    add(results, ("cpu-serial", 10.0))
    assert changed == [0], "a faster run of the baseline changes the others"
    assert speed_ups(results) == ["2.00× slower", "5.00×", "20.0×", "1.00×"]


def test_that_a_row_without_a_speed_has_its_reason_in_its_place(results):
    for result, word in (
        (make_failure(reason="out of memory. Use a smaller picture."), "failed"),
        (make_unverified(), "not verified"),
        (make_simulated(), "simulated"),
    ):
        results.take_out(results.kept)
        add(results, ("cpu-serial", 20.0))
        results.add(result)
        texts = [cell(results, 1, key) for key in (KERNEL, SPEED_UP, "kernel_p20_ms", "end_to_end_median_ms")]
        assert texts == [word, MISSING, MISSING, MISSING]
        assert all(cell(results, 1, column.key) for column in results.columns)
        if word == "failed":
            # What helps is in the tooltip: here it would be cut.
            assert cell(results, 1, "proof") == "out of memory"
            assert cell(results, 1, "proof", TOOLTIP) == "out of memory. Use a smaller picture."


def names(panel):
    """Return the variants in the order of the table."""
    return [run.result.variant for run in panel.table.runs()]


def test_that_the_fastest_run_stands_first_a_pinned_one_on_top_and_earlier_ones_below(panel, results):
    add(results, ("tiled", 0.5), ("naive", 2.0), ("cpu-serial", 20.0))
    assert names(panel) == ["tiled", "naive", "cpu-serial"]
    assert [run.result.variant for run in results.selected] == ["cpu-serial"]
    results.pin(results.results()[2], True)
    results.set_note(results.results()[2], "as in the paper")
    assert names(panel) == ["cpu-serial", "tiled", "naive"]
    first = panel.table.order.index(0, 0)
    assert "as in the paper" in first.data(Qt.ItemDataRole.AccessibleTextRole)
    for at in (results.position(KERNEL), -1):
        panel.table.sortByColumn(at, Qt.SortOrder.DescendingOrder)
        assert names(panel)[0] == "cpu-serial"
    results.take_out(results.kept)
    add(results, ("cached", 0.1))
    results.add(make_result("tiled", 0.5), "now")
    results.follow("now")
    assert names(panel) == ["tiled", "cached"]
    assert len(results.bars.values) == 1
    assert "1 for an earlier problem" in panel.summary.text()
    results.follow("another one")
    assert len(results.bars.values) == 1, "those of the newest"


def test_that_a_restored_run_brings_settings_mask_and_picture(qtbot, panel, results, workspace):
    job = workspace.filter_job().changed(variant="tiled", block=Block(8, 8), border=Border.WRAP)
    results.add(make_result("tiled", 0.5), job=job)
    before = workspace.settings
    qtbot.keyClick(panel.table, Qt.Key.Key_Return)
    settings = workspace.settings
    assert (settings.variant, settings.block, settings.border) == ("tiled", Block(8, 8), Border.WRAP)
    assert workspace.undo_stack.undoText() == "Settings of run 1"
    workspace.undo_stack.undo()
    assert workspace.settings == before
    results.add(make_result("tiled", 0.5), job=workspace.filter_job())
    ran = workspace.step.applied_mask
    workspace.set_mask(preset("sobel-x"), flip=True)
    panel.table.activated.emit(panel.table.order.index(0, 0))
    assert workspace.step.applied_mask == ran
    results.take_out(results.kept)
    workspace.change(border=Border.ZERO)
    other = structs.replace(workspace.picture, title="other.png", path="/pictures/other.png")
    job = workspace.filter_job().changed(picture=other, border=Border.WRAP)
    results.add(make_result("tiled", 0.5), job=job)
    with qtbot.waitSignal(panel.opening_wanted) as wanted:
        panel.table.activated.emit(panel.table.order.index(0, 0))
    assert wanted.args[0].path == other.path
    assert workspace.settings.border is Border.ZERO
    wanted.args[1](True)
    assert workspace.settings.border is Border.WRAP


def test_that_only_verified_runs_have_a_bar_and_the_axis_ends_at_the_data(panel, results):
    add(results, ("cpu-serial", 20.0), ("tiled", 0.02))
    bars = results.bars
    # p80 of the slowest is the largest number there is.
    assert bars.scale.is_log
    assert bars.scale.high == pytest.approx(bars.spreads[id(results.results()[0])][1])
    assert bars.scale.share(bars.scale.high) == 1.0
    words = [word for _, word in tick_words(bars, QRectF(0, 0, 600, 20), 600)]
    assert words == ["100 µs", "1 ms", "10 ms"]
    assert "log" in results.headerData(results.bar_column, Qt.Orientation.Horizontal)
    add(results, ("tiled", 10.0))
    results.take_out(results.kept[1:2])
    assert "log" not in results.headerData(results.bar_column, Qt.Orientation.Horizontal)
    results.take_out(results.kept)
    add(results, ("cpu-serial", 20.0), ("tiled", 0.5))
    for result in (make_failure("cached"), make_unverified("naive"), make_simulated("constant")):
        results.add(result)
    add(results, ("tiled", 1.0))
    drawn = {one.variant for one in results.results() if id(one) in results.bars.values}
    assert drawn == {"cpu-serial", "tiled"}
    assert set(names(panel)[3:]) == {"cached", "naive", "constant"}


def test_that_simulated_runs_show_their_loads_and_two_selected_rows_are_compared(panel, results):
    for variant in ("naive", "tiled"):
        results.add(replace(make_simulated(variant), work=WORK))
    settle()
    assert results.bars.metric.key == "model_cgma_flop_per_load"
    assert [results.index(0, results.bar_column).data()] == ["25"]
    assert "Simulated runs are not timed" in panel.about.text()
    add(results, ("tiled", 2.0))
    settle()
    assert results.bars.metric.key == KERNEL
    results.take_out(results.kept)
    add(results, ("tiled", 0.5), ("naive", 2.0))
    panel.table.selectAll()
    assert panel.about.text() == (
        "Run 1 (tiled) is 4.00× as fast as run 2 (naive): 500 µs against 2.00 ms. "
        "Their intervals (p20 to p80) do not overlap."
    )
    add(results, ("cached", 2.1))
    results.describe(*results.results()[1:])
    assert panel.about.text().endswith("overlap, so this may be chance.")
    results.add(make_simulated("tiled"))
    results.describe(results.results()[0], results.results()[3])
    assert "has no time to compare" in panel.about.text()


@pytest.mark.slow
def test_that_the_bars_can_be_copied_with_all_their_rows_and_be_any_number(panel, results):
    add(results, *((f"variant-{at}", 1.0 + at) for at in range(30)))
    settle()
    choose(panel, "Copy bars as picture")
    high = 2 * panel.table.drawing().size.height()
    assert QGuiApplication.clipboard().image().height() == high
    assert b"variant-29" in panel.table.drawing().file(".svg")
    assert QImage.fromData(panel.table.drawing().file(".png")).height() == high
    results.take_out(results.kept)
    add(results, ("cpu-serial", 20.0), ("tiled", 2.0), ("naive", 4.0))
    choose(panel, "Speed-up")
    settle()
    assert results.bar_column == results.position(SPEED_UP)
    assert names(panel) == ["tiled", "naive", "cpu-serial"], "more is better"
    choose(panel, "Max error")
    settle()
    header = panel.table.horizontalHeader()
    assert header.visualIndex(results.position("max_error")) == 1
    assert not panel.table.isColumnHidden(results.position("max_error"))


def test_that_a_row_is_one_sentence_and_a_speed_up_says_which_run_it_is_against(results):
    add(results, ("cpu-serial", 20.0), ("tiled", 0.5))
    words = [cell(results, row, "variant", Qt.ItemDataRole.AccessibleTextRole) for row in range(2)]
    against = "against cpu-serial"
    assert words == [f"cpu-serial: 20.0 ms, 1.00× {against}", f"tiled 16 × 16: 500 µs, 40.0× {against}"]
    results.take_out(results.kept)
    add(results, ("cpu-serial", 20.0), ("cpu-serial", 10.0), ("tiled", 0.5))
    assert cell(results, 2, SPEED_UP, TOOLTIP) == "20.0×: 500 µs against 10.0 ms of run 2 (cpu-serial)."
    assert [cell(results, row, "baseline_run") for row in range(3)] == ["2", "2", "2"]
    results.take_out(results.kept)
    add(results, ("naive", 2.0), ("naive", 8.0))
    slow = results.results()[1]
    results.use_as_baseline(slow)
    assert results.baseline == "naive"
    assert speed_ups(results) == ["4.00×", "1.00×"]
    add(results, ("tiled", 1.0))
    assert speed_ups(results)[2] == "8.00×"
    results.use_as_baseline(None)
    assert speed_ups(results) == ["1.00×", "4.00× slower", "2.00×"]
    results.use_as_baseline(slow)
    results.take_out(results.kept)
    assert results.chosen is None


def test_that_the_best_kernel_is_told_by_its_newest_run_with_how_far_times_spread():
    runs = [make_result("cpu-serial", 8.0), make_result("tiled", 0.2), make_result("tiled", 0.4)]
    # Each time spreads by a tenth to either side.
    assert "20.0× ± 20 %" in best_words(compared(runs, "cpu-serial"))

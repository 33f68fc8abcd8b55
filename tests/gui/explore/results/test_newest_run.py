"""The newest run can be seen where people look for it, and an older problem's runs are not taken for it."""

import pytest
from PySide6.QtCore import QPoint, QRect
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from engine.geometry.block import Block
from engine.mask.presets import preset
from gui.page.messages import Message, Severity
from gui.style.metrics import EARLIER_OPACITY
from gui.style.theme import current_theme
from tests.made_runs import make_result


def settle():
    for _ in range(10):
        QApplication.processEvents()


def run(haloscope, qtbot, action="run_all"):
    rows = haloscope.window.page.results.rowCount()
    haloscope.actions[action].trigger()
    qtbot.waitUntil(lambda: haloscope.window.page.results.rowCount() > rows and not haloscope.state.running)
    settle()


def on_screen(widget, rect=None):
    rect = rect or widget.rect()
    return QRect(widget.mapToGlobal(rect.topLeft()), rect.size())


@pytest.mark.parametrize("size", [(1024, 700), (2560, 1440)])
def test_that_the_newest_row_is_in_sight(open_window, qtbot, size):
    haloscope = open_window(size)
    page, table = haloscope.window.page, haloscope.window.page.results_panel.table
    for mask in ("box-3", "sobel-x", "gaussian-5"):
        haloscope.workspace.set_mask(preset(mask))
        run(haloscope, qtbot)
        newest = table.order.mapFromSource(page.results.index(page.results.rowCount() - 1, 0))
        assert [index.row() for index in table.selectionModel().selectedRows()] == [newest.row()]
        rect = table.visualRect(newest)
        assert rect.top() >= 0
        assert rect.bottom() <= table.viewport().rect().bottom()
    for severity in Severity:
        haloscope.messages.show(Message("test", severity, "It failed", "for a reason that is long. " * 12))
        settle()
        bar = haloscope.window.message_bar
        assert bar.isVisible()
        assert not on_screen(bar).intersects(on_screen(page.results_panel))
        assert haloscope.window.rect().contains(
            bar.geometry().translated(bar.parentWidget().mapTo(haloscope.window, QPoint()))
        )


def test_that_the_newest_row_stays_in_view_where_the_panel_becomes_lower(open_window, qtbot):
    haloscope = open_window()
    table = haloscope.window.page.results_panel.table
    for _ in range(4):
        run(haloscope, qtbot)
    table.resize(table.width(), table.height() - 20)
    rect = table.visualRect(table.currentIndex())
    assert rect.bottom() <= table.viewport().rect().bottom()
    assert table.currentIndex().row() == 0, "the newest is on top"


def parts(page):
    """Return what the panels say of the runs: table, selected run, plot; and whether that is dimmed."""
    plot = page.plot_panel
    return (
        page.results_panel.summary.text(),
        plot.about.text(),
        plot.caption.text(),
    ), plot.model.shown.is_earlier


def test_that_what_is_for_an_earlier_problem_is_dimmed_until_that_is_back(haloscope, qtbot):
    page, line = haloscope.window.page, haloscope.window.status_line
    haloscope.workspace.change(variant="cpu-serial")
    run(haloscope, qtbot)
    texts, is_dimmed = parts(page)
    assert not any("earlier problem" in text for text in (*texts, line.last_run))
    assert not is_dimmed
    haloscope.workspace.set_mask(preset("box-3"))
    settle()
    texts, is_dimmed = parts(page)
    assert texts[0].startswith("3 runs · all for an earlier problem")
    assert texts[1].startswith("Run 3: naive, for an earlier problem")
    assert texts[2].startswith("For an earlier problem: 48")
    assert is_dimmed
    # The line over the panels is of what is set now.
    assert page.answer_line.problem.text().endswith("Box 3 × 3 · zero border · no run yet")
    assert page.answer_line.answer.text() == ""
    assert line.last_run.startswith("Last run, for an earlier problem: ")
    assert line._last.colour.name() == current_theme().muted
    # A run of the new problem is the one to speak of; three rows are left of the earlier one.
    run(haloscope, qtbot, "run")
    texts, is_dimmed = parts(page)
    assert texts[0].startswith("4 runs · 3 for an earlier problem")
    assert not any("earlier problem" in text for text in (*texts[1:], line.last_run))
    assert not is_dimmed
    # Undo: the former runs are again those of the problem that is set.
    haloscope.actions["undo"].trigger()
    settle()
    texts, is_dimmed = parts(page)
    assert texts[0].startswith("4 runs · 1 for an earlier problem")
    assert not any("earlier problem" in text for text in (*texts[2:], line.last_run))
    assert not is_dimmed


def ink(table, row):
    """Return the colours in a row of a table."""
    index = table.order.index(row, 0)
    image = table.viewport().grab(table.visualRect(index)).toImage()
    return {image.pixelColor(x, y).name() for x in range(image.width()) for y in range(image.height())}


def test_that_rows_of_an_earlier_problem_are_dimmed_in_the_table(haloscope, qtbot):
    table = haloscope.window.page.results_panel.table
    haloscope.workspace.change(variant="cpu-serial")
    run(haloscope, qtbot, "run")
    haloscope.workspace.set_mask(preset("box-3"))
    run(haloscope, qtbot, "run")
    haloscope.actions["undo"].trigger()
    settle()
    # The newest is selected, and of the earlier problem now.
    assert current_theme().accent not in ink(table, 0)
    haloscope.actions["redo"].trigger()
    settle()
    assert current_theme().accent in ink(table, 0)
    table.clearSelection()
    QTest.mouseMove(haloscope.window, QPoint(5, 5))
    settle()
    text = current_theme().text
    assert text not in ink(table, 1)
    assert text in ink(table, 0)
    haloscope.actions["undo"].trigger()
    settle()
    assert text in ink(table, 1)
    assert text not in ink(table, 0)


def test_that_another_operation_or_parameter_dims_the_runs_of_an_operation(haloscope, qtbot):
    page, line = haloscope.window.page, haloscope.window.status_line
    page.workspace.choose("median")
    qtbot.waitUntil(lambda: page.display.found is not None)
    haloscope.actions["run"].trigger()
    qtbot.waitUntil(lambda: page.results.rowCount() == 1 and not haloscope.state.running)
    settle()
    plot = page.plot_panel
    assert "earlier" not in line.last_run + page.results_panel.summary.text() + plot.caption.text()
    page.workspace.set_parameter("size", 7)
    settle()
    assert line.last_run.startswith("Last run, for an earlier problem: ")
    assert "all for an earlier problem" in page.results_panel.summary.text()
    assert plot.caption.text().startswith("For an earlier problem: ")
    assert plot.model.shown.is_earlier
    page.workspace.set_parameter("size", 3)
    settle()
    assert "earlier" not in line.last_run + page.results_panel.summary.text() + plot.caption.text()
    page.workspace.choose("negative")
    settle()
    assert "earlier" in line.last_run


def test_that_the_map_of_blocks_is_dimmed_with_the_mask(haloscope, qtbot):
    panel = haloscope.blocks_panel
    haloscope.window.page.bring_to_front("blocks")
    result = make_result("tiled", 0.5, block=Block(16, 16))
    haloscope.results.add(result)
    haloscope.results.follow(haloscope.results.problem_of(result))
    settle()
    assert "earlier" not in panel.summary.text()
    bright = panel.table.grab().toImage()
    haloscope.workspace.set_mask(preset("box-3"))
    settle()
    assert panel.summary.text().startswith("For an earlier problem · ")
    assert panel.table.grab().toImage() != bright
    assert panel.lines.plot.whole.opacity() == EARLIER_OPACITY < 1


def test_that_a_kernel_on_the_cpu_says_nothing_of_blocks_that_runs_would_compare(haloscope):
    count, actions = haloscope.window.page.kernel_panel.block.count, haloscope.actions
    haloscope.workspace.change(variant="tiled", blocks=(Block(8, 8), Block(16, 16)))
    assert "Runs compare 2 blocks" in count.text()
    assert "each of 2 blocks" in actions["run"].toolTip()
    haloscope.workspace.change(variant="cpu-serial")
    assert count.text() == "not used: no blocks on the CPU"
    assert "blocks" not in actions["run"].toolTip()
    assert "each of 2 blocks" in actions["run_all"].toolTip()

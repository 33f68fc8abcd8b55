"""The page Explore as a person meets it: what the tries found, each as a test of the whole window."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics, QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from engine.geometry.block import Block
from engine.mask.presets import preset
from gui.explore.kernel.block_editor import PRESETS
from gui.explore.kernel.variants_model import ROW_ROLE
from gui.page.contract import PageLayout
from gui.style.metrics import number_font


def settle():
    for _ in range(10):
        QApplication.processEvents()


def run_all(haloscope, qtbot):
    before = haloscope.results.rowCount()
    haloscope.actions["run_all"].trigger()
    qtbot.waitUntil(lambda: haloscope.results.rowCount() > before and not haloscope.state.running)
    settle()


def heights(page):
    """Return the heights of the panels that are in front."""
    return {panel.objectName(): panel.height() for panel in page.panels if panel.isVisible()}


def test_that_default_layout_is_that_of_the_first_start(open_window):
    haloscope = open_window((1280, 800))
    page = haloscope.window.first_page
    settle()
    before = heights(page)
    page.take_layout(PageLayout({"page": (0.4, 0.6)}, ("tile",)))
    page.panel("kernel").open_as_window()
    settle()
    assert heights(page) != before
    haloscope.actions["reset_layout"].trigger()
    settle()
    assert heights(page) == before


def test_that_a_click_on_a_run_selects_its_kernel_and_a_kernel_its_run(haloscope, qtbot):
    page = haloscope.window.first_page
    run_all(haloscope, qtbot)
    table = page.results_panel.table
    for row in (2, 0, 1):
        run = table.runs([row])[0].result if row else table.runs()[0].result
        at = table.visualRect(table.order.index(row, 1)).center()
        QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=at)
        assert haloscope.results.described.result is run
        assert [one.key for one in page.kernel_panel.variants.rows() if one.is_described] == [run.variant]
        assert page.selection.known.key == run.variant
    other = table.runs([2])[0].result
    page.kernel_panel.kernels.setCurrentIndex(
        page.kernel_panel.variants.index(page.kernel_panel.variants.position(other.variant))
    )
    assert haloscope.results.described.result is other


def test_that_a_run_of_an_earlier_mask_is_restored_by_a_double_click(haloscope, qtbot):
    page = haloscope.window.first_page
    run_all(haloscope, qtbot)
    ran = haloscope.workspace.mask
    haloscope.workspace.set_mask(preset("sobel-x"))
    table = page.results_panel.table
    rect = table.visualRect(table.order.index(0, 0))
    QTest.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    QTest.mouseDClick(table.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    settle()
    assert haloscope.workspace.mask == ran
    assert haloscope.workspace.mask_title == "Sharpen"
    haloscope.actions["undo"].trigger()
    assert haloscope.workspace.mask == preset("sobel-x")


def test_that_return_in_the_list_of_blocks_compares_them(haloscope, qtbot):
    panel = haloscope.blocks_panel
    haloscope.window.first_page.bring_to_front("blocks")
    haloscope.workspace.change(variant="naive")
    panel.field.field.setText("8x8, 16x16")
    before = haloscope.results.rowCount()
    qtbot.keyClick(panel.field.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: haloscope.results.rowCount() == before + 2 and not haloscope.state.running)
    assert haloscope.workspace.settings.blocks == (Block(8, 8), Block(16, 16))


def test_that_compare_takes_the_common_blocks_where_none_are_written(haloscope, qtbot):
    haloscope.window.first_page.bring_to_front("blocks")
    haloscope.workspace.change(variant="naive")
    haloscope.blocks_panel.compare_button.click()
    assert haloscope.workspace.settings.blocks == PRESETS
    qtbot.waitUntil(lambda: not haloscope.state.running and haloscope.results.rowCount() > 0)


def test_that_the_picture_has_a_menu(haloscope):
    page = haloscope.window.first_page
    texts = [action.iconText() for action in page.picture_menu().actions() if not action.isSeparator()]
    assert texts[:2] == ["Fit", "Actual size"]
    copy = next(action for action in page.picture_menu().actions() if action.text() == "Copy what is seen")
    copy.trigger()
    assert not QGuiApplication.clipboard().pixmap().isNull()


def test_that_before_the_first_run_the_panel_offers_run_all(haloscope):
    page = haloscope.window.first_page
    assert page.results_panel.stack.text
    assert page.results_panel.stack.button.defaultAction() is haloscope.actions["run_all"]


def test_that_a_head_of_a_group_is_never_a_kernel(haloscope, qtbot):
    kernels = haloscope.window.first_page.kernel_panel.kernels
    chosen = haloscope.workspace.settings.variant
    model = kernels.model()
    for row in range(model.rowCount()):
        if not hasattr(model.index(row).data(ROW_ROLE), "key"):
            kernels.setCurrentIndex(model.index(row))
    assert haloscope.workspace.settings.variant == chosen


@pytest.mark.parametrize("percent", [150, 200])
def test_that_rows_heads_and_the_answer_are_as_large_as_their_letters(open_window, qtbot, percent):
    haloscope = open_window((1280, 800))
    page = haloscope.window.first_page
    settle()
    run_all(haloscope, qtbot)
    haloscope.preferences.choose_letters(percent)
    table, kernels = page.results_panel.table, page.kernel_panel.kernels
    heads = table.horizontalHeader()

    def has_room():
        letters = QFontMetrics(number_font()).height()
        shown = [at for at in range(heads.count()) if not heads.isSectionHidden(at)]
        return (
            table.rowHeight(0) >= letters
            and table.viewport().height() >= table.rowHeight(0)
            and all(kernels.visualRect(kernels.model().index(row, 0)).height() >= letters for row in range(3))
            and all(heads.sectionSize(at) >= width_of_head(heads, at) for at in shown)
            and page.answer_line.height() >= page.answer_line.answer.sizeHint().height()
        )

    try:
        qtbot.waitUntil(has_room)
    finally:
        haloscope.preferences.choose_letters(100)
        qtbot.waitUntil(haloscope.window.updatesEnabled)


def width_of_head(heads, at):
    words = heads.model().headerData(at, Qt.Orientation.Horizontal).splitlines()
    return max(map(QFontMetrics(heads.font()).horizontalAdvance, words))


def test_that_the_answer_line_calls_an_operation_as_the_list_does(open_window, qtbot):
    page = open_window().window.first_page
    box, words = page.operation_choice.box, page.answer_line.problem
    qtbot.waitUntil(lambda: box.findData("find-patch") > 0)
    for key in ("find-patch", "compress"):
        at = box.findData(key)
        box.activated.emit(at)
        settle()
        assert f"· {box.itemText(at)}" in words.text()
        assert key not in words.text()

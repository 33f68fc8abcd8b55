"""The page Explore as a person meets it: what the tries found, each as a test of the whole window."""

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from engine.geometry.block import Block
from engine.mask.presets import preset
from gui.explore.kernel.block_editor import PRESETS


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

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QLineEdit, QToolButton, QVBoxLayout, QWidget

from gui.course.kernels_model import Column
from gui.course.kernels_table import KernelsTable
from tests.gui.made_course import OTHER_PAPER, PAPER
from tests.gui.made_results import make_engine_state


@pytest.fixture
def table(qtbot, course):
    table = KernelsTable(course, make_engine_state())
    qtbot.addWidget(table)
    table.resize(900, 300)
    table.show()
    return table


def test_that_the_button_the_enter_keys_and_a_double_click_load_a_kernel(table, qtbot):
    loaded = []
    table.load_wanted.connect(loaded.append)
    table.button(1).click()
    table.selectRow(1)
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
        qtbot.keyClick(table, key)
    place = table.visualRect(table.kernels.index(0, Column.PAPER)).center()
    qtbot.mouseClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    qtbot.mouseDClick(table.viewport(), Qt.MouseButton.LeftButton, pos=place)
    assert loaded == [PAPER.kernels[1]] * 3 + [PAPER.kernels[0]]


def test_that_a_kernel_that_is_not_here_is_greyed_with_its_reason(table, qtbot):
    assert [table.button(row).isEnabled() for row in range(4)] == [True, True, False, False]
    assert "no variant lost" in table.button(2).toolTip()
    table.selectRow(2)
    with qtbot.assertNotEmitted(table.load_wanted):
        qtbot.keyClick(table, Qt.Key.Key_Return)


def test_that_tab_goes_from_the_table_through_its_named_buttons_to_what_is_below(course, qtbot):
    whole = QWidget()
    qtbot.addWidget(whole)
    column = QVBoxLayout(whole)
    table, below = KernelsTable(course, make_engine_state()), QLineEdit()
    column.addWidget(table)
    column.addWidget(below)
    course.choose(OTHER_PAPER.key)
    course.choose(PAPER.key)
    # The buttons of the paper before.
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    order = [table.nextInFocusChain()]
    while order[-1] is not below:
        order.append(order[-1].nextInFocusChain())
    buttons = [widget for widget in order if isinstance(widget, QToolButton)]
    assert buttons == [table.button(row) for row in range(len(PAPER.kernels))]
    assert table.button(1).accessibleName() == "Load ConvolutionKernel"


def test_that_rows_are_as_high_as_their_words_and_show_whether_the_keys_are_in_the_table(table, qtbot):
    wide = table.rowHeight(1)
    table.resize(480, 300)
    QApplication.processEvents()
    assert table.rowHeight(1) > wide
    table.window().activateWindow()
    table.setFocus()
    qtbot.waitUntil(table.hasFocus)
    with_focus = table.grab().toImage()
    table.clearFocus()
    assert table.grab().toImage() != with_focus

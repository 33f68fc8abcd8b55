import numpy as np
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget

from engine.mask.mask import Mask
from gui.explore.mask.grid import MaskGrid
from gui.explore.mask.mask_model import MaskModel
from gui.explore.workspace import Workspace

CONTROL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


@pytest.fixture
def workspace():
    return Workspace(Mask(np.zeros((5, 5))))


@pytest.fixture
def grid(show_widget, workspace):
    grid = show_widget(MaskGrid(MaskModel(workspace)), 304, 240)
    grid.setFocus()
    grid.setCurrentIndex(grid.model().index(0, 0))
    return grid


def current(grid):
    return grid.currentIndex().row(), grid.currentIndex().column()


def editor_of(grid):
    return grid.viewport().findChild(QLineEdit)


def test_that_typing_overwrites_the_cell_and_arrow_keys_stop_at_the_edge(qtbot, grid, workspace):
    for key in (Qt.Key.Key_Right, Qt.Key.Key_Down, Qt.Key.Key_Left, Qt.Key.Key_Left, Qt.Key.Key_Up):
        qtbot.keyClick(grid, key)
    assert current(grid) == (0, 0)
    qtbot.keyClick(grid, Qt.Key.Key_Right, SHIFT)
    qtbot.keyClick(grid, Qt.Key.Key_Down, SHIFT)
    for key in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
        workspace.set_mask(Mask(np.ones((5, 5))))
        qtbot.keyClick(grid, key)
        assert workspace.mask.weights.sum() == 21
        assert not workspace.mask.weights[:2, :2].any()
    refused = []
    grid.model().edit_refused.connect(refused.append)
    for text, key, weight, then_at in (
        ("-1/4", Qt.Key.Key_Return, -0.25, (0, 0)),
        ("3", Qt.Key.Key_Tab, 3, (0, 1)),
        ("4", Qt.Key.Key_Down, 4, (1, 0)),
        ("6", Qt.Key.Key_Right, 6, (0, 1)),
        ("5", Qt.Key.Key_Escape, 77, (0, 0)),
        ("x", Qt.Key.Key_Return, 77, (0, 0)),
    ):
        workspace.set_mask(workspace.mask.with_weight(0, 0, 77))
        grid.setCurrentIndex(grid.model().index(0, 0))
        # As a person does: the first key opens the editor, the others go into it.
        qtbot.keyClicks(grid, text[:1])
        qtbot.keyClicks(editor_of(grid), text[1:])
        qtbot.keyClick(editor_of(grid), key)
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        QApplication.processEvents()
        assert workspace.mask.weights[0, 0] == weight
        assert current(grid) == then_at
        assert bool(refused) == (text == "x")


def test_that_the_clipboard_takes_cells_or_whole_masks(qtbot, grid, workspace):
    workspace.set_mask(workspace.mask.with_weight(0, 0, 1 / 3))
    qtbot.keyClick(grid, Qt.Key.Key_Right, SHIFT)
    qtbot.keyClick(grid, Qt.Key.Key_C, CONTROL)
    assert QGuiApplication.clipboard().text() == f"{1 / 3!r}\t0"
    QGuiApplication.clipboard().setText("1\t2\r\n3\t4\r\n")
    grid.setCurrentIndex(grid.model().index(1, 2))
    qtbot.keyClick(grid, Qt.Key.Key_V, CONTROL)
    assert workspace.mask.weights[1:3, 2:4].tolist() == [[1, 2], [3, 4]]
    assert workspace.mask.shape == (5, 5)
    qtbot.keyClick(grid, Qt.Key.Key_V, CONTROL | SHIFT)
    assert workspace.mask.weights.tolist() == [[1, 2], [3, 4]]


def test_that_tab_leaves_the_table_at_its_last_cell(qtbot, workspace):
    window = QWidget()
    qtbot.addWidget(window)
    column = QVBoxLayout(window)
    grid, after = MaskGrid(MaskModel(workspace)), QLineEdit()
    column.addWidget(grid)
    column.addWidget(after)
    window.show()
    grid.setFocus()
    grid.setCurrentIndex(grid.model().index(4, 3))
    qtbot.keyClick(grid, Qt.Key.Key_Tab)
    assert current(grid) == (4, 4)
    qtbot.keyClick(grid, Qt.Key.Key_Tab)
    assert window.focusWidget() is after


def test_that_the_current_cell_survives_another_size_and_its_menu_puts_the_anchor_there(grid, workspace):
    for cell in ((2, 2), (0, 0)):
        action = grid.context_menu(grid.model().index(*cell)).actions()[0]
        assert action.isEnabled() == (cell != workspace.mask.anchor)
        action.trigger()
        assert workspace.mask.anchor == cell
    grid.setCurrentIndex(grid.model().index(4, 1))
    workspace.set_mask(Mask(np.ones((3, 3))))
    assert current(grid) == (2, 1)
    grid.setCurrentIndex(grid.model().index(1, 1))
    workspace.set_mask(Mask(np.ones((9, 9))))
    assert current(grid) == (4, 4)
    workspace.set_mask(Mask(np.ones((1, 127))))
    QApplication.processEvents()
    grid.setCurrentIndex(grid.indexAt(grid.viewport().rect().center() + QPoint(100, 0)))
    grid.resize(200, 240)
    QApplication.processEvents()
    assert grid.viewport().rect().contains(grid.visualRect(grid.currentIndex()))

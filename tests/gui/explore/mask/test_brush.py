"""Painting over the cells of the mask."""

from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest

from engine.mask.mask import Mask
from engine.mask.text import parse_mask
from gui.explore.mask.grid import cells_between
from gui.explore.mask.mask_panel import MaskPanel
from gui.explore.workspace import Workspace

LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


@pytest.fixture
def workspace():
    return Workspace(Mask(np.zeros((5, 5))))


@pytest.fixture
def panel(qtbot, workspace):
    panel = MaskPanel(workspace)
    qtbot.addWidget(panel)
    panel.resize(320, 600)
    panel.show()
    return panel


def place(panel, row, column) -> QPoint:
    return panel.grid.visualRect(panel.model.index(row, column)).center()


def stroke(panel, *cells, modifier=NONE):
    viewport = panel.grid.viewport()
    QTest.mousePress(viewport, LEFT, modifier, place(panel, *cells[0]))
    for cell in cells[1:]:
        QTest.mouseMove(viewport, place(panel, *cell))
    QTest.mouseRelease(viewport, LEFT, modifier, place(panel, *cells[-1]))


def test_that_a_stroke_paints_without_gaps_and_is_one_step(panel, workspace):
    panel.brush.button.click()
    panel.brush.take("1/9")
    stroke(panel, (0, 0), (4, 4))
    assert workspace.mask.typed.cells[2][2] == "1/9"
    assert np.array_equal(workspace.mask.weights, np.eye(5) / 9)
    stroke(panel, (0, 4), (0, 3))
    workspace.undo_stack.undo()
    assert np.array_equal(workspace.mask.weights, np.eye(5) / 9)
    workspace.undo_stack.undo()
    assert not workspace.mask.weights.any()


def test_that_dragging_selects_without_the_brush_and_with_shift(panel, workspace):
    panel.grid.setCurrentIndex(panel.model.index(1, 1))
    stroke(panel, (1, 1), (2, 3))
    assert len(panel.grid.selected_cells()) == 6
    panel.brush.button.click()
    stroke(panel, (1, 1), (3, 3), modifier=Qt.KeyboardModifier.ShiftModifier)
    assert len(panel.grid.selected_cells()) > 1
    assert not workspace.mask.weights.any()


def test_that_a_click_with_control_takes_the_value_of_a_cell(panel, workspace):
    workspace.set_mask(parse_mask("1/9 2; 3 4 /8"))
    panel.brush.button.click()
    QTest.mouseClick(panel.grid.viewport(), LEFT, Qt.KeyboardModifier.ControlModifier, place(panel, 0, 0))
    stroke(panel, (1, 1))
    assert workspace.mask.typed.cells == (("1/9", "2"), ("3", "1/9"))
    assert workspace.mask.typed.divisor == "8"


def test_that_escape_puts_the_brush_away(panel):
    panel.brush.button.click()
    assert panel.brush.field.isVisible()
    QTest.keyClick(panel.grid, Qt.Key.Key_Escape)
    assert not panel.brush.is_on


@pytest.mark.parametrize(
    ("text", "words"), [("x", "you typed 'x'"), ("", "nothing"), ("1 2", "2 numbers"), ("1,500", "may be")]
)
def test_that_a_value_that_cannot_be_painted_is_refused_and_the_old_one_stays(qtbot, panel, text, words):
    panel.brush.button.click()
    panel.brush.field.setText(text)
    panel.brush.field.editingFinished.emit()
    assert words in panel.facts.text()
    assert (panel.brush.cell, panel.brush.field.text()) == ("1", "1")


def test_that_a_line_touches_every_step():
    assert cells_between((0, 0), (0, 0)) == [(0, 0), (0, 0)]
    line = cells_between((1, 1), (4, 9))
    assert (line[0], line[-1], len(line)) == ((1, 1), (4, 9), 9)
    assert all(abs(a - c) <= 1 and abs(b - d) <= 1 for (a, b), (c, d) in pairwise(line))

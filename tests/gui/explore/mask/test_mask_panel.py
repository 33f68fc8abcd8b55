from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QDialogButtonBox

from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.mask.text import parse_mask
from gui.explore.mask.grid import cells_between
from gui.explore.mask.mask_panel import MaskPanel
from gui.explore.sessions import with_options
from gui.explore.state import EditedStep, State
from gui.explore.workspace import Workspace
from gui.page.contract import Begin

TOOLTIP = Qt.ItemDataRole.ToolTipRole


@pytest.fixture
def workspace():
    return Workspace(preset("sobel-x"))


@pytest.fixture
def panel(show_widget, workspace):
    return show_widget(MaskPanel(workspace), 320, 600)


def test_that_growing_keeps_the_centre_and_a_transform_moves_cells_and_anchor(panel, workspace):
    before, size = workspace.mask, panel.size_controls
    size.rows_box.setValue(7)
    assert workspace.mask.shape == (7, 7)
    np.testing.assert_array_equal(workspace.mask.weights[2:5, 2:5], before.weights)
    workspace.undo_stack.undo()
    assert workspace.mask == before
    assert (size.rows_box.value(), size.columns_box.value()) == (3, 3)
    size.square_button.setChecked(False)
    size.columns_box.setValue(5)
    assert workspace.mask.shape == (3, 5)
    size.square_button.setChecked(True)
    assert workspace.mask.shape == (5, 5)
    workspace.set_mask(preset("motion-horizontal"))
    assert not size.square_button.isChecked()
    workspace.set_mask(Mask([[1, 2, 1]]))
    size.columns_box.setValue(127)
    assert workspace.mask.shape == (1, 127)
    size.rows_box.setValue(2)
    assert size.rows_box.value() == 1
    assert "1 to 127 in a mask of one row" in panel.facts.text()
    size.square_button.setChecked(True)
    assert workspace.mask.shape == (1, 127)
    assert not size.square_button.isChecked()
    centre = panel.transforms.centre_button
    for name, expected in {
        "Rotate left": [[3, 6], [2, 5], [1, 4]],
        "Rotate right": [[4, 1], [5, 2], [6, 3]],
        "Mirror left and right": [[3, 2, 1], [6, 5, 4]],
        "Mirror top and bottom": [[4, 5, 6], [1, 2, 3]],
        "Transpose": [[1, 4], [2, 5], [3, 6]],
    }.items():
        assert not centre.isEnabled()
        workspace.set_mask(Mask([[1, 2, 3], [4, 5, 6]], anchor=(0, 2)))
        panel.transforms.buttons[name].click()
        assert workspace.mask.weights.tolist() == expected
        assert workspace.mask.weights[workspace.mask.anchor] == 3
        centre.click()
        assert workspace.mask.anchor == (workspace.mask.rows // 2, workspace.mask.columns // 2)


def test_that_a_mask_goes_by_the_name_that_it_resembles_also_in_runs_and_undone(panel, workspace):
    sobel = preset("sobel-x")
    for mask, name in (
        (Mask([[1, 5]], name="mine"), "mine"),
        (Mask(preset("emboss").weights), "Emboss"),
        (sobel.with_anchor((0, 0)), "Sobel x, edited"),
        (sobel, "Sobel x"),
        (sobel.with_weight(0, 0, 9.0), "Sobel x, edited"),
        (preset("box-3"), "Box 3 × 3"),
    ):
        workspace.set_mask(mask)
        assert panel.presets.text() == name
    edited, box = "Sobel x, edited", "Box 3 × 3"
    for step, name in (("undo", edited), ("redo", box), ("undo", edited), ("undo", "Sobel x")):
        getattr(workspace.undo_stack, step)()
        assert panel.presets.text() == name
    sharpen = preset("sharpen")
    workspace.set_mask(sharpen)
    for row, column, title in (
        (0, 0, "Sharpen, edited"),
        (0, 1, "Sharpen, edited"),
        (0, 2, "Sharpen, edited"),
        (1, 0, "Custom mask"),
        (1, 1, "Custom mask"),
    ):
        workspace.set_mask(workspace.mask.with_weight(row, column, 7.0))
        assert panel.presets.text() == title
    workspace.set_mask(Mask(sharpen.weights))
    assert panel.presets.text() == "Sharpen"
    for alike in (sharpen.resized(5, 5), sharpen.divided_by(3.0), sharpen.with_offset(9.0)):
        workspace.set_mask(alike)
        assert panel.presets.text() == "Sharpen, edited"
    sharpen = preset("sharpen")
    for mask, name in (
        (sharpen, "Sharpen"),
        (sharpen.with_weight(0, 0, 2.0), "Sharpen, edited"),
        # Taken back by hand: the weights are the preset's again.
        (sharpen.with_weight(0, 0, 2.0).with_weight(0, 0, 0.0), "Sharpen"),
    ):
        workspace.set_mask(mask)
        assert workspace.step.applied_mask.name == name
        # What a run has restored goes by the same name.
        assert EditedStep(mask, EditedStep.of(workspace.step.applied_mask).title).mask_title == name


def test_that_a_mask_that_is_no_edit_of_the_one_before_does_not_take_its_name(panel, workspace, tmp_path):
    typed = Mask([[1.0, 2.0], [3.0, 4.0]])
    workspace.set_mask(preset("sharpen"))
    panel.model.paste("1 2\n3 4", [(0, 0)], whole=True)
    assert (panel.presets.text(), workspace.step.applied_mask.name) == ("Custom mask", "")
    for own in ("", "mine"):
        workspace.set_mask(Mask([[5.0, 1.0]], name=own or "Sharpen, edited"))
        workspace.set_mask(typed, is_new=True)
        assert panel.presets.text() == "Custom mask"
    begun = with_options(State((EditedStep.of(preset("sharpen")),)), Begin(mask="1 2; 3 4"))
    assert (begun.step.title, begun.step.applied_mask.name) == ("", "")
    assert EditedStep.of(preset("sharpen")).with_mask(typed, is_new=True).title == ""


def test_that_a_divisor_is_shown_as_typed_and_an_offset_is_a_step_of_its_own(panel, workspace, enter):
    workspace.set_mask(parse_mask("1 2 1; 2 4 2; 1 2 1 /16"))
    assert panel.presets.text() == "Gaussian 3 × 3"
    assert panel.apply_controls.divide_field.text() == "16"
    panel.model.setData(panel.model.index(0, 0), "1/9")
    cell = panel.model.index(0, 0)
    assert (cell.data(), cell.data(Qt.ItemDataRole.EditRole)) == ("1/9", "1/9")
    assert workspace.mask.weights[0, 0] == 1 / 9 / 16
    assert cell.data(TOOLTIP).startswith("Row 1, column 1: 1/9 / 16 = 0.0069")
    workspace.undo_stack.undo()
    assert (cell.data(), panel.apply_controls.divide_field.text()) == ("1", "16")
    workspace.set_mask(parse_mask("1 2 1 /4"))
    no_divisor = {"0": "divisor is 0", "/0": "divisor is 0", "x": "you typed 'x'"}
    for text, words in (no_divisor | {"1,500": "may be", "1 2": "2 numbers"}).items():
        enter(panel.apply_controls.divide_field, text)
        assert words in panel.facts.text()
        assert panel.apply_controls.divide_field.text() == "4"
    workspace.set_mask(Mask(np.ones((127, 1))))
    field = panel.apply_controls.offset_field
    for row in (63, 126):
        panel.model.setData(panel.model.index(row, 0), "2")
        enter(field, str(row))
        assert workspace.mask.offset == row
        workspace.undo_stack.undo()
        assert workspace.mask.weights[row, 0] == 2.0
        assert field.text() == "0"


def test_that_flip_and_normalise_are_settings_and_only_constant_takes_a_value(panel, workspace, enter):
    flip, normalise = panel.apply_controls.flip_box, panel.apply_controls.normalise_box
    assert not normalise.isEnabled()
    assert "add up to 0" in normalise.toolTip()
    workspace.set_mask(preset("gaussian-3"))
    flip.click()
    normalise.click()
    assert (workspace.settings.flip, workspace.settings.normalise) == (True, True)
    assert "correlation" in flip.toolTip()
    assert "convolution" in flip.toolTip()
    field = panel.apply_controls.value_field
    assert field.isHidden()
    workspace.change(border=Border.CONSTANT)
    assert not field.isHidden()
    enter(field, "255/2")
    assert workspace.settings.cval == 127.5
    workspace.set_mask(Mask([[1, 2, 1]], name="mine"))
    enter(panel.apply_controls.divide_field, "4")
    assert panel.presets.text() == "mine, edited"
    assert workspace.mask.weights.tolist() == [[0.25, 0.5, 0.25]]
    assert [panel.model.index(0, at).data() for at in range(3)] == ["1", "2", "1"]
    enter(panel.apply_controls.divide_field, "/16")
    assert panel.apply_controls.divide_field.text() == "16"
    assert workspace.mask.weights.tolist() == [[1 / 16, 1 / 8, 1 / 16]]
    enter(panel.apply_controls.divide_field, " ")
    assert workspace.mask.weights.tolist() == [[1, 2, 1]]


def test_that_the_dialog_takes_what_it_writes_and_what_is_pasted(qtbot, panel, workspace):
    dialog = panel.edit_as_text()
    for at in range(dialog.style_box.count()):
        dialog.style_box.setCurrentIndex(at)
        dialog.style_box.activated.emit(at)
        assert parse_mask(dialog.editor.toPlainText()) == workspace.mask
    ok = dialog.buttons.button(QDialogButtonBox.StandardButton.Ok)
    dialog.editor.setPlainText("1 2\n3")
    assert not ok.isEnabled()
    assert "differ in length" in dialog.verdict.text()
    dialog.editor.setPlainText("{{1, 2}, {3, 4}}")
    assert ok.isEnabled()
    ok.click()
    assert workspace.mask.weights.tolist() == [[1, 2], [3, 4]]
    assert workspace.undo_stack.undoText() == "Mask as text"
    # What is pasted takes the place of the mask at once.
    dialog = panel.edit_as_text()
    qtbot.waitUntil(dialog.isVisible)
    assert dialog.focusWidget() is dialog.editor
    QGuiApplication.clipboard().setText("1 2 3")
    qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    dialog.accept()
    assert workspace.mask == Mask([[1, 2, 3]])


LEFT, NONE = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier


def place(panel, row, column) -> QPoint:
    return panel.grid.visualRect(panel.model.index(row, column)).center()


def stroke(panel, *cells, modifier=NONE):
    viewport = panel.grid.viewport()
    QTest.mousePress(viewport, LEFT, modifier, place(panel, *cells[0]))
    for cell in cells[1:]:
        QTest.mouseMove(viewport, place(panel, *cell))
    QTest.mouseRelease(viewport, LEFT, modifier, place(panel, *cells[-1]))


def test_that_a_value_that_cannot_be_painted_is_refused_and_others_select(enter, panel, workspace):
    panel.brush.button.click()
    for text, words in (("x", "you typed 'x'"), (" ", "nothing"), ("1 2", "2 numbers"), ("1,500", "may be")):
        enter(panel.brush.field, text)
        assert words in panel.facts.text()
        assert (panel.brush.cell, panel.brush.field.text()) == ("1", "1")
    QTest.keyClick(panel.grid, Qt.Key.Key_Escape)
    assert not panel.brush.is_on
    workspace.set_mask(Mask(np.zeros((5, 5))))
    panel.grid.setCurrentIndex(panel.model.index(1, 1))
    stroke(panel, (1, 1), (2, 3))
    assert len(panel.grid.selected_cells()) == 6
    panel.brush.button.click()
    stroke(panel, (1, 1), (3, 3), modifier=Qt.KeyboardModifier.ShiftModifier)
    assert len(panel.grid.selected_cells()) > 1
    assert not workspace.mask.weights.any()
    # A click with Ctrl takes the value of a cell.
    workspace.set_mask(parse_mask("1/9 2; 3 4 /8"))
    QTest.mouseClick(panel.grid.viewport(), LEFT, Qt.KeyboardModifier.ControlModifier, place(panel, 0, 0))
    stroke(panel, (1, 1))
    assert workspace.mask.typed.cells == (("1/9", "2"), ("3", "1/9"))
    assert workspace.mask.typed.divisor == "8"


def test_that_a_stroke_paints_without_gaps_and_is_one_step(panel, workspace):
    assert cells_between((0, 0), (0, 0)) == [(0, 0), (0, 0)]
    line = cells_between((1, 1), (4, 9))
    assert (line[0], line[-1], len(line)) == ((1, 1), (4, 9), 9)
    assert all(abs(a - c) <= 1 and abs(b - d) <= 1 for (a, b), (c, d) in pairwise(line))
    workspace.set_mask(Mask(np.zeros((5, 5))))
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

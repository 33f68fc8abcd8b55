import numpy as np
import pytest
from PySide6.QtCore import Qt, QThreadPool
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QLabel, QWidget

from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.mask.presets import preset, presets
from engine.mask.text import parse_mask
from gui.explore.mask.mask_panel import MaskPanel
from gui.explore.workspace import Workspace

TOOLTIP = Qt.ItemDataRole.ToolTipRole


@pytest.fixture
def workspace():
    return Workspace(preset("sobel-x"))


@pytest.fixture
def panel(qtbot, workspace):
    panel = MaskPanel(workspace)
    qtbot.addWidget(panel)
    panel.resize(320, 600)
    panel.show()
    return panel


def enter(qtbot, field, text):
    field.selectAll()
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)


def test_that_growing_and_shrinking_keeps_the_centre(panel, workspace):
    before = workspace.mask
    panel.size_controls.rows_box.setValue(7)
    assert workspace.mask.shape == (7, 7)
    np.testing.assert_array_equal(workspace.mask.weights[2:5, 2:5], before.weights)
    panel.size_controls.columns_box.setValue(3)
    assert workspace.mask == before


def test_that_without_the_lock_one_side_changes_alone(panel, workspace):
    panel.size_controls.square_button.setChecked(False)
    panel.size_controls.columns_box.setValue(5)
    assert workspace.mask.shape == (3, 5)


def test_that_locking_makes_the_mask_square(panel, workspace):
    workspace.set_mask(preset("motion-horizontal"))
    assert not panel.size_controls.square_button.isChecked()
    panel.size_controls.square_button.setChecked(True)
    assert workspace.mask.shape == (9, 9)


def test_that_a_resize_can_be_undone(panel, workspace):
    panel.size_controls.rows_box.setValue(5)
    workspace.undo_stack.undo()
    assert workspace.mask == preset("sobel-x")
    assert panel.size_controls.rows_box.value() == 3


def test_that_every_preset_is_in_a_group_with_its_sentence(panel, workspace):
    panel.presets.fill_menu()
    groups = [action.menu() for action in panel.presets.menu().actions()]
    actions = [action for group in groups for action in group.actions()]
    assert [action.text() for action in actions] == [entry.title for entry in presets()]
    assert [action.toolTip() for action in actions] == [entry.teaches for entry in presets()]
    actions[-1].trigger()
    assert workspace.mask == presets()[-1].mask


def test_that_the_preset_is_named_and_said_to_be_edited(panel, workspace):
    assert panel.presets.text() == "Sobel x"
    panel.model.setData(panel.model.index(0, 0), "9")
    assert panel.presets.text() == "Sobel x, edited"
    workspace.undo_stack.undo()
    assert panel.presets.text() == "Sobel x"


def test_that_a_preset_with_another_anchor_is_edited(panel, workspace):
    workspace.set_mask(workspace.mask.with_anchor((0, 0)))
    assert panel.presets.text() == "Sobel x, edited"


def test_that_a_mask_from_a_file_keeps_its_own_name(panel, workspace):
    workspace.set_mask(Mask([[1, 5]], name="mine"))
    assert panel.presets.text() == "mine"


def test_that_weights_typed_like_a_preset_get_its_name(panel, workspace):
    workspace.set_mask(Mask(preset("emboss").weights))
    assert panel.presets.text() == "Emboss"


def test_that_all_borders_are_offered_with_their_sentences(panel, workspace):
    box = panel.apply_controls.border_box
    assert [box.itemData(number) for number in range(box.count())] == list(Border)
    assert [box.itemData(number, TOOLTIP) for number in range(box.count())] == [
        entry.sentence for entry in Border
    ]
    box.activated.emit(5)
    assert workspace.settings.border == Border.WRAP


def test_that_only_a_constant_border_takes_a_value(qtbot, panel, workspace):
    field = panel.apply_controls.value_field
    assert not field.isEnabled()
    workspace.change(border=Border.CONSTANT)
    assert field.isEnabled()
    enter(qtbot, field, "255/2")
    assert workspace.settings.cval == 127.5


def test_that_a_bad_value_is_refused_in_words_and_the_old_one_returns(qtbot, panel, workspace):
    workspace.change(border=Border.CONSTANT, cval=3.0)
    enter(qtbot, panel.apply_controls.value_field, "white")
    assert "'white'" in panel.facts.text()
    assert panel.apply_controls.value_field.text() == "3"
    assert workspace.settings.cval == 3.0


def test_that_a_mask_of_sum_0_cannot_be_normalised_and_says_why(panel, workspace):
    box = panel.apply_controls.normalise_box
    assert not box.isEnabled()
    assert "add up to 0" in box.toolTip()
    workspace.set_mask(preset("gaussian-3"))
    assert box.isEnabled()


def test_that_flip_and_normalise_are_settings(qtbot, panel, workspace):
    workspace.set_mask(preset("gaussian-3"))
    panel.apply_controls.flip_box.click()
    panel.apply_controls.normalise_box.click()
    assert workspace.settings.flip
    assert workspace.settings.normalise
    assert "correlation" in panel.apply_controls.flip_box.toolTip()
    assert "convolution" in panel.apply_controls.flip_box.toolTip()


def test_that_dividing_divides_every_weight_once(qtbot, panel, workspace):
    workspace.set_mask(Mask([[1, 2, 1]]))
    enter(qtbot, panel.apply_controls.divide_field, "4")
    assert workspace.mask.weights.tolist() == [[0.25, 0.5, 0.25]]
    assert panel.apply_controls.divide_field.text() == ""
    enter(qtbot, panel.apply_controls.divide_field, "0")
    assert workspace.mask.weights.tolist() == [[0.25, 0.5, 0.25]]
    assert "divided by 0" in panel.facts.text()


def test_that_the_offset_is_added_to_the_mask(qtbot, panel, workspace):
    enter(qtbot, panel.apply_controls.offset_field, "128")
    assert workspace.mask.offset == 128.0
    workspace.undo_stack.undo()
    assert panel.apply_controls.offset_field.text() == "0"


def test_that_an_offset_after_an_edit_of_any_cell_of_a_long_mask_is_a_step_of_its_own(
    qtbot, panel, workspace
):
    workspace.set_mask(Mask(np.ones((127, 1))))
    for row in (63, 126):
        panel.model.setData(panel.model.index(row, 0), "2")
        enter(qtbot, panel.apply_controls.offset_field, str(row))
        workspace.undo_stack.undo()
        assert workspace.mask.weights[row, 0] == 2.0


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Rotate left", [[3, 6], [2, 5], [1, 4]]),
        ("Rotate right", [[4, 1], [5, 2], [6, 3]]),
        ("Mirror left and right", [[3, 2, 1], [6, 5, 4]]),
        ("Mirror top and bottom", [[4, 5, 6], [1, 2, 3]]),
        ("Transpose", [[1, 4], [2, 5], [3, 6]]),
    ],
)
def test_that_a_transform_moves_the_cells_and_the_anchor(qtbot, panel, workspace, name, expected):
    workspace.set_mask(Mask([[1, 2, 3], [4, 5, 6]], anchor=(0, 2)))
    panel.transforms.buttons[name].click()
    assert workspace.mask.weights.tolist() == expected
    assert workspace.mask.weights[workspace.mask.anchor] == 3


def test_that_the_anchor_returns_to_the_middle(panel, workspace):
    assert not panel.transforms.centre_button.isEnabled()
    workspace.set_mask(workspace.mask.with_anchor((0, 0)))
    panel.transforms.centre_button.click()
    assert workspace.mask.anchor == (1, 1)


def test_that_the_facts_follow_the_mask_and_a_refusal_goes_with_the_next_edit(panel, workspace):
    assert "Separable" in panel.facts.text()
    panel.model.setData(panel.model.index(0, 0), "no")
    assert "'no'" in panel.facts.text()
    panel.model.setData(panel.model.index(0, 0), "9")
    assert "Not separable" in panel.facts.text()


def test_that_the_dialog_takes_text_and_refuses_what_is_no_mask(qtbot, panel, workspace):
    dialog = panel.edit_as_text()
    ok = dialog.buttons.button(QDialogButtonBox.StandardButton.Ok)
    dialog.editor.setPlainText("1 2\n3")
    assert not ok.isEnabled()
    assert "differ in length" in dialog.verdict.text()
    dialog.editor.setPlainText("{{1, 2}, {3, 4}}")
    assert ok.isEnabled()
    ok.click()
    assert workspace.mask.weights.tolist() == [[1, 2], [3, 4]]
    assert workspace.undo_stack.undoText() == "Mask as text"


def test_that_the_dialog_writes_every_style(panel, workspace):
    dialog = panel.edit_as_text()
    for number in range(dialog.style_box.count()):
        dialog.style_box.setCurrentIndex(number)
        dialog.style_box.activated.emit(number)
        assert parse_mask(dialog.editor.toPlainText()) == workspace.mask
    dialog.reject()


def test_that_the_mask_is_copied_in_a_style(panel, workspace):
    (copy,) = (action.menu() for action in panel.more_button.menu().actions() if action.menu())
    next(action for action in copy.actions() if action.text() == "C").trigger()
    assert QGuiApplication.clipboard().text().startswith("const float")


def test_that_files_are_asked_for_by_signals(qtbot, panel):
    actions = {action.text(): action for action in panel.more_button.menu().actions()}
    for text, signal in (("Load mask…", panel.load_requested), ("Save mask…", panel.save_requested)):
        with qtbot.waitSignal(signal):
            actions[text].trigger()


def test_that_nothing_is_cut_at_320_by_600(panel):
    for widget in panel.findChildren(QWidget):
        if widget.isVisible() and widget.parentWidget() is panel.grid.parentWidget():
            assert widget.geometry().right() <= panel.width() - 8
            assert widget.geometry().bottom() <= panel.height() - 8
            assert widget.width() >= widget.minimumSizeHint().width()


def test_that_every_control_has_a_name_and_a_tooltip(panel):
    controls = [
        panel.presets,
        panel.more_button,
        panel.size_controls.rows_box,
        panel.size_controls.columns_box,
    ]
    controls += [
        panel.size_controls.square_button,
        *panel.transforms.buttons.values(),
        panel.transforms.centre_button,
    ]
    controls += [
        panel.apply_controls.border_box,
        panel.apply_controls.value_field,
        panel.apply_controls.flip_box,
        panel.apply_controls.normalise_box,
    ]
    controls += [panel.apply_controls.divide_field, panel.apply_controls.offset_field]
    for control in controls:
        assert control.toolTip(), control
        assert control.accessibleName() or control.text(), control
        assert control.focusPolicy() & Qt.FocusPolicy.TabFocus, control


def test_that_a_mask_of_one_row_can_be_made_127_long_and_not_two_rows_high_then(panel, workspace):
    workspace.set_mask(Mask([[1, 2, 1]]))
    panel.size_controls.columns_box.setValue(127)
    assert workspace.mask.shape == (1, 127)
    panel.size_controls.rows_box.setValue(2)
    assert workspace.mask.shape == (1, 127)
    assert panel.size_controls.rows_box.value() == 1
    assert "1 to 127 in a mask of one row" in panel.facts.text()
    panel.size_controls.square_button.setChecked(True)
    assert workspace.mask.shape == (1, 127)
    assert not panel.size_controls.square_button.isChecked()


@pytest.mark.parametrize("side", ["64", "0"])
def test_that_a_size_that_no_mask_can_have_is_refused_in_words(qtbot, panel, workspace, side):
    before = workspace.mask
    box = panel.size_controls.rows_box
    box.setFocus()
    box.selectAll()
    qtbot.keyClicks(box, side)
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert workspace.mask is before
    assert box.value() == before.rows
    assert f"of {side} x {side} cells cannot be used" in panel.facts.text()


def test_that_a_refusal_is_shown_whole_while_facts_take_two_lines(qtbot, panel):
    panel.resize(290, 480)
    panel.show()
    QApplication.processEvents()
    line = panel.facts.fontMetrics().lineSpacing()
    assert panel.facts.height() < 3 * line
    panel.model.edit_refused.emit("The mask cannot be read. " * 6)
    QApplication.processEvents()
    assert panel.facts.height() > 4 * line
    assert panel.apply_controls.offset_field.visibleRegion().boundingRect().height() > 0


def test_that_a_large_mask_is_described_without_stopping_the_window(qtbot, panel, workspace):
    workspace.set_mask(Mask(np.eye(63)))
    assert panel.facts.text() == "The weights add up to 63."
    qtbot.waitUntil(lambda: panel.facts.text().startswith("Not separable."))
    assert "its rank is 63" in panel.facts.toolTip()


def test_that_a_late_description_does_not_hide_that_of_a_newer_mask(qtbot, panel, workspace):
    workspace.set_mask(Mask(np.eye(63)))
    workspace.set_mask(Mask(np.ones((3, 3))))
    QThreadPool.globalInstance().waitForDone()
    QApplication.processEvents()
    assert panel.facts.text().startswith("Separable.")


def test_that_the_name_of_the_mask_belongs_to_the_step_that_is_undone(panel, workspace):
    workspace.set_mask(workspace.mask.with_weight(0, 0, 9.0))
    assert panel.presets.text() == "Sobel x, edited"
    workspace.set_mask(preset("box-3"))
    name = panel.presets.text()
    workspace.undo_stack.undo()
    assert panel.presets.text() == "Sobel x, edited"
    workspace.undo_stack.redo()
    assert panel.presets.text() == name
    workspace.undo_stack.undo()
    workspace.undo_stack.undo()
    assert panel.presets.text() == "Sobel x"


def test_that_a_text_that_is_pasted_into_the_dialog_takes_the_place_of_the_mask(qtbot, panel, workspace):
    dialog = panel.edit_as_text()
    qtbot.waitUntil(dialog.isVisible)
    assert dialog.focusWidget() is dialog.editor
    QGuiApplication.clipboard().setText("1 2 3")
    qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    dialog.accept()
    assert workspace.mask == Mask([[1, 2, 3]])


def test_that_each_side_of_the_mask_has_its_label(panel):
    named = {label.text(): label.buddy() for label in panel.size_controls.findChildren(QLabel)}
    assert named == {"Rows": panel.size_controls.rows_box, "Columns": panel.size_controls.columns_box}

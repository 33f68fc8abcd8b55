"""Invalid text typed into every field of the window: refused in words, the last valid value stays."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from PySide6 import QtWidgets
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from engine.geometry.border import Border
from engine.work.operations.contract import OPERATIONS
from gui.explore.chain.chain_list import CombinePanel
from gui.explore.kernel.kernel_panel import BlockEditor
from gui.explore.mask.mask_panel import MaskPanel
from gui.explore.mask.operation_panel import OperationPanel
from gui.explore.state import COMBINE
from gui.network.stages_panel import StagesPanel
from gui.shell.pages import PAGES
from gui.shell.preferences import PreferencesDialog
from gui.widgets.code_pair import FindBar
from gui.widgets.fields import NumberBox
from tests.gui.made_window import panel_of, shown_page

HUGE = "9" * 5000
NO_NUMBERS = ("", " ", "abc", "nan", "-inf", "1e400", "1,500", "1 2", "1/0", "0x10", "½", HUGE)
NO_WHOLE_NUMBERS = (*NO_NUMBERS, "1.5", "1e3", "1,024", "16 threads", "1_6")


@dataclass(frozen=True)
class Field:
    """One field: where it is typed, what is in force, the words of a refusal, and what is no value."""

    widget: QtWidgets.QWidget
    state: Callable[[], Any]
    reason: Callable[[], str]
    wrong: tuple[str, ...]
    right: str
    keeps_text: bool = False


def words_of(refusal):
    """Return what reads a label that is visible while it refuses something."""
    return lambda: refusal.text() if refusal.isVisible() else ""


def explore_fields(haloscope, qtbot):
    """Return the fields of the page Explore, each ready for input."""
    window, workspace = haloscope.window, haloscope.workspace
    panel, block = window.findChild(MaskPanel), window.findChild(BlockEditor)
    workspace.change(border=Border.CONSTANT, cval=3.0, variant="tiled")
    panel_of(window.first_page, "blocks", qtbot)
    panel.brush.button.setChecked(True)
    blocks = haloscope.blocks_panel.field
    no_blocks = (*NO_NUMBERS[2:], "8x", "0x8", "33x33", "8x8, 16", "8x8x8", "-8x8", HUGE + "x" + HUGE)

    def facts():
        return panel.facts.text() if panel.facts._is_refusal else ""

    def state():
        return workspace.mask, workspace.settings, workspace.undo_stack.index()

    size, scale, refusal = panel.size_controls, panel.apply_controls, words_of(block.refusal)
    # Fields of one kind share what is tried.
    sides = (*NO_WHOLE_NUMBERS, "-3", "0", "64", "1000", "12000")
    numbers = (*NO_NUMBERS, "1e39")
    blocks_sides = (*NO_WHOLE_NUMBERS, "123456", "-123456")
    return {
        "rows": Field(size.rows_box, state, facts, sides[::2], "5"),
        "columns": Field(size.columns_box, state, facts, sides[1::2], "7"),
        "brush": Field(panel.brush.field, lambda: panel.brush.cell, facts, numbers[::3], "2"),
        "border value": Field(scale.value_field, state, facts, numbers[1::3], "2"),
        # Nothing typed is no wish to divide.
        "divide": Field(scale.divide_field, state, facts, (*numbers[2::2], "0", "1e-300"), "2"),
        "offset": Field(scale.offset_field, state, facts, numbers[2::3], "2"),
        "block width": Field(block.width_box, state, refusal, blocks_sides[::2], "16"),
        "block height": Field(block.height_box, state, refusal, blocks_sides[1::2], "16"),
        "blocks": Field(blocks.field, state, words_of(blocks.refusal), no_blocks, "8x8, 16x16", True),
    }


def operation_fields(haloscope, qtbot):
    """Yield the number fields of all operations and of a step that combines, one operation at a time."""
    workspace = haloscope.workspace

    def state():
        return workspace.state, workspace.undo_stack.index()

    for key in (*OPERATIONS, COMBINE):
        if key == COMBINE:
            haloscope.actions["add_step:combine"].trigger()
            workspace.set_parameter("how", "blend")
        else:
            workspace.choose(key)
        QtWidgets.QApplication.processEvents()
        kind = CombinePanel if key == COMBINE else OperationPanel
        panel = next(one for one in haloscope.window.findChildren(kind) if one.isVisible())
        for box in panel.findChildren(NumberBox):
            least, most = box.minimum(), box.maximum()
            # All of one kind: what a box refuses is tried on the others.
            wrong = ("abc", "1,500", HUGE, str(least - 1), str(most + 1))
            right = str(int(least + 1) if least + 1 <= most else int(least))
            yield f"{key} {box.accessibleName()}", Field(box, state, words_of(panel.refusal), wrong, right)


def tile_fields(haloscope, qtbot):
    """Return the fields of the panel Tile."""
    page = haloscope.window.page
    page.selection.select("tiled")
    panel = panel_of(page, "tile", qtbot)
    qtbot.waitUntil(panel.across.isVisible)

    def state():
        return panel.across.value(), panel.down.value()

    wrong, said = (*NO_WHOLE_NUMBERS, "-1", "99"), words_of(panel.refusal)
    return {
        "block across": Field(panel.across, state, said, wrong[::2], "1"),
        "block down": Field(panel.down, state, said, wrong[1::2], "1"),
    }


def letters_field(haloscope, qtbot):
    """Return the field of the preferences."""
    haloscope.actions["preferences"].trigger()
    dialog = haloscope.window.findChild(PreferencesDialog)
    wrong = (*NO_WHOLE_NUMBERS, "79", "201")
    return {"letters": Field(dialog.letters, dialog.letters.value, words_of(dialog.refusal), wrong, "100")}


def network_fields(haloscope, qtbot):
    """Return the fields of the page Network."""
    shown_page(haloscope.window, "network", qtbot)
    network = haloscope.network
    panel = haloscope.window.findChild(StagesPanel)

    def state():
        return network.settings, network.undo_stack.index()

    wrong = (*NO_WHOLE_NUMBERS, "0", "-3", "12000000")
    return {"batch": Field(panel.batch, state, lambda: panel._refusal, wrong, "300")}


def matrices_fields(haloscope, qtbot):
    """Return the fields of the page Matrices."""
    panel = panel_of(shown_page(haloscope.window, "matrices", qtbot), "product", qtbot)
    haloscope.matmul.change(square=False)

    def state():
        return haloscope.matmul.settings

    sides, said = (*NO_WHOLE_NUMBERS, "-3", "0", "8193", "12000"), words_of(panel.refusal)
    tiles = (*NO_WHOLE_NUMBERS, "4, 40", "0", "4,,x", HUGE + "," + HUGE)
    return {
        "matrix rows": Field(panel.rows, state, said, sides[::3], "300"),
        "inner size": Field(panel.inner, state, said, sides[1::3], "300"),
        "matrix columns": Field(panel.columns, state, said, sides[2::3], "300"),
        "tiles": Field(panel.tiles.field, state, words_of(panel.tiles.refusal), tiles, "4, 8", True),
    }


def write(qtbot, widget, text):
    """Put a text into a field as a person does: by keys, or a long one by the clipboard."""
    line = widget.lineEdit() if isinstance(widget, QtWidgets.QDoubleSpinBox) else widget
    widget.setFocus()
    line.selectAll()
    qtbot.keyClick(widget, Qt.Key.Key_Delete)
    if len(text) < 20 and text.isascii():
        qtbot.keyClicks(widget, text)
    else:
        QGuiApplication.clipboard().setText(text)
        line.paste()


FIELDS = explore_fields, operation_fields, tile_fields, matrices_fields, network_fields, letters_field


@pytest.mark.parametrize("fields_of", FIELDS)
def test_that_a_field_keeps_the_last_right_value(haloscope, qtbot, fields_of):
    size, found = haloscope.window.size(), fields_of(haloscope, qtbot)
    # Those of an operation are there as long as it is chosen.
    for name, field in found.items() if isinstance(found, dict) else found:
        for text in field.wrong:
            # The message about the text before must not count as the one about this text.
            write(qtbot, field.widget, field.right)
            qtbot.keyClick(field.widget, Qt.Key.Key_Return)
            given = name, text[:20]
            assert field.reason() == "", given
            before, shown = field.state(), field.widget.text()
            write(qtbot, field.widget, text)
            qtbot.keyClick(field.widget, Qt.Key.Key_Return)
            said = field.reason()
            assert said.endswith((".", "Use a point: 1.5")), f"{given} was taken, or refused without a word"
            assert len(said) < 400, given
            if isinstance(field.widget, NumberBox):
                # What is wanted has a limit or an example, also where nothing was typed.
                assert re.search(r" a (whole )?number .*\d", said) or " × " in said, f"{given}: {said}"
            assert field.state() == before, given
            assert field.widget.text() == (text if field.keeps_text else shown), given
        write(qtbot, field.widget, field.right)
        qtbot.keyClick(field.widget, Qt.Key.Key_Return)
    QtWidgets.QApplication.processEvents()
    assert haloscope.window.size() == size


def test_that_a_cell_of_the_mask_refuses_what_is_no_number(haloscope, qtbot):
    panel, before = haloscope.window.findChild(MaskPanel), haloscope.workspace.mask
    for text in (text for text in NO_NUMBERS if text.isascii() and len(text) < 20):
        panel.facts.show_facts()
        panel.grid.setFocus()
        panel.grid.setCurrentIndex(panel.model.index(0, 0))
        qtbot.keyClick(panel.grid, Qt.Key.Key_Return)
        # The one before may still wait to be deleted.
        editors = panel.grid.viewport().findChildren(QtWidgets.QLineEdit)
        (editor,) = (one for one in editors if one.isVisible())
        write(qtbot, editor, text)
        qtbot.keyClick(editor, Qt.Key.Key_Return)
        # What an editor holds is taken in the next turn of the event loop.
        qtbot.waitUntil(lambda: panel.facts.text().startswith("The weight did not change: "))
        assert haloscope.workspace.mask is before, text


NO_MASKS = {
    "empty": "", "words": "no mask at all", "ragged": "1 2\n3", "nan": "1 nan", "1e400": "1e400 1",
    "comma": "1,500 1", "huge": HUGE, "long": "1 " * 200_000, "64 × 64": "\n".join(["1 " * 64] * 64),
    "brackets": "[" * 100_000, "JSON": '{"format": 3}',
}  # fmt: skip


def test_that_what_is_no_mask_is_neither_pasted_nor_taken_as_text(haloscope, qtbot):
    panel, before = haloscope.window.findChild(MaskPanel), haloscope.workspace.mask
    control = Qt.KeyboardModifier.ControlModifier
    for name, text in NO_MASKS.items():
        QGuiApplication.clipboard().setText(text)
        panel.grid.setFocus()
        for keys in (control, control | Qt.KeyboardModifier.ShiftModifier):
            panel.facts.show_facts()
            qtbot.keyClick(panel.grid, Qt.Key.Key_V, keys)
            assert panel.facts._is_refusal, name
            assert len(panel.facts.text()) < 400, name
        dialog = panel.edit_as_text()
        dialog.editor.setPlainText(text)
        assert not dialog.buttons.button(QtWidgets.QDialogButtonBox.StandardButton.Ok).isEnabled(), name
        assert 0 < len(dialog.verdict.text()) < 400, name
        dialog.accept()
        dialog.reject()
        assert haloscope.workspace.mask is before, name


@pytest.mark.fresh_window
def test_that_no_other_field_takes_text_and_each_number_box_has_a_place_for_what_it_refuses(haloscope, qtbot):
    named = [*explore_fields(haloscope, qtbot).values(), *matrices_fields(haloscope, qtbot).values()]
    window = haloscope.window
    shown_page(window, "course", qtbot)
    kinds = "QLineEdit", "QAbstractSpinBox", "QTextEdit", "QPlainTextEdit"
    fields = [
        widget
        for kind in kinds
        for widget in window.findChildren(getattr(QtWidgets, kind))
        # The line within a spin box is the box's; any text can be looked for; source code is read.
        if not isinstance(widget.parentWidget(), QtWidgets.QAbstractSpinBox | FindBar)
        and not widget.isReadOnly()
    ]
    assert {id(widget) for widget in fields} == {id(field.widget) for field in named}
    assert not [box for box in window.findChildren(QtWidgets.QComboBox) if box.isEditable()]
    for entry in PAGES:
        for panel in shown_page(window, entry.key, qtbot).panels:
            panel_of(window.page, panel.objectName(), qtbot)
    boxes = window.findChildren(NumberBox)
    assert [box.accessibleName() for box in boxes if not box.receivers("2refused(QString)")] == []

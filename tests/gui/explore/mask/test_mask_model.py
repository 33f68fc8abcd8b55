import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from engine.mask.mask import Mask
from gui.explore.mask.mask_model import MaskModel, MaskRole
from gui.explore.workspace import Workspace
from gui.style.colours import cell_background, contrast, readable_text
from gui.style.theme import DARK, LIGHT

EDIT = Qt.ItemDataRole.EditRole


@pytest.fixture
def workspace():
    return Workspace(Mask([[1, 2, 3], [4, 5, 6], [7, 8, 1 / 9]], name="Numbers"))


@pytest.fixture
def model(qapp, workspace):
    model = MaskModel(workspace)
    model.tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    return model


def test_that_cells_show_the_mask_of_the_workspace_also_of_another_size(model, workspace):
    assert model.index(1, 2).data() == "6"
    assert model.index(2, 2).data() == "0.1111"
    assert float(model.index(2, 2).data(EDIT)) == 1 / 9
    workspace.set_mask(Mask(np.ones((2, 7))))
    assert (model.rowCount(), model.columnCount()) == (2, 7)
    workspace.undo_stack.undo()
    assert (model.rowCount(), model.columnCount()) == (3, 3)


def test_that_there_is_a_step_for_each_cell_that_was_edited(model, workspace):
    assert model.setData(model.index(2, 2), model.index(2, 2).data(EDIT))
    assert workspace.undo_stack.count() == 0
    assert workspace.mask.name == "Numbers"
    before = workspace.mask
    for column, text in ((0, "10"), (0, "11"), (1, "12")):
        model.setData(model.index(0, column), text)
    assert workspace.undo_stack.count() == 2
    workspace.undo_stack.undo()
    workspace.undo_stack.undo()
    assert workspace.mask == before
    assert model.index(0, 0).data() == "1"


def test_that_only_the_anchor_is_marked(model, workspace):
    tooltip = model.index(0, 2).data(Qt.ItemDataRole.ToolTipRole)
    assert "Row 1, column 3: 3" in tooltip
    assert "1 above and 1 to the right" in tooltip
    workspace.change(flip=True)
    assert "1 below and 1 to the left" in model.index(0, 2).data(Qt.ItemDataRole.ToolTipRole)
    assert "anchor" in model.index(1, 1).data(Qt.ItemDataRole.ToolTipRole)
    model.put_anchor(0, 2)
    cells = [(row, column) for row in range(3) for column in range(3)]
    marked = [cell for cell in cells if model.index(*cell).data(MaskRole.IS_ANCHOR)]
    assert marked == [(0, 2)] == [workspace.mask.anchor]


def test_that_what_is_done_with_several_cells_is_one_step(model, workspace):
    assert model.copied_text([(1, 1), (0, 2)]) == "2\t3\n5\t6"
    whole = model.copied_text([])
    model.clear_cells([(0, 0), (2, 2)])
    assert workspace.mask.weights[0, 0] == workspace.mask.weights[2, 2] == 0
    model.paste(whole, [(0, 0)])
    assert workspace.mask.weights[0, 0] == 1
    assert workspace.undo_stack.count() == 2


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_that_text_can_be_read_on_every_cell(theme):
    for step in range(-100, 101):
        background = cell_background(step / 100, 1.0, theme)
        assert contrast(readable_text(background, theme), background) >= 4.5
    zero, small, large = (cell_background(weight, 1.0, theme) for weight in (0.0, 0.1, 1.0))
    assert zero.name() == cell_background(0.0, 0.0, theme).name() == theme.base
    assert large != cell_background(-1.0, 1.0, theme)
    assert 1.0 < contrast(small, zero) < contrast(large, zero)

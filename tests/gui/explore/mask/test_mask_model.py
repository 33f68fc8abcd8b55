import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from engine.errors import MaskError
from engine.mask.generator_table import number_text
from engine.mask.mask import Mask
from engine.mask.text import format_mask
from gui.explore.mask.mask_model import MaskModel, MaskRole, pasted, read_cell, short_texts, texts_of
from gui.explore.workspace import Workspace
from gui.widgets.fields import read_typed

EDIT = Qt.ItemDataRole.EditRole


@pytest.fixture
def workspace():
    return Workspace(Mask([[1, 2, 3], [4, 5, 6], [7, 8, 1 / 9]], name="Numbers"))


@pytest.fixture
def model(qapp, workspace):
    model = MaskModel(workspace)
    model.tester = QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    return model


def test_that_cells_show_the_mask_and_each_edit_of_one_or_several_is_a_step(model, workspace):
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
    assert model.index(1, 2).data() == "6"
    assert model.index(2, 2).data() == "0.1111"
    assert float(model.index(2, 2).data(EDIT)) == 1 / 9
    workspace.set_mask(Mask(np.ones((2, 7))))
    assert (model.rowCount(), model.columnCount()) == (2, 7)
    workspace.undo_stack.undo()
    assert (model.rowCount(), model.columnCount()) == (3, 3)
    assert model.copied_text([(1, 1), (0, 2)]) == "2\t3\n5\t6"
    whole = model.copied_text([])
    model.clear_cells([(0, 0), (2, 2)])
    assert workspace.mask.weights[0, 0] == workspace.mask.weights[2, 2] == 0
    model.paste(whole, [(0, 0)])
    assert workspace.mask.weights[0, 0] == 1
    assert workspace.undo_stack.count() == 2
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


def test_that_numbers_and_fractions_are_read_with_a_decimal_comma_and_shown_exact_or_short():
    read = {"2": "2", " -2 ": "-2", "1/9": "1/9", "1e-3": "0.001", "−.5": "-0.5", "4.": "4", "1 /9": "1/9"}
    assert {text: read_cell(text) for text in read} == read | {"1 /9": repr(1 / 9)}
    for text, meant in [
        ("1,5", 1.5),
        ("-0,25", -0.25),
        ("−,5", -0.5),
        (" 2,5e-3 ", 0.0025),
        ("0,125", 0.125),
    ]:
        assert float(read_cell(text)) == meant == float(read_typed(text, "Offset did not change"))
    for text in ("", "  ", "abc", "1/0", "nan", "1e999", "1,500", "1 2", "1 +", "gaussian:9"):
        with pytest.raises(MaskError) as caught:
            read_cell(text)
        assert caught.value.what == "The weight did not change"
        assert caught.value.why
        assert caught.value.remedy
        assert text != "abc" or "you typed 'abc'" in caught.value.why
    for text in ("", "abc", "nan", "1 2", "1e39", "1e400"):
        with pytest.raises(MaskError, match=r"^Offset did not change: ") as caught:
            read_typed(text, "Offset did not change")
        assert not any(word in str(caught.value) for word in ("cell", "weight", "row 1", "Ctrl")), text
    short = {0.0: ("0", "0"), -1.0: ("-1", "-1"), 1 / 9: ("0.1111", ".1"), -0.0625: ("-0.0625", "-.06")}
    short |= {1e-7: ("1e-7", "1e-7"), 12345.0: ("12345", "1e4")}
    for weight, ends in short.items():
        texts = short_texts(weight)
        assert (texts[0].replace("−", "-"), texts[-1].replace("−", "-")) == ends
    # A fraction is shown as a fraction while it fits.
    assert texts_of("-1/9") == ("−1/9", *short_texts(-1 / 9))


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_that_typed_text_reads_back_to_the_same_weight(weight):
    assert float(read_cell(number_text(weight))) == weight
    texts = short_texts(weight)
    assert list(map(len, texts)) == sorted(map(len, texts), reverse=True)
    for text in texts:
        assert abs(float(text.replace("−", "-")) - weight) <= 0.5 * abs(weight)


FIVE = Mask(np.arange(25).reshape(5, 5), anchor=(1, 3), offset=7.0)


def test_that_pasted_cells_go_in_where_they_fit_and_what_is_a_whole_mask_takes_its_place():
    for cells in ([(2, 3)], [(4, 4), (2, 4), (3, 3)]):
        mask, *_ = pasted(FIVE, "-1\t-2\r\n-3\t-4\r\n", cells)
        expected = FIVE.weights.copy()
        expected[2:4, 3:5] = [[-1, -2], [-3, -4]]
        np.testing.assert_array_equal(mask.weights, expected)
        assert (mask.anchor, mask.offset) == (FIVE.anchor, FIVE.offset)
    for larger in ("1 2 3 4 5 6", "1;2;3;4;5;6", "\n".join(["9 9 9 9 9"] * 5)):
        mask, *_ = pasted(FIVE, larger, [(0, 0)])
        assert mask.anchor == (mask.rows // 2, mask.columns // 2)
        assert mask.offset == 0.0
    mask, *_ = pasted(FIVE, "1/2 1/4", [(0, 0)])
    assert mask.shape == FIVE.shape
    assert mask.weights[0, :2].tolist() == [0.5, 0.25]
    assert mask.typed.cells[0][:3] == ("1/2", "1/4", "2")
    mask, *_ = pasted(FIVE, "1/8", [(4, 4), (0, 0)])
    assert mask.weights[4, 4] == mask.weights[0, 0] == 0.125
    assert mask.weights[0, 1] == 1
    mask, *_ = pasted(FIVE, "1 2", [(0, 0)], whole=True)
    assert mask.shape == (1, 2)
    with pytest.raises(MaskError, match="do not fit at row 5, column 5 of 5 × 5"):
        pasted(FIVE, "1 2", [(4, 4)])
    assert pasted(FIVE, "box:3", [(0, 0)])[0].shape == (3, 3)
    for text in [*LITERALS, "1 2 1 /4", "1/4 * 1 2 1", "1 2 1\n/ 4"]:
        mask, *_ = pasted(FIVE, text, [(0, 0)])
        assert mask.weights.tolist() == [[0.25, 0.5, 0.25]]


LITERALS = [format_mask(Mask([[0.25, 0.5, 0.25]]), style) for style in ("numpy", "c", "matlab", "json")]

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import MaskError
from engine.mask.generator_table import number_text
from engine.mask.mask import Mask
from engine.mask.text import format_mask
from gui.explore.mask.mask_model import pasted
from gui.explore.mask.weight_text import read_cell, read_typed, short_texts, texts_of


def test_that_numbers_and_fractions_are_read():
    read = {"2": "2", " -2 ": "-2", "1/9": "1/9", "1e-3": "0.001", "−.5": "-0.5", "4.": "4", "1 /9": "1/9"}
    assert {text: read_cell(text) for text in read} == read | {"1 /9": repr(1 / 9)}


def test_that_other_text_is_refused_in_the_words_of_its_field():
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


def test_that_a_comma_in_a_number_is_a_decimal_one():
    for text, meant in [
        ("1,5", 1.5),
        ("-0,25", -0.25),
        ("−,5", -0.5),
        (" 2,5e-3 ", 0.0025),
        ("0,125", 0.125),
    ]:
        assert float(read_cell(text)) == meant == float(read_typed(text, "Offset did not change"))


@pytest.mark.parametrize(("text", "either"), [("1,500", "1.500 or 1500"), ("-12,000", "-12.000 or -12000")])
def test_that_a_comma_that_may_part_thousands_is_refused_in_one_sentence(text, either):
    with pytest.raises(MaskError) as caught:
        read_cell(text)
    assert str(caught.value) == (
        f'The weight did not change: you typed "{text}", which may be {either}. Write {either}.'
    )


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_that_typed_text_reads_back_to_the_same_weight(weight):
    assert float(read_cell(number_text(weight))) == weight
    texts = short_texts(weight)
    assert list(map(len, texts)) == sorted(map(len, texts), reverse=True)
    for text in texts:
        assert abs(float(text.replace("−", "-")) - weight) <= 0.5 * abs(weight)


def test_that_a_cell_starts_exact_and_ends_short():
    short = {0.0: ("0", "0"), -1.0: ("-1", "-1"), 1 / 9: ("0.1111", ".1"), -0.0625: ("-0.0625", "-.06")}
    short |= {1e-7: ("1e-7", "1e-7"), 12345.0: ("12345", "1e4")}
    for weight, ends in short.items():
        texts = short_texts(weight)
        assert (texts[0].replace("−", "-"), texts[-1].replace("−", "-")) == ends


def test_that_a_fraction_is_shown_as_a_fraction_while_it_fits():
    assert texts_of("-1/9") == ("−1/9", *short_texts(-1 / 9))


FIVE = Mask(np.arange(25).reshape(5, 5), anchor=(1, 3), offset=7.0)


def test_that_pasted_rows_go_in_where_they_fit():
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


LITERALS = [format_mask(Mask([[0.25, 0.5, 0.25]]), style) for style in ("numpy", "c", "matlab", "json")]


def test_that_a_generator_is_a_whole_mask_however_small():
    assert pasted(FIVE, "box:3", [(0, 0)])[0].shape == (3, 3)


def test_that_a_literal_and_rows_with_a_factor_are_a_whole_mask_however_small():
    for text in [*LITERALS, "1 2 1 /4", "1/4 * 1 2 1", "1 2 1\n/ 4"]:
        mask, *_ = pasted(FIVE, text, [(0, 0)])
        assert mask.weights.tolist() == [[0.25, 0.5, 0.25]]


def test_that_cells_may_hold_fractions():
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

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import MaskError
from engine.mask.json_form import number_text
from gui.explore.mask.weight_text import read_number, read_weight, short_texts


@pytest.mark.parametrize(
    ("text", "weight"),
    [("2", 2.0), (" -2 ", -2.0), ("1/9", 1 / 9), ("1e-3", 0.001), ("−.5", -0.5), ("4.", 4.0)],
)
def test_that_numbers_and_fractions_are_read(text, weight):
    assert read_weight(text) == weight


@pytest.mark.parametrize("text", ["", "  ", "abc", "1/0", "nan", "1e999", "0,5", "1 2", "1 +"])
def test_that_other_text_is_refused_with_a_reason_and_a_remedy(text):
    with pytest.raises(MaskError) as caught:
        read_weight(text)
    assert caught.value.what == "The weight was not changed"
    assert caught.value.why
    assert caught.value.remedy
    if text == "abc":
        assert "you typed 'abc'" in caught.value.why


@pytest.mark.parametrize("text", ["", "abc", "nan", "1 2", "1e39", "1e400"])
def test_that_a_field_is_refused_in_words_that_are_not_of_masks(text):
    with pytest.raises(MaskError, match=r"^Offset was not changed: ") as caught:
        read_number(text, "Offset was not changed")
    for word in ("cell", "weight", "row 1", "Ctrl"):
        assert word not in str(caught.value)


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_that_typed_text_reads_back_to_the_same_weight(weight):
    assert read_weight(number_text(weight)) == weight


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_that_short_texts_get_shorter_and_stay_near(weight):
    texts = short_texts(weight)
    assert list(map(len, texts)) == sorted(map(len, texts), reverse=True)
    for text in texts:
        assert abs(float(text.replace("−", "-")) - weight) <= 0.5 * abs(weight)


@pytest.mark.parametrize(
    ("weight", "first", "last"),
    [
        (0.0, "0", "0"),
        (-1.0, "−1", "−1"),
        (1 / 9, "0.1111", ".1"),
        (-0.0625, "−0.0625", "−.06"),
        (1e-7, "1e-7", "1e-7"),
        (12345.0, "12345", "1e4"),
    ],
)
def test_that_a_cell_starts_exact_and_ends_short(weight, first, last):
    texts = short_texts(weight)
    assert texts[0].replace("−", "-") == first.replace("−", "-")
    assert texts[-1].replace("−", "-") == last.replace("−", "-")

"""Fractions and divisors stay as they were typed, beside the weights that follow from them."""

import copy
import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import MaskError
from engine.mask.json_form import mask_from_values, mask_values
from engine.mask.mask import Mask
from engine.mask.presets import preset
from engine.mask.text import FORMS, STYLES, format_mask, load_mask, parse_mask, save_mask
from engine.mask.typed import TypedWeights
from tests.engine.mask.test_text import tables

BINOMIAL = "1 2 1; 2 4 2; 1 2 1 /16"
NINTHS = "1/9 2/9 0; -1/9 5 1/3"
KEEPING = ["rows", "line", "numpy", "matlab", "json"]

numbers = st.integers(-99, 99).map(str) | st.floats(-1e6, 1e6).map(repr)
fractions = st.tuples(st.integers(-99, 99), st.integers(1, 99)).map(lambda pair: f"{pair[0]}/{pair[1]}")
divisors = st.sampled_from(["", " /16", " /0.3", " * 2/3", "\n/ 256", " * 0.1"])


@st.composite
def texts(draw):
    columns = draw(st.integers(1, 4))
    row = st.lists(numbers | fractions, min_size=columns, max_size=columns)
    rows = draw(st.lists(row, min_size=1, max_size=4))
    return "; ".join(map(" ".join, rows)) + draw(divisors)


def test_that_a_divisor_and_fractions_are_kept_as_typed_in_a_mask_that_is_its_preset():
    assert parse_mask(BINOMIAL).typed == TypedWeights(
        (("1", "2", "1"), ("2", "4", "2"), ("1", "2", "1")), "16"
    )
    assert parse_mask(NINTHS).typed.cells == (("1/9", "2/9", "0"), ("-1/9", "5", "1/3"))
    assert parse_mask("1/16 * [[1, 2], [3, 4]]").typed.divisor == "16"
    assert parse_mask("1 2 * 2/3").typed.divisor == "3/2"
    assert parse_mask(BINOMIAL) == preset("gaussian-3")
    assert preset("gaussian-3").typed.divisor == "16"


@pytest.mark.slow
@settings(max_examples=100)
@given(mask=texts().map(parse_mask) | tables.map(Mask))
def test_that_every_style_gives_the_same_bits_and_those_that_can_the_same_text(mask):
    for style in STYLES:
        read = parse_mask(format_mask(mask, style))
        assert read == mask, style
        assert style not in KEEPING or read.typed == mask.typed, style


@settings(max_examples=40)
@given(text=texts())
def test_that_sessions_and_copies_keep_what_was_typed(text):
    mask = parse_mask(text).with_name("mine")
    for other in (
        mask_from_values(mask_values(mask), "mine"),
        pickle.loads(pickle.dumps(mask)),
        copy.deepcopy(mask),
        mask.with_offset(3.0).with_anchor((0, 0)).with_anchor(None).with_offset(0.0),
        mask.flipped().flipped(),
        mask.rotated(1).rotated(-1),
        mask.transposed().transposed(),
        mask.resized(9, 9).resized(*mask.shape),
    ):
        assert (other, other.typed) == (mask, mask.typed)


def test_that_a_mask_survives_its_file_and_imagej_gets_plain_rows_and_no_even_side(tmp_path):
    for style, form in FORMS.items():
        mask = parse_mask(BINOMIAL)
        path = tmp_path / f"m{form.suffix}"
        save_mask(mask, path, style)
        loaded = load_mask(path)
        assert loaded == mask
        assert style not in KEEPING or loaded.typed == mask.typed
    path = tmp_path / "m.txt"
    save_mask(parse_mask(BINOMIAL), path, "imagej")
    assert path.read_text() == "0.0625 0.125 0.0625\n0.125 0.25 0.125\n0.0625 0.125 0.0625\n"
    with pytest.raises(MaskError, match="odd sides only, and this mask has 1 × 2"):
        save_mask(Mask([[1, 2]]), path, "imagej")


def test_that_kernels_of_imagemagick_are_read_and_others_refused_in_words():
    sobel = preset("sobel-x")
    for text in (
        "3x3: -1,0,1 -2,0,2 -1,0,1",
        "3: -1,0,1,-2,0,2,-1,0,1",
        "3x3+1+1:\n -1 nan 1\n -2,-,2\n -1,0,1;",
    ):
        assert parse_mask(text) == sobel
    odd = Mask([[1, 2, 3], [4, 5, 6]], anchor=(0, 2))
    assert format_mask(odd, "imagemagick") == "3x2+2+0: 1,2,3 4,5,6"
    assert parse_mask("3x2+2+0: 1,2,3 4,5,6") == odd
    for text, why in [
        ("3x3: 1,2,3", "3 wide and 3 high and has 3 numbers"),
        ("3x3:", "has 0 numbers"),
        ("3x3>: 1 2 3 4 5 6 7 8 9", "list of kernels"),
        ("1: 2; 1: 3", "list of kernels"),
        ("2x1: 1,x", "row 1, column 2 says 'x'"),
        ("2x1+5+5: 1,2", "not among them"),
        ("0x0: 1", "has 1 numbers"),
    ]:
        with pytest.raises(MaskError, match=why):
            parse_mask(text)


def test_that_a_comma_is_a_decimal_one_where_blanks_separate_cells():
    for text, weights in [
        ("1,5 2,5; 3,5 4,5", [[1.5, 2.5], [3.5, 4.5]]),
        ("0,5\t1\n2\t-3,5", [[0.5, 1.0], [2.0, -3.5]]),
        ("1,5 2; 3 4", [[1.5, 2.0], [3.0, 4.0]]),
        ("[0,5 1,5; 2 3]", [[0.5, 1.5], [2.0, 3.0]]),
        ('"0,5","1,5"\n"2","3"', [[0.5, 1.5], [2.0, 3.0]]),
        ("0,125 1,5 /2", [[0.0625, 0.75]]),
        # Without blanks a comma separates cells, as ever.
        ("1,5\n2,5", [[1.0, 5.0], [2.0, 5.0]]),
    ]:
        assert parse_mask(text).weights.tolist() == weights


def test_that_an_edit_keeps_the_divisor_and_the_other_cells():
    mask = parse_mask(BINOMIAL).with_cells([(1, 1), (0, 0)], "1/3")
    assert mask.typed.cells == (("1/3", "2", "1"), ("2", "1/3", "2"), ("1", "2", "1"))
    assert mask.weights[1, 1] == 1 / 3 / 16
    assert parse_mask("1/9 1").with_cells([(0, 1)], "2").typed.cells == (("1/9", "2"),)


def test_that_what_cannot_be_typed_is_refused_in_words():
    for typed, why in [
        (TypedWeights((("1",),), "0"), "divisor is 0"),
        (TypedWeights((("1",),), "x"), "divisor says 'x'"),
        (TypedWeights((("a",),)), "row 1, column 1 says 'a'"),
        (TypedWeights((("1/0",),)), "division by zero"),
        (TypedWeights((("1e38",),), "1e-9"), "beyond float32"),
    ]:
        with pytest.raises(MaskError, match=why):
            Mask(typed)

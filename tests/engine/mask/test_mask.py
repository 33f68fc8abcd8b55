import pathlib
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import engine
from engine.errors import MaskError
from engine.mask.mask import MAX_LINE, MAX_SIDE, Mask

FLOAT32_MAX = float(np.finfo(np.float32).max)


@st.composite
def masks(draw, max_side=8):
    rows, columns = draw(st.integers(1, max_side)), draw(st.integers(1, max_side))
    weights = draw(
        hnp.arrays(
            np.float64, (rows, columns), elements=st.floats(-FLOAT32_MAX, FLOAT32_MAX, allow_subnormal=True)
        )
    )
    anchor = draw(st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)) | st.none())
    return Mask(weights, anchor, draw(st.floats(-1e6, 1e6)))


def test_that_the_anchor_lies_in_the_middle_unless_given():
    assert Mask([[1, 2, 3]]).anchor == (0, 1)
    assert Mask([[1, 2], [3, 4]]).anchor == (1, 1)
    assert Mask(np.ones((5, 4)), (4, 0)).anchor == (4, 0)


def test_that_weights_are_copied_and_read_only():
    given_weights = np.ones((3, 3))
    mask = Mask(given_weights)
    given_weights[0, 0] = 7.0
    assert mask.weights[0, 0] == 1.0
    for array in (mask.weights, mask.weights32):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 2.0


def test_that_kernels_get_contiguous_float32():
    weights32 = Mask(np.arange(6.0).reshape(2, 3)).transposed().weights32
    assert weights32.dtype == np.float32
    assert weights32.flags.c_contiguous
    assert weights32.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]


def test_that_equality_and_hash_go_by_value_and_ignore_the_name():
    mask = Mask([[1, 0], [0, 1]], name="a")
    assert mask == Mask([[1.0, -0.0], [0.0, 1.0]], (1, 1), 0.0, "b")
    assert hash(mask) == hash(Mask([[1.0, -0.0], [0.0, 1.0]]))
    others = [
        mask.with_anchor((0, 0)),
        mask.with_offset(1.0),
        mask.with_weight(0, 1, 2.0),
        Mask([[1, 0, 0, 1]]),
    ]
    assert mask not in others
    assert mask != "mask"
    assert len({mask, Mask([[1, 0], [0, 1]]), *others}) == 5


def test_that_a_mask_travels_by_pickle_and_stays_read_only():
    mask = Mask([[1, 2, 3]], (0, 2), 0.5, "ramp")
    copy = pickle.loads(pickle.dumps(mask))
    assert (copy, copy.name) == (mask, "ramp")
    assert not copy.weights.flags.writeable


@pytest.mark.parametrize(
    ("weights", "why"),
    [
        pytest.param([[1, 2], [3]], "rows differ in length", id="ragged"),
        pytest.param([1, 2, 1], "2 dimensions", id="one-dimensional"),
        pytest.param(3.0, "2 dimensions", id="a-number"),
        pytest.param(np.ones((2, 2, 2)), "2 dimensions", id="three-dimensional"),
        pytest.param([["1", "2"]], "not every cell is a number", id="strings"),
        pytest.param([[1j]], "not every cell is a number", id="complex"),
        pytest.param([[None]], "not every cell is a number", id="none"),
        pytest.param(np.ones((0, 3)), "no cells", id="no-rows"),
        pytest.param([[]], "no cells", id="no-columns"),
        pytest.param(np.ones((64, 3)), "1 to 63", id="too-many-rows"),
        pytest.param(np.ones((3, 64)), "1 to 63", id="too-many-columns"),
        pytest.param([[1, 2], [np.nan, 1]], "row 2, column 1 is nan", id="nan"),
        pytest.param([[1, -np.inf]], "row 1, column 2 is -inf", id="infinity"),
        pytest.param([[1e39]], "beyond float32", id="beyond-float32"),
    ],
)
def test_that_weights_that_are_no_mask_are_refused_in_words(weights, why):
    with pytest.raises(MaskError) as refusal:
        Mask(weights)
    assert why in refusal.value.why
    assert refusal.value.remedy


@pytest.mark.parametrize("anchor", [(3, 0), (0, 2), (-1, 0), (0.5, 1), (1,), "ab", 1])
def test_that_an_anchor_outside_the_mask_is_refused(anchor):
    with pytest.raises(MaskError, match=r"[Aa]nchor"):
        Mask(np.ones((3, 2)), anchor)


@pytest.mark.parametrize("offset", [np.nan, np.inf, 1e39, "x", None])
def test_that_an_offset_that_is_not_finite_is_refused(offset):
    with pytest.raises(MaskError, match="offset"):
        Mask([[1.0]], offset=offset)


def test_that_the_largest_mask_and_the_largest_weight_are_allowed():
    mask = Mask(np.full((MAX_SIDE, MAX_SIDE), FLOAT32_MAX))
    assert mask.taps == 3969
    assert np.isfinite(mask.weights32).all()


@pytest.mark.parametrize("shape", [(1, MAX_LINE), (MAX_LINE, 1)])
def test_that_the_longest_row_and_column_are_allowed_and_can_be_turned(shape):
    mask = Mask(np.arange(127.0).reshape(shape), anchor=(shape[0] - 1, shape[1] - 1))
    assert mask.transposed().shape == mask.rotated(1).shape == mask.rotated(-1).shape == shape[::-1]
    assert mask.flipped().anchor == (0, 0)
    assert mask.resized(1, 1).weights.tolist() == [[126.0]]


@pytest.mark.parametrize(
    ("rows", "columns", "remedy"),
    [
        (1, 128, "Make it 1 x 127 or smaller."),
        (500, 1, "Make it 127 x 1 or smaller."),
        (2, 64, "Make it 2 x 63 or smaller."),
        (127, 2, "Make it 63 x 2 or smaller."),
        (127, 127, "Make it 63 x 63 or smaller."),
    ],
)
def test_that_a_mask_that_is_too_large_is_refused_with_the_nearest_size(rows, columns, remedy):
    with pytest.raises(MaskError) as refusal:
        Mask(np.ones((rows, columns)))
    assert (
        refusal.value.why == "a side may have 1 to 63 cells, or 1 to 127 in a mask of one row or one column"
    )
    assert refusal.value.remedy == remedy
    Mask(np.ones([int(side) for side in remedy.split() if side.isdigit()]))


def test_that_sums_are_rounded_once():
    mask = Mask([[1e16, 1.0, -1e16, -0.5]])
    assert mask.total == 0.5
    assert Mask([[1, -2], [3, -4]]).magnitude == 10.0


def test_that_a_flip_turns_by_180_degrees_and_takes_the_anchor_along():
    mask = Mask([[1, 2, 3], [4, 5, 6]], (0, 0), 2.0, "n")
    flipped = mask.flipped()
    assert flipped.weights.tolist() == [[6, 5, 4], [3, 2, 1]]
    assert flipped.weights[flipped.anchor] == mask.weights[mask.anchor]
    assert (flipped.offset, flipped.name) == (2.0, "n")


@settings(max_examples=60, deadline=None)
@given(masks())
def test_that_two_flips_four_quarter_turns_and_two_transpositions_change_nothing(mask):
    assert mask.flipped().flipped() == mask
    assert mask.transposed().transposed() == mask
    assert mask.rotated(4) == mask
    assert mask.rotated(1).rotated(-1) == mask
    assert mask.rotated(2) == mask.flipped()


@settings(max_examples=60, deadline=None)
@given(masks(), st.integers(0, 3))
def test_that_the_anchor_stays_on_its_weight(mask, turns):
    weight = mask.weights[mask.anchor]
    for moved in (mask.flipped(), mask.transposed(), mask.rotated(turns), mask.resized(3, 4)):
        assert moved.weights[moved.anchor] == weight


def test_that_a_quarter_turn_is_counter_clockwise():
    assert Mask([[1, 2, 3]]).rotated(1).weights.tolist() == [[3], [2], [1]]


def test_that_normalising_divides_by_the_sum():
    assert Mask([[1, 2, 1]], offset=3.0).normalised() == Mask([[0.25, 0.5, 0.25]], offset=3.0)


@pytest.mark.parametrize("weights", [[[1, 0, -1]], [[0.1, 0.2, -0.3]], [[0.0]]])
def test_that_weights_that_add_up_to_zero_are_not_normalised(weights):
    with pytest.raises(MaskError, match="add up to 0"):
        Mask(weights).normalised()


def test_that_a_tiny_sum_that_is_not_rounding_is_normalised():
    assert Mask([[1.0, -1.0 + 1e-12]]).normalised().total == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("divisor", [0.0, np.nan, np.inf, 1e-300])
def test_that_a_divisor_that_gives_no_finite_weights_is_refused(divisor):
    with pytest.raises(MaskError):
        Mask([[1e30]]).divided_by(divisor)


def test_that_an_edited_mask_loses_its_name():
    mask = Mask([[1, 2, 1]], (0, 0), 1.0, "preset").with_weight(0, 2, 5)
    assert mask == Mask([[1, 2, 5]], (0, 0), 1.0)
    assert mask.name == ""


@pytest.mark.parametrize(("row", "column", "value"), [(1, 0, 1.0), (0, -1, 1.0), (0, 0, np.nan)])
def test_that_a_weight_outside_the_mask_or_not_finite_is_refused(row, column, value):
    with pytest.raises(MaskError):
        Mask([[1, 2]]).with_weight(row, column, value)


def test_that_growing_keeps_the_middle_and_adds_zeros():
    grown = Mask([[1, 2, 3]]).resized(3, 5)
    assert grown.weights.tolist() == [[0] * 5, [0, 1, 2, 3, 0], [0] * 5]
    assert grown.anchor == (1, 2)


def test_that_shrinking_keeps_the_cells_around_an_anchor_at_the_edge():
    shrunk = Mask(np.arange(25.0).reshape(5, 5), (0, 4)).resized(2, 3)
    assert shrunk.weights.tolist() == [[2, 3, 4], [7, 8, 9]]
    assert shrunk.anchor == (0, 2)


@settings(max_examples=60, deadline=None)
@given(masks(), st.integers(0, 5), st.integers(0, 5))
def test_that_growing_and_shrinking_back_changes_nothing(mask, more_rows, more_columns):
    grown = mask.resized(mask.rows + more_rows, mask.columns + more_columns)
    assert grown.resized(mask.rows, mask.columns) == mask


@pytest.mark.parametrize(("rows", "columns"), [(0, 3), (3, 0), (64, 3), (3, 64)])
def test_that_a_size_that_is_not_allowed_is_refused(rows, columns):
    with pytest.raises(MaskError):
        Mask([[1.0]]).resized(rows, columns)


@pytest.mark.parametrize(
    ("weights", "says"),
    [
        (None, "None is no mask: a mask is a table of numbers. Give rows of numbers, such as [[1, 0, -1]]"),
        (
            pathlib.PurePosixPath("edge.json"),
            "it is the name of a file. Give engine.correlate the name as text",
        ),
        (b"1 0 -1", "b'1 0 -1' is no mask: it is bytes, not numbers"),
        (bytearray(b"1"), "it is bytes, not numbers"),
        ("1 0 -1", "'1 0 -1' is no mask: it is text, not numbers. Read it with engine.parse_mask"),
        (np.ma.masked_array([[1.0, 2.0]], [[0, 1]]), "hidden would be lost. Fill them first"),
        ({1, 2}, "not every cell is a number"),
    ],
    ids=["None", "path", "bytes", "bytearray", "text", "masked", "set"],
)
def test_that_what_is_no_table_is_refused_in_its_own_words(weights, says):
    with pytest.raises(MaskError, match=re.escape(says)):
        Mask(weights)
    if not isinstance(weights, str):
        with pytest.raises(MaskError, match=re.escape(says)):
            engine.correlate(np.ones((2, 2)), weights, device="cpu")

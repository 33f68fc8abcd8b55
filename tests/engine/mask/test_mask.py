import pathlib
import pickle
import re
from functools import partial

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
    elements = st.floats(-FLOAT32_MAX, FLOAT32_MAX, allow_subnormal=True)
    weights = draw(hnp.arrays(np.float64, (rows, columns), elements=elements))
    anchor = draw(st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)) | st.none())
    return Mask(weights, anchor, draw(st.floats(-1e6, 1e6)))


def test_that_the_anchor_lies_in_the_middle_and_weights_are_copied_read_only_and_contiguous():
    assert Mask([[1, 2, 3]]).anchor == (0, 1)
    assert Mask([[1, 2], [3, 4]]).anchor == (1, 1)
    assert Mask(np.ones((5, 4)), (4, 0)).anchor == (4, 0)
    given_weights = np.arange(6.0).reshape(2, 3)
    mask = Mask(given_weights).transposed()
    given_weights[0, 0] = 7.0
    assert mask.weights32.dtype == np.float32
    assert mask.weights32.flags.c_contiguous
    for array in (mask.weights, mask.weights32, pickle.loads(pickle.dumps(mask)).weights):
        assert array.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 2.0


def test_that_equality_and_hash_go_by_value_and_ignore_the_name():
    mask = Mask([[1, 0], [0, 1]], name="a")
    assert mask == Mask([[1.0, -0.0], [0.0, 1.0]], (1, 1), 0.0, "b")
    assert hash(mask) == hash(Mask([[1.0, -0.0], [0.0, 1.0]]))
    line = Mask([[1, 0, 0, 1]])
    others = [mask.with_anchor((0, 0)), mask.with_offset(1.0), mask.with_weight(0, 1, 2.0), line]
    assert mask not in others
    assert mask != "mask"
    assert len({mask, Mask([[1, 0], [0, 1]]), *others}) == 5
    copy = pickle.loads(pickle.dumps(mask.with_offset(0.5)))
    assert (copy, copy.name) == (mask.with_offset(0.5), "a")


# Why: what is refused so.
NO_WEIGHTS = {
    "rows differ in length": ([[1, 2], [3]],),
    "2 dimensions": ([1, 2, 1], 3.0, np.ones((2, 2, 2))),
    "not every cell is a number": ([["1", "2"]], [[1j]], [[None]], {1, 2}),
    "no cells": (np.ones((0, 3)), [[]]),
    "row 2, column 1 is nan": ([[1, 2], [np.nan, 1]],),
    "row 1, column 2 is -inf": ([[1, -np.inf]],),
    "beyond float32": ([[1e39]],),
    "None is no mask: a mask is a table of numbers. Give rows": (None,),
    "it is the name of a file. Give": (pathlib.PurePosixPath("edge.json"),),
    "b'1 0 -1' is no mask: it is bytes, not numbers": (b"1 0 -1",),
    "it is bytes, not numbers": (bytearray(b"1"),),
    "it is text, not numbers. Read it with engine.parse_mask": ("1 0 -1",),
    "would be lost. Fill them first": (np.ma.masked_array([[1.0, 2.0]], [[0, 1]]),),
}


@pytest.mark.parametrize(
    ("weights", "why"), [(weights, why) for why, given in NO_WEIGHTS.items() for weights in given], ids=repr
)
def test_that_weights_that_are_no_mask_are_refused_in_words(weights, why):
    with pytest.raises(MaskError, match=re.escape(why)) as refusal:
        Mask(weights)
    assert refusal.value.remedy
    if not isinstance(weights, str):
        with pytest.raises(MaskError, match=re.escape(why)):
            engine.correlate(np.ones((2, 2)), weights, device="cpu")


ANCHORS = (3, 0), (0, 2), (-1, 0), (0.5, 1), (1,), "ab", 1
OFFSETS = np.nan, np.inf, 1e39, "x", None
OUTSIDE = r"not among them\. Take a row from 0 to 0 and a column from 0 to 1\."
SUM_0 = [[1, 0, -1]], [[0.1, 0.2, -0.3]], [[0.0]]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        *((partial(Mask, np.ones((3, 2)), anchor), "[Aa]nchor") for anchor in ANCHORS),
        *((partial(Mask, [[1.0]], offset=offset), "offset") for offset in OFFSETS),
        *((Mask(weights).normalised, "add up to 0") for weights in SUM_0),
        *((partial(Mask([[1e30]]).divided_by, by), "finite") for by in (0.0, np.nan, np.inf)),
        (partial(Mask([[1e30]]).divided_by, 1e-300), "inf"),
        *((partial(Mask([[1, 2]]).with_weight, *cell, 1.0), OUTSIDE) for cell in ((1, 0), (0, -1))),
        (partial(Mask([[1, 2]]).with_weight, 0, 0, np.nan), "finite"),
        *((partial(Mask([[1.0]]).resized, *size), "no cells") for size in ((0, 3), (3, 0))),
        *((partial(Mask([[1.0]]).resized, *size), "1 to 63") for size in ((64, 3), (3, 64))),
    ],
)
def test_that_what_would_give_no_mask_is_refused_in_words(make, words):
    with pytest.raises(MaskError, match=words) as refusal:
        make()
    assert refusal.value.remedy


def test_that_the_largest_masks_and_weights_are_allowed_and_the_longest_lines_can_be_turned():
    mask = Mask(np.full((MAX_SIDE, MAX_SIDE), FLOAT32_MAX))
    assert mask.taps == 3969
    assert np.isfinite(mask.weights32).all()
    for shape in ((1, MAX_LINE), (MAX_LINE, 1)):
        line = Mask(np.arange(127.0).reshape(shape), anchor=(shape[0] - 1, shape[1] - 1))
        assert line.transposed().shape == line.rotated(1).shape == line.rotated(-1).shape == shape[::-1]
        assert line.flipped().anchor == (0, 0)
        assert line.resized(1, 1).weights.tolist() == [[126.0]]


@pytest.mark.parametrize(
    ("shape", "nearest"),
    [
        ((1, 128), (1, 127)),
        ((500, 1), (127, 1)),
        ((2, 64), (2, 63)),
        ((64, 3), (63, 3)),
        ((127, 2), (63, 2)),
        ((127, 127), (63, 63)),
    ],
)
def test_that_a_mask_that_is_too_large_is_refused_with_the_nearest_size(shape, nearest):
    why = "a side may have 1 to 63 cells, or 1 to 127 in a mask of one row or one column"
    with pytest.raises(MaskError, match=why) as refusal:
        Mask(np.ones(shape))
    assert refusal.value.remedy == f"Make it {nearest[0]} x {nearest[1]} or smaller."
    assert Mask(np.ones(nearest)).shape == nearest


def test_that_a_changed_mask_has_weights_anchor_offset_and_name_where_they_belong():
    mask = Mask([[1, 2, 3], [4, 5, 6]], (0, 0), 2.0, "n")
    flipped = mask.flipped()
    assert flipped.weights.tolist() == [[6, 5, 4], [3, 2, 1]]
    assert (flipped.anchor, flipped.offset, flipped.name) == ((1, 2), 2.0, "n")
    assert Mask([[1, 2, 3]]).rotated(1).weights.tolist() == [[3], [2], [1]]
    mask = Mask([[1, 2, 1]], (0, 0), 1.0, "preset").with_weight(0, 2, 5)
    assert (mask, mask.name) == (Mask([[1, 2, 5]], (0, 0), 1.0), "")
    grown = Mask([[1, 2, 3]]).resized(3, 5)
    assert (grown.weights.tolist(), grown.anchor) == ([[0] * 5, [0, 1, 2, 3, 0], [0] * 5], (1, 2))
    shrunk = Mask(np.arange(25.0).reshape(5, 5), (0, 4)).resized(2, 3)
    assert (shrunk.weights.tolist(), shrunk.anchor) == ([[2, 3, 4], [7, 8, 9]], (0, 2))


@settings(max_examples=60, deadline=None)
@given(masks(), st.integers(0, 3), st.integers(0, 5), st.integers(0, 5))
def test_that_turns_undo_themselves_growing_is_undone_by_shrinking_and_the_anchor_stays_on_its_weight(
    mask, turns, more_rows, more_columns
):
    assert mask.flipped().flipped() == mask.transposed().transposed() == mask.rotated(4) == mask
    assert mask.rotated(1).rotated(-1) == mask
    assert mask.rotated(2) == mask.flipped()
    grown = mask.resized(mask.rows + more_rows, mask.columns + more_columns)
    assert grown.resized(mask.rows, mask.columns) == mask
    for moved in (mask.flipped(), mask.transposed(), mask.rotated(turns), mask.resized(3, 4), grown):
        assert moved.weights[moved.anchor] == mask.weights[mask.anchor]


def test_that_sums_are_rounded_once_and_normalising_divides_by_one_however_small():
    assert Mask([[1e16, 1.0, -1e16, -0.5]]).total == 0.5
    assert Mask([[1, -2], [3, -4]]).magnitude == 10.0
    assert Mask([[1, 2, 1]], offset=3.0).normalised() == Mask([[0.25, 0.5, 0.25]], offset=3.0)
    assert Mask([[1.0, -1.0 + 1e-12]]).normalised().total == pytest.approx(1.0, abs=1e-3)

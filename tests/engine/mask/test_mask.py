"""Masks: their weights, anchors and changes, and those that formulas and presets make."""

import json
import math
import pathlib
import pickle
import re
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import scipy.ndimage
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import engine
from engine.errors import BadValue, MaskError, UnknownName
from engine.mask.analysis import analyse, describe
from engine.mask.generators import box, disk, gaussian, generate, motion
from engine.mask.generators import laplacian_of_gaussian as log
from engine.mask.mask import MAX_LINE, MAX_SIDE, Mask
from engine.mask.preset_texts import PRESETS_FILE, preset_texts
from engine.mask.presets import preset, preset_names, presets

FLOAT32_MAX = float(np.finfo(np.float32).max)


@st.composite
def masks(draw, max_side=8):
    rows, columns = draw(st.integers(1, max_side)), draw(st.integers(1, max_side))
    elements = st.floats(-FLOAT32_MAX, FLOAT32_MAX, allow_subnormal=True)
    weights = draw(hnp.arrays(np.float64, (rows, columns), elements=elements))
    anchor = draw(st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)) | st.none())
    return Mask(weights, anchor, draw(st.floats(-1e6, 1e6)))


def test_that_weights_are_copied_read_only():
    given_weights = np.arange(6.0).reshape(2, 3)
    mask = Mask(given_weights).transposed()
    given_weights[0, 0] = 7.0
    assert mask.weights32.dtype == np.float32
    assert mask.weights32.flags.c_contiguous
    for array in (mask.weights, mask.weights32, pickle.loads(pickle.dumps(mask)).weights):
        assert array.tolist() == [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0] = 2.0


def test_that_masks_of_the_same_values_are_equal():
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
    "None is not a mask: a mask is a table of numbers. Give rows": (None,),
    "it is the name of a file. Give": (pathlib.PurePosixPath("edge.json"),),
    "b'1 0 -1' is not a mask: it is bytes, not numbers": (b"1 0 -1",),
    "it is bytes, not numbers": (bytearray(b"1"),),
    "it is text, not numbers. Read it with engine.parse_mask": ("1 0 -1",),
    "would be lost. Fill them first": (np.ma.masked_array([[1.0, 2.0]], [[0, 1]]),),
}


def test_that_weights_that_are_no_mask_are_refused_in_words():
    for weights, why in [(weights, why) for why, bad in NO_WEIGHTS.items() for weights in bad]:
        with pytest.raises(MaskError, match=re.escape(why)) as refusal:
            Mask(weights)
        assert refusal.value.remedy
        if not isinstance(weights, str):
            with pytest.raises(MaskError, match=re.escape(why)):
                engine.correlate(np.ones((2, 2)), weights, device="cpu")


ANCHORS = (3, 0), (0, 2), (-1, 0), (0.5, 1), (1,), "ab", 1
OFFSETS = np.nan, np.inf, 1e39, "x", None
OUTSIDE = r"not among them\. Take a row from 0 to 0 and a column from 0 to 1\."
NO_SUM = [[1, 0, -1]], [[0.1, 0.2, -0.3]], [[0.0]]


def test_that_what_would_give_no_mask_is_refused_in_words():
    for make, words in [
        *((partial(Mask, np.ones((3, 2)), anchor), "[Aa]nchor") for anchor in ANCHORS),
        *((partial(Mask, [[1.0]], offset=offset), "offset") for offset in OFFSETS),
        *((Mask(weights).normalised, "add up to 0") for weights in NO_SUM),
        *((partial(Mask([[1e30]]).divided_by, by), "finite") for by in (0.0, np.nan, np.inf)),
        (partial(Mask([[1e30]]).divided_by, 1e-300), "inf"),
        *((partial(Mask([[1, 2]]).with_weight, *cell, 1.0), OUTSIDE) for cell in ((1, 0), (0, -1))),
        (partial(Mask([[1, 2]]).with_weight, 0, 0, np.nan), "finite"),
        *((partial(Mask([[1.0]]).resized, *size), "no cells") for size in ((0, 3), (3, 0))),
        *((partial(Mask([[1.0]]).resized, *size), "1 to 63") for size in ((64, 3), (3, 64))),
    ]:
        with pytest.raises(MaskError, match=words) as refusal:
            make()
        assert refusal.value.remedy


def test_that_the_largest_masks_and_lines_are_allowed_and_larger_ones_refused_with_the_nearest_size():
    mask = Mask(np.full((MAX_SIDE, MAX_SIDE), FLOAT32_MAX))
    assert (mask.taps, np.isfinite(mask.weights32).all()) == (3969, True)
    for shape in ((1, MAX_LINE), (MAX_LINE, 1)):
        line = Mask(np.arange(127.0).reshape(shape), anchor=(shape[0] - 1, shape[1] - 1))
        assert line.transposed().shape == line.rotated(1).shape == line.rotated(-1).shape == shape[::-1]
        assert line.flipped().anchor == (0, 0)
        assert line.resized(1, 1).weights.tolist() == [[126.0]]
    for shape, nearest in {
        (1, 128): (1, 127), (500, 1): (127, 1), (2, 64): (2, 63), (64, 3): (63, 3), (127, 2): (63, 2),
        (127, 127): (63, 63),
    }.items():  # fmt: skip
        why = "a side may have 1 to 63 cells, or 1 to 127 in a mask of one row or one column"
        with pytest.raises(MaskError, match=why) as refusal:
            Mask(np.ones(shape))
        assert refusal.value.remedy == f"Make it {nearest[0]} × {nearest[1]} or smaller."
        assert Mask(np.ones(nearest)).shape == nearest


def test_that_a_changed_mask_keeps_its_other_parts():
    assert (Mask([[1, 2, 3]]).anchor, Mask([[1, 2], [3, 4]]).anchor) == ((0, 1), (1, 1))
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


@settings(max_examples=60)
@given(masks(), st.integers(0, 3), st.integers(0, 5), st.integers(0, 5))
def test_that_each_change_of_a_mask_has_one_that_undoes_it(mask, turns, more_rows, more_columns):
    assert mask.flipped().flipped() == mask.transposed().transposed() == mask.rotated(4) == mask
    assert mask.rotated(1).rotated(-1) == mask
    assert mask.rotated(2) == mask.flipped()
    grown = mask.resized(mask.rows + more_rows, mask.columns + more_columns)
    assert grown.resized(mask.rows, mask.columns) == mask
    for moved in (mask.flipped(), mask.transposed(), mask.rotated(turns), mask.resized(3, 4), grown):
        assert moved.weights[moved.anchor] == mask.weights[mask.anchor]


def test_that_sums_of_weights_are_rounded_once_and_normalising_divides_by_them_however_small():
    assert Mask([[1e16, 1.0, -1e16, -0.5]]).total == 0.5
    assert Mask([[1, -2], [3, -4]]).magnitude == 10.0
    assert Mask([[1, 2, 1]], offset=3.0).normalised() == Mask([[0.25, 0.5, 0.25]], offset=3.0)
    assert Mask([[1.0, -1.0 + 1e-12]]).normalised().total == pytest.approx(1.0, abs=1e-3)


SMOOTHING = "box:7x3 box:4 gaussian:5 gaussian:9x5:1.5 gaussian:4:0.1 motion:9:30 motion:8 disk:7"
MOST = {"box:64": 63, "disk:64": 63, "box:1x128": 127, "gaussian:999x1": 127}


def test_that_smoothing_masks_are_symmetric_shares_of_1():
    for spelling in SMOOTHING.split():
        mask = generate(spelling)
        assert abs(mask.total - 1.0) <= mask.taps * 2.0**-53
        assert analyse(mask).is_point_symmetric


def test_that_weights_are_what_the_formulas_of_gaussians_motions_laplacians_and_disks_say():
    weights = gaussian(7, sigma=1.5).weights
    for distance in (1, 2):
        fall = math.exp(-(distance**2) / (2 * 1.5**2))
        assert weights[3, 3 + distance] / weights[3, 3] == pytest.approx(fall, rel=1e-14)
    assert analyse(gaussian(31, sigma=5.0)).separable
    for angle, shape in ((0, (1, 9)), (90, (9, 1)), (180, (1, 9))):
        np.testing.assert_allclose(motion(9, angle).weights, np.full(shape, 1 / 9), rtol=1e-14)
    weights = motion(9, 45).weights
    assert weights[0, -1] > weights[0, 0] == 0.0
    np.testing.assert_allclose(motion(9, 135).weights, weights[:, ::-1], atol=1e-15)
    mask = log(9, 1.4)
    assert abs(mask.total) <= mask.taps * 2.0**-53 * mask.magnitude
    assert mask.weights[4, 4] == mask.weights.min() < 0.0
    rows = ("01110", "11111", "11111", "11111", "01110")
    assert (disk(5).weights > 0).tolist() == [[cell == "1" for cell in row] for row in rows]


SPELLINGS = {
    "gaussian:9:1.5": gaussian(9, sigma=1.5), "Gaussian:9x5:1.5": gaussian(9, 5, 1.5),
    "gaussian:9": gaussian(9), "box:7x3": box(7, 3), "motion:9:45": motion(9, 45),
    "motion:9": motion(9, 0.0), "log:9:1.4": log(9, 1.4), "disk:7": disk(7),
} | dict.fromkeys(["sobel-x", "gaussian", "gauss:3", "1 0 -1", "", "C:\\mask.json"])  # fmt: skip


def test_that_only_a_short_spelling_makes_a_mask_of_every_side_and_lines_of_127_cells():
    for spelling, mask in SPELLINGS.items():
        assert generate(spelling) == mask
    for side in range(1, 64):
        assert box(side).shape == gaussian(side, sigma=0.1).shape == disk(side).shape == (side, side)
        assert max(motion(side, 20).shape) <= 63
    assert box(1, 127).shape == gaussian(127, 1).transposed().shape == (1, 127)
    # Too many cells are answered with the most there can be.
    for spelling, most in MOST.items():
        with pytest.raises(BadValue) as refusal:
            generate(spelling)
        assert refusal.value.remedy == f"Take a whole number from 1 to {most}."


RING = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]
DIRECTIONS = ["n", "ne", "e", "se", "s", "sw", "w", "nw"]
SUM_0 = {"Edges", "Second derivative", "Lines", "Compass"}
SUM_1 = {"Smooth", "Sharpen"}


def test_that_presets_have_keys_titles_and_texts_of_their_own():
    keys, titles = preset_names(), [entry.title for entry in presets()]
    assert len(set(keys)) == len(set(titles)) == len(keys)
    assert all(key == key.lower() and " " not in key and "_" not in key for key in keys)
    groups = [entry.group for entry in presets()]
    assert sum(first != second for first, second in pairwise(groups)) == len(set(groups)) - 1
    families = (
        "identity box gaussian sharpen unsharp sobel prewitt scharr laplacian log emboss edge motion roberts "
        "kirsch high-boost outline ridge"
    )
    for family in families.split():
        assert any(key.startswith(family) for key in preset_names()), family
    document = json.loads(PRESETS_FILE.read_text(encoding="utf-8"))
    known = {"key", "title", "group", "teaches", "weights", "divisor", "anchor", "generate", "size"}
    assert all(set(entry) <= known for entry in document["presets"])
    assert list(preset_texts()) == [
        (p.key, f"{p.mask.rows} × {p.mask.columns}", p.group, p.title, p.teaches) for p in presets()
    ]


def test_that_each_preset_has_the_sum_of_its_group():
    for entry in presets():
        assert entry.mask.name == entry.title
        assert 20 < len(entry.teaches) < 160
        assert len(describe(entry.mask)) == 4
        rounding = entry.mask.taps * 2.0**-53 * entry.mask.magnitude
        if entry.group in SUM_0:
            assert entry.mask.total == 0.0
        if entry.group in SUM_1:
            assert abs(entry.mask.total - 1.0) <= rounding


def test_that_known_masks_have_their_textbook_weights():
    for key, weights in [
        ("identity", [[0, 0, 0], [0, 1, 0], [0, 0, 0]]),
        ("gaussian-3", [[1 / 16, 2 / 16, 1 / 16], [2 / 16, 4 / 16, 2 / 16], [1 / 16, 2 / 16, 1 / 16]]),
        ("sobel-x", [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]),
        ("sobel-y", [[-1, -2, -1], [0, 0, 0], [1, 2, 1]]),
        ("scharr-x", [[-3, 0, 3], [-10, 0, 10], [-3, 0, 3]]),
        ("prewitt-y", [[-1, -1, -1], [0, 0, 0], [1, 1, 1]]),
        ("laplacian-4", [[0, 1, 0], [1, -4, 1], [0, 1, 0]]),
        ("kirsch-n", [[5, 5, 5], [-3, 0, -3], [-3, -3, -3]]),
        ("kirsch-ne", [[-3, 5, 5], [-3, 0, 5], [-3, -3, -3]]),
        ("robinson-e", [[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]),
        ("roberts-x", [[1, 0], [0, -1]]),
        # Under correlation it looks to the right.
        ("shift", [[0, 0, 1]]),
    ]:
        assert preset(key).weights.tolist() == weights


def test_that_each_compass_mask_is_the_one_before_turned_by_45_degrees_and_y_is_x_transposed():
    for family in ("kirsch", "robinson"):
        turned = [preset(f"{family}-{direction}").weights for direction in DIRECTIONS]
        for before, after in zip(turned, turned[1:] + turned[:1], strict=True):
            assert [after[cell] for cell in RING] == [before[cell] for cell in RING[-1:] + RING[:-1]]
        assert preset(f"{family}-n").rotated(-1) == preset(f"{family}-e")
    for family in ["sobel", "prewitt", "scharr", "gradient"]:
        assert preset(f"{family}-y") == preset(f"{family}-x").transposed()


def test_that_names_of_presets_forgive_small_mistakes_and_others_are_answered_with_the_closest():
    assert preset("roberts-x").anchor == preset("roberts-y").anchor == (0, 0)
    assert [preset(key).typed.divisor for key in ("gaussian-5", "sobel-x")] == ["256", ""]
    assert preset("Sobel X") == preset("sobel_x") == preset("sobel-x")
    with pytest.raises(UnknownName, match="the closest is gaussian-3") as refusal:
        preset("gausian-3")
    assert "masks" in refusal.value.remedy
    with pytest.raises(UnknownName, match="a preset is named by text"):
        preset(3)


def test_that_numpy_and_scipy_take_a_mask_for_its_weights():
    mask = preset("sobel-x")
    assert np.array_equal(np.asarray(mask), mask.weights)
    assert np.asarray(mask, np.float32).dtype == np.float32
    assert np.array_equal(np.multiply(mask, 2), 2 * mask.weights)
    array = np.array(mask)
    array[...] = 7
    assert mask == preset("sobel-x")
    picture = np.arange(20.0).reshape(4, 5) ** 2
    found = engine.correlate(picture, mask, border="zero", device="cpu")
    assert np.array_equal(scipy.ndimage.correlate(picture, mask, mode="constant"), found)

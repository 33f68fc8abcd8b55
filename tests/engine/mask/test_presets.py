import json
from itertools import pairwise

import pytest

from engine.errors import UnknownName
from engine.mask.analysis import describe
from engine.mask.presets import PRESETS_FILE, find_preset, preset, preset_names, presets

RING = [(0, 0), (0, 1), (0, 2), (1, 2), (2, 2), (2, 1), (2, 0), (1, 0)]
DIRECTIONS = ["n", "ne", "e", "se", "s", "sw", "w", "nw"]
SUM_0 = {"Edges", "Second derivative", "Lines", "Compass"}
SUM_1 = {"Smooth", "Sharpen"}


def test_that_keys_and_titles_are_unique_keys_are_kebab_case_and_groups_stand_together():
    keys, titles = preset_names(), [entry.title for entry in presets()]
    assert len(set(keys)) == len(set(titles)) == len(keys)
    assert all(key == key.lower() and " " not in key and "_" not in key for key in keys)
    groups = [entry.group for entry in presets()]
    assert sum(first != second for first, second in pairwise(groups)) == len(set(groups)) - 1


def test_that_the_masks_every_course_names_are_there():
    families = (
        "identity box gaussian sharpen unsharp sobel prewitt scharr laplacian log emboss edge motion roberts "
        "kirsch high-boost outline ridge"
    )
    for family in families.split():
        assert any(key.startswith(family) for key in preset_names()), family


@pytest.mark.parametrize("entry", presets(), ids=lambda entry: entry.key)
def test_that_each_preset_has_its_name_one_sentence_and_the_sum_of_its_group(entry):
    assert entry.mask.name == entry.title
    assert entry.teaches[0].isupper()
    assert entry.teaches.endswith(".")
    assert 20 < len(entry.teaches) < 160
    assert len(describe(entry.mask)) == 4
    rounding = entry.mask.taps * 2.0**-53 * entry.mask.magnitude
    if entry.group in SUM_0:
        assert entry.mask.total == 0.0
    if entry.group in SUM_1:
        assert abs(entry.mask.total - 1.0) <= rounding


@pytest.mark.parametrize(
    ("key", "weights"),
    [
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
    ],
)
def test_that_known_masks_have_their_textbook_weights(key, weights):
    assert preset(key).weights.tolist() == weights


@pytest.mark.parametrize("family", ["kirsch", "robinson"])
def test_that_each_compass_mask_is_the_one_before_turned_by_45_degrees(family):
    turned = [preset(f"{family}-{direction}").weights for direction in DIRECTIONS]
    for before, after in zip(turned, turned[1:] + turned[:1], strict=True):
        assert [after[cell] for cell in RING] == [before[cell] for cell in RING[-1:] + RING[:-1]]
    assert preset(f"{family}-n").rotated(-1) == preset(f"{family}-e")


@pytest.mark.parametrize("family", ["sobel", "prewitt", "scharr", "gradient"])
def test_that_y_is_x_transposed(family):
    assert preset(f"{family}-y") == preset(f"{family}-x").transposed()


def test_that_anchor_and_divisor_are_read_and_names_forgive_capitals_blanks_and_underscores():
    assert preset("roberts-x").anchor == preset("roberts-y").anchor == (0, 0)
    assert [find_preset(key).divisor for key in ("gaussian-5", "sobel-x")] == [256.0, 1.0]
    assert preset("Sobel X") == preset("sobel_x") == preset("sobel-x")


def test_that_an_unknown_name_is_answered_with_the_closest():
    with pytest.raises(UnknownName, match="the closest is gaussian-3") as refusal:
        preset("gausian-3")
    assert "masks" in refusal.value.remedy
    with pytest.raises(UnknownName, match="a preset is named by text"):
        preset(3)


def test_that_the_file_names_no_key_that_is_not_read():
    document = json.loads(PRESETS_FILE.read_text(encoding="utf-8"))
    known = {"key", "title", "group", "teaches", "weights", "divisor", "anchor", "generate"}
    assert all(set(entry) <= known for entry in document["presets"])

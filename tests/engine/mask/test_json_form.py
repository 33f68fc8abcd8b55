import json

import pytest

from engine.errors import MaskError
from engine.mask.json_form import mask_from_json, mask_to_json, number_text
from engine.mask.mask import Mask


def document(**changes):
    values = {"format": "haloscope-mask", "version": 1, "weights": [[1, 2], [3, 4]]} | changes
    return json.dumps({key: value for key, value in values.items() if value is not ...})


def test_that_only_format_version_and_weights_are_needed():
    assert mask_from_json(document()) == Mask([[1, 2], [3, 4]])


def test_that_divisor_anchor_offset_and_name_are_read():
    mask = mask_from_json(document(divisor=16, anchor=[0, 1], offset=-2.5, name="half"))
    assert mask == Mask([[1 / 16, 2 / 16], [3 / 16, 4 / 16]], (0, 1), -2.5)
    assert mask.name == "half"


def test_that_the_written_json_is_read_by_any_json_reader():
    written = json.loads(mask_to_json(Mask([[1, 0.1]], name='say "é"')))
    assert written == {
        "format": "haloscope-mask",
        "version": 1,
        "name": 'say "é"',
        "weights": [[1, 0.1]],
        "anchor": [0, 1],
        "offset": 0,
    }


def test_that_whole_numbers_are_written_without_a_point_while_they_are_exact():
    assert [number_text(value) for value in (3.0, -0.5, 1e300, 2.0**53)] == [
        "3",
        "-0.5",
        "1e+300",
        repr(2.0**53),
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        pytest.param("{", "no JSON", id="cut-off"),
        pytest.param('{"a": 1} x', "no JSON", id="text-after-it"),
        pytest.param("[1]", "not an object", id="a-list"),
        pytest.param('{"format": 1, "format": 2}', "the key 'format' twice", id="duplicate-key"),
        pytest.param('{"a": ' * 50_000, "nested too deep", id="deep-objects"),
        pytest.param("[" * 50_000, "nested too deep", id="deep-lists"),
        pytest.param(document().replace("4", "1e999"), "'1e999', which is too large", id="beyond-float64"),
        pytest.param(document().replace("4", "1e39"), "beyond float32", id="beyond-float32"),
        pytest.param(
            document().replace("4", "1" + "0" * 400), "row 2, column 2 is too large", id="long-whole"
        ),
        pytest.param(document().replace("4", "1" * 5000), "too long", id="very-long-whole"),
        pytest.param(document().replace("4", "NaN"), "NaN, which is not a finite", id="nan"),
        pytest.param(document().replace("4", "-Infinity"), "-Infinity, which is not a finite", id="infinity"),
        pytest.param(document(format="other"), '"format"', id="another-format"),
        pytest.param(document(version=2), "version", id="a-newer-version"),
        pytest.param(document(version=True), "version", id="version-true"),
        pytest.param(document(ancor=[0, 0]), "'ancor' is no key", id="misspelt-key"),
        pytest.param(document(name=3), '"name"', id="name-is-a-number"),
        pytest.param(document(name="n" * 100_000), '"name" has 100,000 characters', id="name-too-long"),
        pytest.param(document(weights=...), '"weights"', id="no-weights"),
        pytest.param(document(weights=[]), '"weights"', id="no-rows"),
        pytest.param(document(weights=[[]]), '"weights"', id="empty-row"),
        pytest.param(document(weights=[1, 2]), '"weights"', id="a-flat-list"),
        pytest.param(document(weights=[[1, 2], [3]]), "row 2 has 1 cell", id="ragged"),
        pytest.param(document(weights=[[1, "2"]]), "row 1, column 2 is '2'", id="a-string"),
        pytest.param(document(weights=[[True]]), "row 1, column 1 is 'True'", id="a-truth-value"),
        pytest.param(document(weights=[[1] * 64] * 2), "1 to 63", id="too-wide"),
        pytest.param(document(anchor=[0.5, 0]), '"anchor"', id="anchor-between-cells"),
        pytest.param(document(anchor=[2, 0]), "not among them", id="anchor-outside"),
        pytest.param(document(offset="x"), "offset", id="offset-is-a-word"),
        pytest.param(document(divisor=0), "no finite weights", id="divisor-0"),
    ],
)
def test_that_bad_json_is_refused_in_words(text, why):
    with pytest.raises(MaskError) as refusal:
        mask_from_json(text)
    assert why in refusal.value.why
    assert refusal.value.remedy

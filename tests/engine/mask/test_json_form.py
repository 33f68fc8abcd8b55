import json

import pytest

from engine.errors import MaskError
from engine.mask.json_form import mask_from_json, mask_to_json, number_text
from engine.mask.mask import Mask


def document(**changes):
    values = {"format": "haloscope-mask", "version": 1, "weights": [[1, 2], [3, 4]]} | changes
    return json.dumps({key: value for key, value in values.items() if value is not ...})


def test_that_divisor_anchor_offset_and_name_are_read_and_not_needed():
    assert mask_from_json(document()) == Mask([[1, 2], [3, 4]])
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
    texts = {3.0: "3", -0.5: "-0.5", 1e300: "1e+300", 2.0**53: repr(2.0**53)}
    assert {value: number_text(value) for value in texts} == texts


def cell(text):
    """Return a document with another text for its last weight."""
    return document().replace("4", text)


# Why: the texts that are refused so.
BAD = {
    "no JSON": ("{", '{"a": 1} x'),
    "not an object": ("[1]",),
    "the key 'format' twice": ('{"format": 1, "format": 2}',),
    "nested too deep": ('{"a": ' * 50_000, "[" * 50_000),
    "'1e999', which is too large": (cell("1e999"),),
    "beyond float32": (cell("1e39"),),
    "row 2, column 2 is too large": (cell("1" + "0" * 400),),
    "too long": (cell("1" * 5000),),
    "NaN, which is not a finite": (cell("NaN"),),
    "-Infinity, which is not a finite": (cell("-Infinity"),),
    '"format"': (document(format="other"),),
    "version": (document(version=2), document(version=True)),
    "'ancor' is no key": (document(ancor=[0, 0]),),
    '"name"': (document(name=3),),
    '"name" has 100,000 characters': (document(name="n" * 100_000),),
    '"weights"': tuple(document(weights=weights) for weights in (..., [], [[]], [1, 2])),
    "row 2 has 1 cell": (document(weights=[[1, 2], [3]]),),
    "row 1, column 2 is '2'": (document(weights=[[1, "2"]]),),
    "row 1, column 1 is 'True'": (document(weights=[[True]]),),
    "1 to 63": (document(weights=[[1] * 64] * 2),),
    '"anchor"': (document(anchor=[0.5, 0]),),
    "not among them": (document(anchor=[2, 0]),),
    "offset": (document(offset="x"),),
    "no finite weights": (document(divisor=0),),
}
CASES = [
    pytest.param(text, why, id=f"{why} {n}") for why, texts in BAD.items() for n, text in enumerate(texts)
]


@pytest.mark.parametrize(("text", "why"), CASES)
def test_that_bad_json_is_refused_in_words(text, why):
    with pytest.raises(MaskError) as refusal:
        mask_from_json(text)
    assert why in refusal.value.why
    assert refusal.value.remedy

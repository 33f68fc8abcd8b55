"""Masks as texts, JSON and files, and what a person may give as one."""

import contextlib
import itertools
import json
import os
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from engine.errors import FileWriteError, MaskError, UnknownName
from engine.mask.generator_table import number_text
from engine.mask.generators import gaussian
from engine.mask.json_form import mask_from_json, mask_to_json
from engine.mask.mask import Mask
from engine.mask.presets import preset, resolve_mask
from engine.mask.text import MAX_BYTES, MAX_CHARACTERS, format_mask, load_mask, parse_mask, save_mask

FLOAT32_MAX = float(np.finfo(np.float32).max)
SOBEL = [[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]

numbers = st.integers(-300, 300).map(float) | st.floats(-FLOAT32_MAX, FLOAT32_MAX, allow_subnormal=True)
tables = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=6), elements=numbers)
TOKENS = ["1", "-2.5", "1/9", "/ 16", *"[]{},;\n )*", "np.array(", '{"']
# Each would take minutes if some pattern walked back over it.
UNITS = " ", "\t", "/ ", "1", "* ", "[", "/*", "#\n", "[1]", "1 /", "a.", "1,", "1e", '{"a":', "=", ",\n"
PATHS = "./my-mask.json", "../none", "/no/such/file", "none.csv"


@settings(max_examples=20)
@given(tables, st.floats(-1e9, 1e9), st.text(max_size=20), st.floats(0, 0.999), st.floats(0, 0.999))
def test_that_json_keeps_anchor_offset_and_name(table, offset, name, down, right):
    anchor = int(down * table.shape[0]), int(right * table.shape[1])
    mask = Mask(table, anchor, offset, name)
    read = parse_mask(format_mask(mask, "json"))
    assert (read, read.name) == (mask, name)


def test_that_one_mask_is_read_from_every_form():
    for text in [
        "-1 0 1; -2 0 2; -1 0 1",
        "-1 0 1\n-2 0 2\n-1 0 1\n",
        "-1\t0\t1\r\n-2\t0\t2\r\n-1\t0\t1\r\n",
        "-1,0,1\n-2,0,2\n-1,0,1",
        "-1, 0, 1,\n-2, 0, 2,\n-1, 0, 1,",
        '"-1","0","1"\n"-2","0","2"\n"-1","0","1"',
        "\N{MINUS SIGN}1 0 +1; \N{MINUS SIGN}2 0 2; \N{MINUS SIGN}1 0 1;",
        "\N{ZERO WIDTH NO-BREAK SPACE}-1\N{NO-BREAK SPACE}0 1;-2 0 2;-1 0 1",
        "# Sobel\n-1 0 1 // first\n\n-2 0 2 /* second */\n-1 0 1",
        "-1/1 0/9 2/2; -4/2 0 2.; -1 .0 1e0",
        "[[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]",
        "[[-1, 0, 1],\n [-2, 0, 2],\n [-1, 0, 1],]",
        "[[-1.  0.  1.]\n [-2.  0.  2.]\n [-1.  0.  1.]]",
        "array([[-1.,  0.,  1.],\n       [-2.,  0.,  2.],\n       [-1.,  0.,  1.]], dtype=float32)",
        "K = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], dtype=np.float32)",
        "np.asarray([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]], 'float32')",
        "k = np.float32([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])",
        "k: np.ndarray = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]]).astype(np.float32)",
        "[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]",
        "[-1 0 1; -2 0 2; -1 0 1]",
        "[-1 0 1\n -2 0 2\n -1 0 1]",
        "{{-1,0,1},{-2,0,2},{-1,0,1}}",
        "float m[3][3] = { {-1.0f, 0.f, 1.F}, {-2.0f, .0f, 2e0f}, {-1.0f, 0.0f, 1.0f}, };",
        "static const int m[][3] = {{-1, 0, 1},\n {-2, 0, 2}, // middle\n {-1, 0, 1}};",
        "__constant__ float MASK[3][3] = {-1, 0, 1, -2, 0, 2,\n -1, 0, 1};",
        "float m[N][3] = {-1, 0, 1, -2, 0, 2, -1, 0, 1};",
        "-4 0 4; -8 0 8; -4 0 4 /4",
        "-4 0 4; -8 0 8; -4 0 4 / 4",
        "-4 0 4\n-8 0 8\n-4 0 4\n/ 4\n",
        "-4 0 4; -8 0 8; -4 0 4; /4",
        "-4 0 4; -8 0 8; -4 0 4 * 1/4",
        "1/4 * -4 0 4; -8 0 8; -4 0 4",
        "\n 1/2 * -4 0 4; -8 0 8; -4 0 4 / 2;\n",
        "1/4 * [[-4, 0, 4], [-8, 0, 8], [-4, 0, 4]]",
        "(1 / 4) * np.array([[-4, 0, 4], [-8, 0, 8], [-4, 0, 4]], dtype=np.float32)",
        "0.25 \N{MULTIPLICATION SIGN} [-4 0 4; -8 0 8; -4 0 4]",
        "[[-4, 0, 4], [-8, 0, 8], [-4, 0, 4]] / 4.0",
        "np.array([[-4, 0, 4], [-8, 0, 8], [-4, 0, 4]]) / 4",
        "[[-4, 0, 4], [-8, 0, 8], [-4, 0, 4]] * 0.25",
        "float m[3][3] = {{-4.0f / 4.0f, 0, 1}, {-2, 0, 2}, {-1, 0, 4 / 4}};",
        "1/2 * [[-4, 0, 4], [-8, 0, 8], [-4, 0, 4]] / 2",
    ]:
        assert parse_mask(text) == Mask(SOBEL)


def test_that_fractions_and_divisors_are_rounded_once():
    ninths = [1 / 9, 2 / 9, 7 / 9]
    read = {"1/9 2/9 7/9": ninths, "1 2 7 /9": ninths, "1/9 * [[1, 2, 7]]": ninths}
    read |= {"4 4/2": [4.0, 2.0], "4 4 /2": [2.0, 2.0], "-3": [-3.0]}
    for text, weights in read.items():
        assert parse_mask(text).weights.tolist() == [weights]


# Ways to write one table that all mean the same; hypothesis mixes them with any numbers.
FORMS_OF_NUMBERS = repr, "{:+.17g}".format, "{:.17e}".format, "{!r}f".format, "{!r}/1".format
WRAPPINGS = (
    (", ", "\n", "{}"), ("\t", "\n", "\n{}\n"), ("  ", " ;\n", "# note\n{}"), (",", ";", "{};"),
    (" ,\t", "\n\n", "{} // end"), (" ", "; ", "[{}]"), (", ", "], [", "[[{}]]"),
    (" ", "]\n [", "array([[{}]], dtype=float32)"), (" , ", " },\n{ ", "double k[][99] = {{{{ {} }}}};"),
    (",", "},{", "{{{{{}}},}}"),
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=100)
@given(table=tables, form=st.sampled_from(FORMS_OF_NUMBERS), wrapping=st.sampled_from(WRAPPINGS))
def test_that_valid_variants_of_each_form_are_read(table, form, wrapping):
    cell_separator, row_separator, around = wrapping
    around = around.replace("99", str(table.shape[1]))
    text = around.format(row_separator.join(cell_separator.join(map(form, row)) for row in table.tolist()))
    assert parse_mask(text) == Mask(table)


# Why: the texts that are refused so.
BAD = {
    "no numbers": ("", " \n ; ", "# nothing here", "[]", "[[], []]", "/ 9"),
    "row 2, column 2 says 'five', which is not a number": ("1 2 3; 4 five 6",),
    "row 2, column 2 says 'x'": ("[[1, 2], [3, x]]",),
    "'0x10'|'1_0'|'--2'|'1/'": ("1 0x10", "1 1_0", "1 --2", "1 2 1/ 16"),
    "row 1, column 1": ("\N{ARABIC-INDIC DIGIT ONE} 2",),
    "not a number": ("__import__('os')", "np.ones((3,3))"),
    "row 2 has 1 cell, row 1 has 2 cells": ("1 2; 3", "[[1, 2], [3]]"),
    "row 1, column 2 says 'nan', which is not a finite number": ("1 nan",),
    "row 1, column 1 says '-INF', which is not a finite number": ("-INF 1",),
    "not a finite number": ("[[np.nan, 1]]",),
    "row 1, column 1 says '1e999', which is too large": ("1e999 1",),
    "too large": ("1e300/1e-300", "1 2 / 1e999"),
    "beyond float32": ("1 1e39",),
    "row 1, column 2 is empty": ("1,,2", "1\t\t2"),
    "row 1, column 1 is empty": (",1",),
    "row 2, column 1 says '1/0', a division by zero": ("1 2; 1/0 3",),
    "division by zero": ("1/0 * [[1, 2]]",),
    "divisor after the mask is 0": ("1 2 / 0", "[[1, 2]] / 0.0"),
    "multiply to zero": ("1/1e-200 * [[1, 2]] / 1e-200",),
    "may be 1.500 or 1500": ("1,500 2,500", '"1,500","0.5"'),
    "semicolons": ("1;2;3\n4;5;6", "0,5;1,5\n2,5;3,5"),
    "row 1, column 2 says '/'": ("1 / 9 1 / 9",),
    "not closed": ("[[1, 2",),
    "not those of one table": ("[[1, 2], [3, 4]", "{[1, 2}, {3, 4]}", "[1]]", "[[[1]]]", "[[1]], [[3]]"),
    "nested|not understood|empty|closed|no numbers": ("float m[2][2] = ",),
    "not understood": ("[[1, 2], {3, 4}]",),
    "stands between": ("[[1, 2], 3]", "[1 2] x [3 4]"),
    r"'foo\(' before the brackets": ("foo([[1, 2]])",),
    "before the brackets": ("2 [[1, 2]]",),
    r"(, 5|, float32|\+ 1)' after": ("[[1, 2]], 5", "[[1, 2]], float32", "[[1, 2]] + 1"),
    "after the brackets": ("np.array([[1, 2]]",),
    "declared as 2 × 2 and holds 2 × 3": ("float m[2][2] = {{1, 2, 3}, {4, 5, 6}};",),
    r"declared as \? × \?": ("float m[N][N] = {1, 2, 3, 4};",),
    "declared with 3 sides": ("float m[2][2][1] = {1, 2, 3, 4};",),
    "does not end": ("1 2 /* 3",),
    "1 to 127": (" ".join(["1"] * 128), ";".join(["1"] * 128)),
    "1 to 63": (";".join(["1 1"] * 64),),
    "characters": ("1 " * MAX_CHARACTERS,),
}


@pytest.mark.slow
@settings(max_examples=200)
@given(
    st.text(max_size=80)
    | st.text(alphabet="0123456789.eE+-/*[]{}();, \t\n=nafd#x\"'", max_size=60)
    | st.lists(st.sampled_from(TOKENS), max_size=24).map("".join)
)
def test_that_junk_is_a_mask_or_refused(text):
    with contextlib.suppress(MaskError):
        assert np.isfinite(parse_mask(text).weights32).all()


@pytest.mark.slow
@pytest.mark.timeout(30)
def test_that_long_junk_is_refused_soon():
    for unit, end in itertools.product(UNITS, ("x", "]")):
        with pytest.raises(MaskError):
            parse_mask(unit * (MAX_CHARACTERS // 8 // len(unit)) + end)


def document(**changes):
    values = {"format": "haloscope-mask", "version": 1, "weights": [[1, 2], [3, 4]]} | changes
    return json.dumps({key: value for key, value in values.items() if value is not ...})


def test_that_json_is_exchanged_with_any_other_program():
    assert mask_from_json(document()) == Mask([[1, 2], [3, 4]])
    mask = mask_from_json(document(divisor=16, anchor=[0, 1], offset=-2.5, name="half"))
    assert mask == Mask([[1 / 16, 2 / 16], [3 / 16, 4 / 16]], (0, 1), -2.5)
    assert mask.name == "half"
    written = json.loads(mask_to_json(Mask([[1, 0.1]], name='say "é"')))
    assert written == {
        "format": "haloscope-mask", "version": 1, "name": 'say "é"', "weights": [[1, 0.1]], "anchor": [0, 1],
        "offset": 0,
    }  # fmt: skip
    texts = {3.0: "3", -0.5: "-0.5", 1e300: "1e+300", 2.0**53: repr(2.0**53)}
    assert {value: number_text(value) for value in texts} == texts


def cell(text):
    """Return a document with another text for its last weight."""
    return document().replace("4", text)


# Why: the texts that are refused so.
BAD_JSON = {
    "not JSON: it ends too early": ("{",),
    "not JSON: line 1 cannot be read from 'x' on": ('{"a": 1} x',),
    "not an object": ("[1]",),
    "the key 'format' twice": ('{"format": 1, "format": 2}',),
    "nested too deep": ('{"a": ' * 50_000, "[" * 50_000),
    "'1e999', which is too large": (cell("1e999"),),
    "beyond float32": (cell("1e39"),),
    "…', which is too large": (cell("1" + "0" * 400), document(anchor=[10**400, 0])),
    "too long": (cell("1" * 5000),),
    "NaN, which is not a finite": (cell("NaN"),),
    "-Infinity, which is not a finite": (cell("-Infinity"),),
    '"format"': (document(format="other"),),
    "version": (document(version=2), document(version=True)),
    "'ancor' is not a key": (document(ancor=[0, 0]),),
    '"name"': (document(name=3),),
    '"name" has 100,000 characters': (document(name="n" * 100_000),),
    '"weights"': tuple(document(weights=weights) for weights in (..., [], [[]], [1, 2])),
    "row 2 has 1 cell": (document(weights=[[1, 2], [3]]),),
    "row 1, column 2 is '2'": (document(weights=[[1, "2"]]),),
    "row 1, column 1 is 'True'": (document(weights=[[True]]),),
    "an anchor is two whole numbers": tuple(document(anchor=a) for a in ([0.5, 0], [1], "ab", {}, 3)),
    "not among them": (document(anchor=[2, 0]),),
    "offset": (document(offset="x"),),
    "the divisor is 0": (document(divisor=0),),
    "both": (document(generate="box:3"),),
    "'boks:3'": (document(generate="boks:3", weights=...),),
    "1 to 63": (document(weights=[[1] * 64] * 2), document(generate="box:64", weights=...)),
}


def test_that_bad_text_and_bad_json_are_refused_in_words():
    for read, table in ((parse_mask, BAD), (mask_from_json, BAD_JSON)):
        for text, why in [(text, why) for why, texts in table.items() for text in texts]:
            with pytest.raises(MaskError) as refusal:
                read(text)
            assert re.search(why, refusal.value.why)
            assert refusal.value.what
            assert refusal.value.remedy


def test_that_a_saved_mask_is_loaded_again(tmp_path):
    plain = Mask([[1, 1 / 3, -2e-7], [0, 5, 6]], name="m")
    whole, names = Mask(plain.weights, (0, 0), 0.5, "mine"), ("m.json", "m.csv", "m.txt", "M.JSON")
    for name in names:
        mask = whole if name.lower().endswith("json") else plain
        save_mask(mask, tmp_path / name)
        loaded = load_mask(str(tmp_path / name))
        assert (loaded, loaded.name) == (mask, mask.name)
    assert sorted(os.listdir(tmp_path)) == sorted(names)


def test_that_a_files_byte_order_mark_is_skipped(tmp_path):
    (tmp_path / "ramp.txt").write_bytes(b"\xef\xbb\xbf1 2 3\r\n/ 6\r\n")
    (tmp_path / "m.json").write_text(format_mask(Mask([[1, 2]]), "json"), encoding="utf-8-sig")
    masks = [load_mask(tmp_path / name) for name in ("ramp.txt", "m.json")]
    assert masks == [Mask([[1 / 6, 2 / 6, 3 / 6]]), Mask([[1, 2]])]
    assert [mask.name for mask in masks] == ["ramp", "m"]


def test_that_a_form_that_cannot_hold_the_mask_or_a_wrong_name_is_refused(tmp_path):
    for mask, name, error, words in [
        (Mask([[1, 2]], (0, 0)), "m.csv", MaskError, "anchor"),
        (Mask([[1, 2]], offset=1.0), "m.csv", MaskError, "offset"),
        (Mask([[1]]), "m.png", MaskError, r"\.json, \.txt, \.csv or \.kernel"),
        (Mask([[1]]), "none/m.json", FileWriteError, "folder"),
    ]:
        with pytest.raises(error, match=words):
            save_mask(mask, tmp_path / name)
        assert os.listdir(tmp_path) == []
    with pytest.raises(UnknownName, match="rows, line, csv"):
        format_mask(Mask(SOBEL), "latex")


def test_that_a_file_that_is_no_mask_is_refused_with_its_name(tmp_path):
    path = tmp_path / "bad.json"
    for data, why in [
        (b"", "empty"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "UTF-8"),
        (b"1 " * MAX_BYTES, "more than"),
        (b"1 2; 3", "row 2 has 1 cell"),
        (b'{"format": 1}', '"format"'),
        (b"1 " * 128, "1 to 127"),
    ]:
        path.write_bytes(data)
        for read in (load_mask, lambda file: resolve_mask(str(file))):
            with pytest.raises(MaskError) as refusal:
                read(path)
            assert "bad.json" in refusal.value.what
            assert why in refusal.value.why
            assert refusal.value.remedy


def test_that_a_preset_a_spelling_a_file_and_weights_are_tried_in_this_order(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mine.txt", "sobel-x"):
        (tmp_path / name).write_text("1 2 3")
    assert resolve_mask("sobel-x") == preset("sobel-x")
    assert resolve_mask("./sobel-x") == Mask([[1, 2, 3]])
    assert resolve_mask("gaussian:5:1") == gaussian(5, sigma=1.0)
    assert resolve_mask("mine.txt") == Mask([[1, 2, 3]])
    assert resolve_mask("1 0 -1; 2 0 -2") == Mask([[1, 0, -1], [2, 0, -2]])


def test_that_what_fits_nothing_is_refused_with_all_readings():
    for spec in ["qqqq", "a 1 0", "", "a\0b", "x" * 5000]:
        with pytest.raises(MaskError) as refusal:
            resolve_mask(spec)
        for reading in ("no preset", "no such file", "read as weights"):
            assert reading in refusal.value.why
        assert "masks" in refusal.value.remedy


def test_that_a_refusal_answers_what_was_probably_meant():
    for spec, words, not_words in [
        ("sobelx", r"^Unknown mask 'sobelx'\. Did you mean sobel-x\?", "read as"),
        ("gauss:9", "Did you mean gaussian:9", "read as"),
        # What begins like weights can only be meant as weights, and a path only as a file.
        ("1 0 a", "row 1, column 3 says 'a'", "preset"),
        *((path, "there is no such file", "not a number") for path in PATHS),
    ]:
        with pytest.raises(MaskError, match=words) as refusal:
            resolve_mask(spec)
        assert not_words not in str(refusal.value)

import contextlib
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from engine.errors import MaskError, UnknownName
from engine.mask.mask import Mask
from engine.mask.text import MAX_CHARACTERS, STYLES, format_mask, parse_mask

FLOAT32_MAX = float(np.finfo(np.float32).max)
SOBEL = [[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]

numbers = st.integers(-300, 300).map(float) | st.floats(-FLOAT32_MAX, FLOAT32_MAX, allow_subnormal=True)
tables = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=numbers)


@pytest.mark.slow
@pytest.mark.parametrize("style", STYLES)
@settings(max_examples=40, deadline=None)
@given(table=tables)
def test_that_every_style_reads_back_exactly(style, table):
    mask = Mask(table)
    assert parse_mask(format_mask(mask, style)) == mask


@settings(max_examples=30, deadline=None)
@given(tables, st.floats(-1e9, 1e9), st.text(max_size=20), st.floats(0, 0.999), st.floats(0, 0.999))
def test_that_json_keeps_anchor_offset_and_name(table, offset, name, down, right):
    anchor = int(down * table.shape[0]), int(right * table.shape[1])
    mask = Mask(table, anchor, offset, name)
    read = parse_mask(format_mask(mask, "json"))
    assert (read, read.name) == (mask, name)


def test_that_an_unknown_style_is_refused():
    with pytest.raises(UnknownName, match="rows, line, csv"):
        format_mask(Mask(SOBEL), "latex")


@pytest.mark.parametrize(
    "text",
    [
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
    ],
)
def test_that_one_mask_is_read_from_every_form(text):
    assert parse_mask(text) == Mask(SOBEL)


def test_that_fractions_and_divisors_are_rounded_once_and_a_slash_after_a_blank_divides_the_mask():
    ninths = [1 / 9, 2 / 9, 7 / 9]
    read = {"1/9 2/9 7/9": ninths, "1 2 7 /9": ninths, "1/9 * [[1, 2, 7]]": ninths}
    read |= {"4 4/2": [4.0, 2.0], "4 4 /2": [2.0, 2.0], "-3": [-3.0]}
    for text, weights in read.items():
        assert parse_mask(text).weights.tolist() == [weights]


# Ways to write one table that all mean the same; hypothesis mixes them with any numbers.
number_forms = st.sampled_from(
    [repr, "{:+.17g}".format, "{:.17e}".format, lambda value: f"{value!r}f", lambda value: f"{value!r}/1"]
)
wrappings = st.sampled_from(
    [
        (", ", "\n", "{}"),
        ("\t", "\n", "\n{}\n"),
        ("  ", " ;\n", "# note\n{}"),
        (",", ";", "{};"),
        (" ,\t", "\n\n", "{} // end"),
        (" ", "; ", "[{}]"),
        (", ", "], [", "[[{}]]"),
        (" ", "]\n [", "array([[{}]], dtype=float32)"),
        (" , ", " },\n{ ", "double k[][99] = {{{{ {} }}}};"),
        (",", "},{", "{{{{{}}},}}"),
    ]
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(table=tables, form=number_forms, wrapping=wrappings)
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
    "decimal comma": ("0,5 1,5\n2,5 3,5", "0,5\t1,5"),
    "semicolons": ("1;2;3\n4;5;6",),
    "row 1, column 2 says '/'": ("1 / 9 1 / 9",),
    "not closed": ("[[1, 2], [3, 4]",),
    "nested|not understood|empty|closed|no numbers": ("float m[2][2] = ",),
    "not understood": ("[[1, 2], {3, 4}]",),
    "closes none": ("{[1, 2}, {3, 4]}", "[1]]"),
    "more than two deep": ("[[[1]]]",),
    "more than one table": ("[[1, 2]], [[3, 4]]",),
    "stands between": ("[[1, 2], 3]", "[1 2] x [3 4]"),
    r"'foo\(' before the brackets": ("foo([[1, 2]])",),
    "before the brackets": ("2 [[1, 2]]",),
    r"', 5' after the brackets|', float32' after|'\+ 1' after": (
        "[[1, 2]], 5",
        "[[1, 2]], float32",
        "[[1, 2]] + 1",
    ),
    "after the brackets": ("np.array([[1, 2]]",),
    "declared as 2 x 2 and holds 2 x 3": ("float m[2][2] = {{1, 2, 3}, {4, 5, 6}};",),
    r"declared as \? x \?": ("float m[N][N] = {1, 2, 3, 4};",),
    "declared with 3 sides": ("float m[2][2][1] = {1, 2, 3, 4};",),
    "does not end": ("1 2 /* 3",),
    "1 to 127": (" ".join(["1"] * 128), ";".join(["1"] * 128)),
    "1 to 63": (";".join(["1 1"] * 64),),
    "characters": ("1 " * MAX_CHARACTERS,),
}


@pytest.mark.parametrize(
    ("text", "why"), [(text, why) for why, texts in BAD.items() for text in texts], ids=lambda text: text[:40]
)
def test_that_bad_text_is_refused_in_words(text, why):
    with pytest.raises(MaskError) as refusal:
        parse_mask(text)
    assert re.search(why, refusal.value.why)
    assert refusal.value.what
    assert refusal.value.remedy


TOKENS = ["1", "-2.5", "1/9", "/ 16", *"[]{},;\n )*", "np.array(", '{"']


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=80)
    | st.text(alphabet="0123456789.eE+-/*[]{}();, \t\n=nafd#x\"'", max_size=60)
    | st.lists(st.sampled_from(TOKENS), max_size=24).map("".join)
)
def test_that_junk_is_a_mask_or_refused_and_nothing_else(text):
    with contextlib.suppress(MaskError):
        assert np.isfinite(parse_mask(text).weights32).all()


# Each would take minutes if some pattern walked back over it.
UNITS = " ", "\t", "/ ", "1", "* ", "[", "/*", "#\n", "[1]", "1 /", "a.", "1,", "1e", '{"a":', "=", ",\n"


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("end", ["x", "]"])
@pytest.mark.timeout(10)
def test_that_long_junk_is_refused_soon(unit, end):
    length = MAX_CHARACTERS // 4
    with pytest.raises(MaskError):
        parse_mask(unit * (length // len(unit)) + end)

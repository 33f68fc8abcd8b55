"""Masks from a few numbers, against their formulas cell by cell, and their table."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from engine.errors import BadValue, EngineError, MaskError
from engine.mask.generator_table import GENERATORS
from engine.mask.generators import _MAKERS, generate, make
from engine.mask.json_form import mask_from_json
from engine.mask.mask import Mask
from engine.mask.presets import resolve_mask
from engine.mask.text import parse_mask

ROOT = Path(__file__).parents[3]


def cells(side):
    """Yield row, column, and the distances to the right and up from the middle."""
    middle = (side - 1) / 2
    for row in range(side):
        for column in range(side):
            yield row, column, column - middle, middle - row


def bell(x, y, sigma):
    return math.exp(-(x * x + y * y) / (2 * sigma * sigma))


def table(side, weight):
    made = np.zeros((side, side))
    for row, column, x, y in cells(side):
        made[row, column] = weight(x, y)
    return made


def expected_dog(side, sigma, ratio):
    narrow, wide = (table(side, lambda x, y, s=s: bell(x, y, s)) for s in (sigma, sigma * ratio))
    return narrow / narrow.sum() - wide / wide.sum()


def expected_gabor(side, wavelength, angle, sigma, phase, aspect):
    turn, shift = math.radians(angle), math.radians(phase)

    def of(x, y):
        u, v = x * math.cos(turn) + y * math.sin(turn), -x * math.sin(turn) + y * math.cos(turn)
        return bell(u, aspect * v, sigma), math.cos(2 * math.pi * u / wavelength + shift)

    bells, waves = table(side, lambda x, y: of(x, y)[0]), table(side, lambda x, y: of(x, y)[1])
    weights = bells * (waves - np.average(waves, weights=bells))
    return weights / np.abs(weights).sum()


def expected_unsharp(side, sigma, amount):
    blur = table(side, lambda x, y: bell(x, y, sigma))
    identity = table(side, lambda x, y: float(x == y == 0))
    return identity + amount * (identity - blur / blur.sum())


def expected_edge(side, angle, sigma):
    turn = math.radians(angle)

    def rise(x, y):
        return x * math.cos(turn) + y * math.sin(turn)

    weights = table(side, lambda x, y: rise(x, y) * bell(x, y, sigma))
    return weights / (weights * table(side, rise)).sum()


FORMULAS = [
    ("dog:11:1.4:1.6", expected_dog),
    ("dog:6:0.9:2", expected_dog),
    ("gabor:15:6:45:3:30:0.5", expected_gabor),
    ("gabor:8:4:0:2:90:1", expected_gabor),
    ("unsharp:7:1:1.5", expected_unsharp),
    ("edge:7:30:1", expected_edge),
    ("edge:4:90:0.8", expected_edge),
]


def test_that_a_generator_gives_its_formula():
    for spelling, formula in FORMULAS:
        side, *numbers = map(float, spelling.split(":")[1:])
        made, expected = generate(spelling).weights, formula(int(side), *numbers)
        # A few dozen float64 roundings of numbers near 1 in each cell; what is next to nothing may become 0.
        assert np.abs(made - expected).max() <= 64 * 2**-53 * side + 1e-9 * np.abs(expected).max()


def test_that_a_uniform_area_and_a_ramp_become_what_the_generator_says():
    for spelling, total in [("dog:9", 0.0), ("gabor:9", 0.0), ("edge:9:20", 0.0), ("unsharp:9", 1.0)]:
        mask = generate(spelling)
        assert abs(mask.total - total) <= mask.taps * 2**-53 * mask.magnitude
    mask = generate("edge:9:30:1.5")
    ramp = table(9, lambda x, y: 0.25 * (x * math.cos(math.pi / 6) + y * math.sin(math.pi / 6)))
    assert (mask.weights * ramp).sum() == pytest.approx(0.25, rel=1e-12)


def test_that_the_table_of_generators_and_the_documents_are_true():
    for generator in GENERATORS.values():
        assert generate(generator.example).shape
        defaults = {one.name: one.default_for(9) for one in generator.parameters}
        spelled = generate(generator.spelling(defaults))
        assert np.allclose(spelled.weights, generate(f"{generator.key}:9").weights, rtol=1e-4, atol=1e-5)
        for number in generator.numbers:
            for value in (number.least, number.most):
                made = defaults | {number.name: value}
                assert generate(generator.spelling(made)).magnitude > 0.0
        assert list(GENERATORS) == list(_MAKERS)
    for generator in GENERATORS.values():
        row = re.search(
            rf"^\| `{generator.form}` \|.*$", (ROOT / "docs/cli.md").read_text(encoding="utf-8"), re.M
        )
        assert row, generator.form
        assert generator.example in row[0]


def from_json(text):
    return mask_from_json(f'{{"format": "haloscope-mask", "version": 1, "generate": "{text}"}}')


PLACES = parse_mask, resolve_mask, from_json


def test_that_a_spelling_is_read_wherever_a_mask_is_typed_and_may_leave_out_a_side():
    for read in PLACES:
        assert read("gaussian:9:1.5") == generate("gaussian:9:1.5")
        assert read(" Gaussian : 9x5 : 1,5 ") == generate("gaussian:9x5:1.5")
    assert make(GENERATORS["box"], [3]) == Mask(np.full((3, 3), 1 / 9))


REFUSED = (
    "box: box:x box:3x box:0 box:64 box:1x128 box:2x64 box:3:1 box:-3 disk:3x3 disk:7:1 log:9x9 log:1 "
    "log:9:0 gaussian:128x1 gaussian:9:inf motion:9:nan motion:9:a"
)


def test_that_numbers_of_a_generator_that_cannot_be_used_are_named():
    for spelling, words in [
        ("gaussian:9:0", "0.1"),
        ("gaussian:9:nan", "0.1"),
        ("gaussian:9:wide", r"gaussian:rowsxcolumns:sigma, as in gaussian:9:1\.5"),
        ("gaussian:9:1:2", "not understood"),
        ("gaussian::1", "not understood"),
        ("log:9x5", "not understood"),
        ("log:8", "an odd number from 3 to 63"),
        ("unsharp:7:1:11", "amount 11"),
        ("dog:9:1:1", "1.01 to 10"),
        ("gabor:9:1", "2 to 100 pixels"),
        ("gabor:1", "larger side"),
        ("edge:1", "2 to 63"),
        ("motion:9:inf", "not finite|cannot be used"),
        ("box:1000", "1 to 63"),
        *((spelling, " ") for spelling in REFUSED.split()),
    ]:
        for read in PLACES:
            with pytest.raises((MaskError, BadValue), match=words) as refusal:
                read(spelling)
            assert isinstance(refusal.value, EngineError)
            assert refusal.value.remedy

import pytest

from gui.style.series import series_for
from gui.style.theme import DARK, LIGHT
from tests.gui.style.test_theme import contrast

FIRST_FIVE = ("cpu-serial", "cpu-parallel", "naive", "tiled", "cached")
LADDER = (
    *FIRST_FIVE,
    "constant",
    "tiled-input",
    "separable-l0",
    "separable-l1",
    "separable-l2",
    "implicit-gemm",
    "register-blocked",
    "digit-sums",
    "split-float16",
    "separable-fused",
    "low-rank-2",
    "low-rank-3",
)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
@pytest.mark.parametrize("key", LADDER)
def test_that_a_curve_stands_out_from_the_ground(theme, key):
    assert contrast(series_for(key, theme).colour, theme.base) >= 3.0


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_that_the_first_five_differ_in_colour_and_in_shape(theme):
    series = [series_for(key, theme) for key in FIRST_FIVE]
    assert len({s.colour for s in series}) == len({s.symbol for s in series}) == len(FIRST_FIVE)


def test_that_no_two_variants_of_the_ladder_are_drawn_alike():
    assert len({series_for(key, LIGHT) for key in LADDER}) == len(LADDER)


def test_that_the_shape_of_a_variant_does_not_depend_on_the_theme():
    assert series_for("tiled", LIGHT).symbol == series_for("tiled", DARK).symbol


def test_that_an_unknown_key_always_gets_the_same_series():
    assert series_for("somebody-elses", LIGHT) == series_for("somebody-elses", LIGHT)

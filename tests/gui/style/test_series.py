import pytest

from gui.style.series import Series, series_for
from gui.style.theme import DARK, LIGHT
from tests.gui.style.test_theme import contrast

FIRST_FIVE = ("cpu-serial", "cpu-parallel", "naive", "tiled", "cached")
LADDER = (
    *FIRST_FIVE,
    *("constant", "tiled-input", "separable-l0", "separable-l1", "separable-l2", "implicit-gemm"),
    *("register-blocked", "digit-sums", "split-float16", "separable-fused", "low-rank-2", "low-rank-3"),
)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)
def test_that_curves_stand_out_from_the_ground_and_from_one_another(theme):
    assert [key for key in LADDER if contrast(series_for(key, theme).colour, theme.base) < 3.0] == []
    first = [series_for(key, theme) for key in FIRST_FIVE]
    assert len({one.colour for one in first}) == len({one.symbol for one in first}) == len(FIRST_FIVE)
    assert len({series_for(key, theme) for key in LADDER}) == len(LADDER)


def test_that_a_shape_does_not_depend_on_the_theme_nor_an_unknown_key_on_the_process():
    assert series_for("tiled", LIGHT).symbol == series_for("tiled", DARK).symbol
    assert series_for("somebody-elses", LIGHT) == Series("#b85c92", "t", "▼")

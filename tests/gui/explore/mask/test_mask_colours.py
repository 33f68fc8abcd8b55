import pytest

from gui.explore.mask.mask_colours import cell_background, contrast, readable_text
from gui.style.theme import DARK, LIGHT

THEMES = pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.name)


@THEMES
def test_that_text_can_be_read_on_every_cell(theme):
    for step in range(-100, 101):
        background = cell_background(step / 100, 1.0, theme)
        assert contrast(readable_text(background, theme), background) >= 4.5


@THEMES
def test_that_zero_has_the_base_colour_and_signs_differ(theme):
    assert cell_background(0.0, 1.0, theme).name() == theme.base
    assert cell_background(0.0, 0.0, theme).name() == theme.base
    assert cell_background(1.0, 1.0, theme) != cell_background(-1.0, 1.0, theme)


@THEMES
def test_that_larger_weights_are_further_from_the_base_colour(theme):
    zero = cell_background(0.0, 1.0, theme)
    small, large = cell_background(0.1, 1.0, theme), cell_background(1.0, 1.0, theme)
    assert 1.0 < contrast(small, zero) < contrast(large, zero)

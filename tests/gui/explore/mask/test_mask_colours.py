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
def test_that_zero_has_the_base_colour_signs_differ_and_larger_weights_are_stronger(theme):
    zero, small, large = (cell_background(weight, 1.0, theme) for weight in (0.0, 0.1, 1.0))
    assert zero.name() == cell_background(0.0, 0.0, theme).name() == theme.base
    assert large != cell_background(-1.0, 1.0, theme)
    assert 1.0 < contrast(small, zero) < contrast(large, zero)

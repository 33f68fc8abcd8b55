import pytest
from PySide6.QtGui import QFontMetrics

from gui.style.metrics import GRID, digits_width, number_font


def test_that_the_grid_has_eight_pixels():
    assert GRID == 8


def test_that_every_figure_has_the_same_width(qapp):
    metrics = QFontMetrics(number_font())
    assert len({metrics.horizontalAdvance(figure * 100) for figure in "0123456789"}) == 1


@pytest.mark.parametrize("count", [1, 4, 12])
def test_that_so_many_figures_fit(qapp, count):
    assert digits_width(count) >= QFontMetrics(number_font()).horizontalAdvance("8" * count)

from PySide6.QtGui import QFontMetrics

from gui.style.metrics import GRID, digits_width, number_font


def test_that_the_grid_has_eight_pixels_and_every_figure_the_same_width(qapp):
    assert GRID == 8
    metrics = QFontMetrics(number_font())
    assert len({metrics.horizontalAdvance(figure * 100) for figure in "0123456789"}) == 1
    assert all(digits_width(count) >= metrics.horizontalAdvance("8" * count) for count in (1, 4, 12))

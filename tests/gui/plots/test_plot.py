import pyqtgraph as pg
import pytest
from PySide6.QtWidgets import QScrollBar, QWidget

from gui.plots.plot import Plot
from gui.style.theme import DARK


@pytest.fixture
def plot(qtbot):
    plot = Plot()
    qtbot.addWidget(plot)
    return plot


def test_that_a_plot_has_no_controls_that_nobody_sees(qtbot, qapp):
    before = set(qapp.allWidgets())
    qtbot.addWidget(Plot())
    made = {type(one) for one in set(qapp.allWidgets()) - before}
    # pyqtgraph's PlotWidget has check boxes, sliders and lists.
    assert made <= {Plot, QWidget, QScrollBar}


def test_that_what_is_drawn_can_be_cleared_and_drawn_anew(plot):
    for _ in range(2):
        plot.draw(pg.PlotCurveItem([0, 1], [2, 3]))
        assert [type(item) for item in plot.box.addedItems] == [pg.PlotCurveItem]
        plot.clear()
        assert plot.box.addedItems == plot.drawn == []


def test_that_a_plot_shows_the_range_that_it_is_given_whatever_is_drawn(plot):
    plot.show_range((1.0, 2.0), (3.0, 5.0))
    plot.draw(pg.PlotCurveItem([0, 100], [0, 100]))
    assert plot.box.viewRange() == [[1.0, 2.0], [3.0, 5.0]]


def test_that_a_plot_takes_the_colours_of_a_theme(plot):
    plot.colour(DARK)
    assert plot.backgroundBrush().color().name() == DARK.base
    assert {axis.textPen().color().name() for axis in plot.axes} == {DARK.muted}


def test_that_no_factor_stands_beside_an_axis_however_short_it_is(plot):
    plot.show_range((-1e-9, 1e-9), (0.0, 1e-9))
    for axis in plot.axes:
        axis.setLabel("blocks")
        assert "1e-" not in axis.labelString()

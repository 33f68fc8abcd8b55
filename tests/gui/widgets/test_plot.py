"""Plots that are only read, and figures of papers in them."""

import math
from dataclasses import replace

import pyqtgraph as pg
import pytest

from engine.course.paper import Figure, Series
from gui.style.theme import DARK, apply_theme, series_at, series_for
from gui.widgets.plot import FigurePlot, Plot


def test_that_a_plot_has_what_is_drawn_in_the_range_and_colours_that_it_is_given(qtbot):
    plot = Plot()
    qtbot.addWidget(plot)
    for _ in range(2):
        plot.draw(pg.PlotCurveItem([0, 1], [2, 3]))
        assert [type(item) for item in plot.box.addedItems] == [pg.PlotCurveItem]
        plot.clear()
        assert plot.box.addedItems == plot.drawn == []
    plot.show_range((1.0, 2.0), (3.0, 5.0))
    plot.draw(pg.PlotCurveItem([0, 100], [0, 100]))
    assert plot.box.viewRange() == [[1.0, 2.0], [3.0, 5.0]]
    plot.show_range((-1e-9, 1e-9), (0.0, 1e-9))
    for axis in plot.axes:
        axis.setLabel("blocks")
        assert "1e-" not in axis.labelString()
    assert not any(widget.acceptDrops() for widget in (plot, plot.viewport()))


SIZES = (256.0, 512.0, 1024.0, 2048.0, 3072.0, 4096.0, 5120.0, 10240.0)
FIGURE = Figure(
    "Time by size",
    "size, pixels",
    "time, ms",
    (
        Series("serial", SIZES, (*(size / 10 for size in SIZES[:-1]), None), "cpu-serial"),
        Series("L0", SIZES, SIZES),
    ),
    (Series("L0", SIZES, SIZES),),
)


@pytest.fixture
def figure(show_widget):
    return show_widget(FigurePlot(), 480, 280)


def drawn(figure):
    return [item for item in figure.plot.drawn if isinstance(item, pg.PlotCurveItem)]


def test_that_curves_stand_where_their_numbers_are_in_the_colours_of_their_names(figure):
    figure.show_figure(replace(FIGURE, log_y=True))
    printed, serial, here = drawn(figure)
    assert list(serial.xData) == [math.log10(size) for size in SIZES[:-1]]
    assert list(serial.yData) == [math.log10(size / 10) for size in SIZES[:-1]]
    assert list(printed.yData) == list(here.yData)
    figure.show_figure(FIGURE)
    (_, (low, high)) = figure.plot.box.viewRange()
    assert low == 0
    assert high > SIZES[-1]
    printed, serial, here = drawn(figure)
    assert list(serial.yData) == [size / 10 for size in SIZES[:-1]]
    assert serial.opts["pen"].color().name() == series_for("cpu-serial").colour
    assert here.opts["pen"].color() == printed.opts["pen"].color()
    assert here.opts["pen"].color().name() == series_at(1).colour
    assert printed.opts["pen"].style() != here.opts["pen"].style()
    assert "solid: here, dashed: paper" in figure.caption.text().replace("&nbsp;", " ")
    texts = figure.plot.left.tickStrings([0.5, 999.0, 1000.0, 1234.5, 1e5], 1.0, 1.0)
    assert texts == ["0.5", "999", "1,000", "1,234", "100,000"]


def test_that_a_figure_can_be_read_without_seeing_it(figure):
    figure.show_figure(FIGURE)
    nothing = tuple(replace(curve, y=(None,) * len(SIZES)) for curve in FIGURE.series)
    figure.show_figure(replace(FIGURE, series=nothing, printed=()))
    assert drawn(figure) == []
    assert figure.empty_text.isVisible()
    assert "measure" in figure.empty_text.text()
    figure.show_figure(FIGURE)
    assert not figure.empty_text.isVisible()
    assert figure.accessibleName() == "Time by size"
    assert "serial here: 256: 25.6" in figure.accessibleDescription()
    assert "L0 as printed: 256: 256" in figure.accessibleDescription()
    # On a logarithmic axis there is nothing to draw of this.
    figure.show_figure(replace(FIGURE, series=(Series("zero", (1.0,), (0.0,)),), printed=(), log_y=True))
    assert drawn(figure) == []


@pytest.mark.slow
def test_that_colours_follow_the_theme(figure, qapp):
    figure.show_figure(FIGURE)
    try:
        apply_theme(qapp, "dark")
        assert drawn(figure)[1].opts["pen"].color().name() == series_for("cpu-serial", DARK).colour
        assert figure.plot.backgroundBrush().color().name() == DARK.base
    finally:
        apply_theme(qapp, "light")

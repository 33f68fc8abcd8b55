import math
from dataclasses import replace

import pyqtgraph as pg
import pytest

from engine.course.paper import Figure, Series
from gui.plots.plot import FigurePlot
from gui.style.colours import series_at, series_for
from gui.style.theme import DARK, apply_theme

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
def plot(qtbot):
    plot = FigurePlot()
    qtbot.addWidget(plot)
    plot.resize(480, 280)
    plot.show()
    return plot


def drawn(plot):
    return [item for item in plot.plot.drawn if isinstance(item, pg.PlotCurveItem)]


def test_that_curves_stand_where_their_numbers_are_on_both_kinds_of_axis_in_the_colours_of_their_names(plot):
    plot.show_figure(replace(FIGURE, log_y=True))
    printed, serial, here = drawn(plot)
    assert list(serial.xData) == [math.log10(size) for size in SIZES[:-1]]
    assert list(serial.yData) == [math.log10(size / 10) for size in SIZES[:-1]]
    assert list(printed.yData) == list(here.yData)
    plot.show_figure(FIGURE)
    (_, (low, high)) = plot.plot.box.viewRange()
    assert low == 0
    assert high > SIZES[-1]
    printed, serial, here = drawn(plot)
    assert list(serial.yData) == [size / 10 for size in SIZES[:-1]]
    assert serial.opts["pen"].color().name() == series_for("cpu-serial").colour
    assert here.opts["pen"].color() == printed.opts["pen"].color()
    assert here.opts["pen"].color().name() == series_at(1).colour
    assert printed.opts["pen"].style() != here.opts["pen"].style()
    assert "solid: here, dashed: paper" in plot.caption.text().replace("&nbsp;", " ")
    texts = plot.plot.left.tickStrings([0.5, 999.0, 1000.0, 1234.5, 1e5], 1.0, 1.0)
    assert texts == ["0.5", "999", "1,000", "1,234", "100,000"]


def test_that_a_figure_can_be_read_without_seeing_it(plot):
    plot.show_figure(FIGURE)
    few = plot._bottom._tickLevels[0]
    plot.resize(1200, 280)
    assert plot.plot.box.width() > 600
    many = plot._bottom._tickLevels[0]
    assert 2 <= len(few) <= len(many)
    assert many[0][1] == "256"
    nothing = tuple(replace(curve, y=(None,) * len(SIZES)) for curve in FIGURE.series)
    plot.show_figure(replace(FIGURE, series=nothing, printed=()))
    assert drawn(plot) == []
    assert plot.empty_text.isVisible()
    assert "measure" in plot.empty_text.text()
    plot.show_figure(FIGURE)
    assert not plot.empty_text.isVisible()
    assert plot.accessibleName() == "Time by size"
    assert "serial here: 256: 25.6" in plot.accessibleDescription()
    assert "L0 as printed: 256: 256" in plot.accessibleDescription()
    # On a logarithmic axis there is nothing to draw of this.
    plot.show_figure(replace(FIGURE, series=(Series("zero", (1.0,), (0.0,)),), printed=(), log_y=True))
    assert drawn(plot) == []


@pytest.mark.slow
def test_that_colours_follow_the_theme(plot, qapp):
    plot.show_figure(FIGURE)
    try:
        apply_theme(qapp, "dark")
        assert drawn(plot)[1].opts["pen"].color().name() == series_for("cpu-serial", DARK).colour
        assert plot.plot.backgroundBrush().color().name() == DARK.base
    finally:
        apply_theme(qapp, "light")


def test_that_what_is_dropped_on_a_plot_goes_to_the_window(plot):
    assert not any(widget.acceptDrops() for widget in (plot.plot, plot.plot.viewport()))

import math
from dataclasses import replace

import pyqtgraph as pg
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QFontMetrics, QImage, QPainter, QWheelEvent
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from engine.geometry.block import Block
from engine.results.columns import KERNEL, SPEED_UP
from engine.results.compare import Compared
from engine.results.measurement import RunResult
from gui.explore.results.metric_plot import MetricPlot
from gui.explore.results.results_model import ResultsModel
from gui.plots.log_axis import log_ticks
from gui.style.metrics import number_font
from gui.style.series import series_for
from gui.style.theme import DARK, apply_theme
from tests.made_runs import PROBLEM, PROVED, make_failure, make_result, make_simulated, make_unverified

PLOTS = [KERNEL, SPEED_UP]


def make_plot(qtbot: QtBot, key: str) -> tuple[MetricPlot, ResultsModel]:
    results = ResultsModel()
    plot = MetricPlot(results, key, "Plot", "Press Run to fill it.")
    results.setParent(plot)
    qtbot.addWidget(plot)
    plot.resize(480, 240)
    return plot, results


def marks(plot: MetricPlot) -> dict[int, tuple[RunResult, float]]:
    """Return the runs that are drawn, by identity, with the value at which their mark lies."""
    QApplication.processEvents()
    drawn = {}
    for item in plot.plot.getPlotItem().items:
        if isinstance(item, pg.ScatterPlotItem):
            for point in item.points():
                if isinstance(point.data(), Compared):
                    x = point.pos().x()
                    drawn[id(point.data().result)] = (point.data().result, 10**x if plot.axis.is_log else x)
    return drawn


def row_names(plot: MetricPlot) -> list[str]:
    QApplication.processEvents()
    return [name for _, name in plot.plot.getAxis("left")._tickLevels[0]]


def written(plot: MetricPlot) -> list[str]:
    QApplication.processEvents()
    return [
        item.toPlainText().strip() for item in plot.plot.getPlotItem().items if isinstance(item, pg.TextItem)
    ]


@pytest.mark.parametrize("kind", PLOTS)
def test_that_exactly_the_verified_runs_of_the_newest_problem_are_drawn(qtbot: QtBot, kind: str) -> None:
    plot, results = make_plot(qtbot, kind)
    elsewhere = make_result("cached", 0.3, problem=replace(PROBLEM, width=100))
    good = [make_result("cpu-serial", 20.0), make_result("tiled", 0.5)]
    for result in (
        elsewhere,
        *good,
        make_failure("cached"),
        make_unverified("naive"),
        make_simulated("naive"),
    ):
        results.add(result)
    assert set(marks(plot)) == {id(result) for result in good}


def test_that_times_stand_at_their_median_and_older_runs_stay(qtbot: QtBot) -> None:
    plot, results = make_plot(qtbot, KERNEL)
    runs = [make_result("tiled", 0.5), make_result("tiled", 0.25)]
    for run in runs:
        results.add(run)
    for run, value_ms in marks(plot).values():
        assert math.isclose(value_ms, run.kernel_ms or 0.0, rel_tol=1e-12)
    assert len(marks(plot)) == 2
    assert written(plot) == ["0.2500 ms"]


def test_that_a_speed_up_stands_at_its_ratio_with_the_number_at_its_end(qtbot: QtBot) -> None:
    plot, results = make_plot(qtbot, SPEED_UP)
    results.add(make_result("cpu-serial", 20.0))
    results.add(make_result("naive", 2.0))
    assert written(plot) == ["1.00×", "10.0×"]
    assert sorted(round(value, 9) for _, value in marks(plot).values()) == [1.0, 10.0]
    results.set_baseline("naive")
    assert written(plot) == ["10.0× slower", "1.00×"]
    assert "naive" in plot.caption.text()


@pytest.mark.parametrize("kind", PLOTS)
def test_that_packed_rows_stand_in_a_row_of_their_own_beside_the_pitched_ones(
    qtbot: QtBot, kind: str
) -> None:
    plot, results = make_plot(qtbot, kind)
    results.add(make_result("cpu-serial", 20.0))
    results.add(make_result("naive", 2.0))
    results.add(make_result("tiled", 1.0))
    results.add(make_result("naive", 4.0, layout="packed"))
    rows = {run.variant + run.layout: value for run, value in marks(plot).values()}
    assert row_names(plot) == ["cpu-serial", "naive", "naive (packed)", "tiled"]
    naive, packed = rows["naivepitched"], rows["naivepacked"]
    assert math.isclose(max(naive, packed) / min(naive, packed), 2.0, rel_tol=1e-9)
    assert "naive (packed)" in plot.accessibleDescription()


@pytest.mark.parametrize("kind", PLOTS)
def test_that_each_block_of_a_variant_has_a_row_of_its_own(qtbot: QtBot, kind: str) -> None:
    plot, results = make_plot(qtbot, kind)
    results.add(make_result("cpu-serial", 20.0))
    results.add(make_result("tiled", 2.0, block=Block(8, 8)))
    assert row_names(plot) == ["cpu-serial", "tiled"]
    results.add(make_result("naive", 4.0))
    results.add(make_result("tiled", 1.0, block=Block(32, 8)))
    assert row_names(plot) == ["cpu-serial", "tiled 8 x 8", "tiled 32 x 8", "naive"]
    assert len(written(plot)) == 4


def test_that_runs_with_other_weights_are_another_problem(qtbot: QtBot) -> None:
    plot, results = make_plot(qtbot, KERNEL)
    results.add(make_result("tiled", 1.0, weights_digest="another Gaussian"))
    results.add(make_result("naive", 2.0))
    assert row_names(plot) == ["naive"]


def test_that_the_plotted_speed_up_is_that_of_the_table_and_names_its_baseline(qtbot: QtBot) -> None:
    plot, results = make_plot(qtbot, SPEED_UP)
    for variant, kernel_ms in (("cpu-serial", 10.0), ("cpu-serial", 20.0), ("tiled", 1.0)):
        results.add(make_result(variant, kernel_ms))
    results.use_as_baseline(results.results()[1])
    assert written(plot) == ["1.00×", "20.0×"]
    assert "against run 2 (cpu-serial)" in plot.accessibleDescription()


def test_that_any_metric_can_be_the_axis(qtbot: QtBot) -> None:
    plot, results = make_plot(qtbot, KERNEL)
    results.add(make_result("cpu-serial", 20.0))
    results.add(make_result("tiled", 2.0))
    actions = {action.text(): action for action in plot.axis_button.menu().actions()}
    assert actions["Kernel, ms"].isChecked()
    actions["Max error"].trigger()
    assert written(plot) == ["1.2e-07"] * 2
    assert plot.caption.text().startswith("Max error, log scale")
    actions["End to end, ms"].trigger()
    assert written(plot) == ["21.00 ms", "2.573 ms"]
    actions["Host to device, ms"].trigger()
    assert row_names(plot) == ["tiled"]


def test_that_an_axis_with_a_zero_is_not_logarithmic(qtbot: QtBot) -> None:
    plot, results = make_plot(qtbot, KERNEL)
    plot.choose("max_error")
    results.add(make_result("cpu-serial", verification=replace(PROVED, max_error=0.0)))
    results.add(make_result("tiled"))
    assert written(plot) == ["0", "1.2e-07"]
    assert sorted(value for _, value in marks(plot).values()) == [0.0, 1.2e-7]
    assert "log scale" not in plot.caption.text()


def test_that_without_a_run_of_the_baseline_the_plot_says_so(qtbot: QtBot) -> None:
    plot, results = make_plot(qtbot, SPEED_UP)
    results.add(make_result("naive", 2.0))
    assert marks(plot) == {}
    assert not plot.empty_text.isHidden()
    assert "cpu-serial" in plot.empty_text.text()


@pytest.mark.parametrize("kind", PLOTS)
def test_that_what_is_not_plotted_is_named_with_its_reason(qtbot: QtBot, kind: str) -> None:
    plot, results = make_plot(qtbot, kind)
    for result in (
        make_failure("cached", "out of resources"),
        make_unverified("tiled"),
        make_simulated("naive"),
    ):
        results.add(result)
    QApplication.processEvents()
    text = plot.omitted.text()
    assert "cached: failed (out of resources)" in text
    assert "tiled: not verified" in text
    assert "naive: simulated" in text
    assert text in plot.accessibleDescription()
    assert marks(plot) == {}


@pytest.mark.parametrize("kind", PLOTS)
def test_that_an_empty_plot_says_how_to_fill_it(qtbot: QtBot, kind: str) -> None:
    plot, results = make_plot(qtbot, kind)
    assert "Press Run" in plot.empty_text.text()
    results.add(make_result("cpu-serial", 20.0))
    assert marks(plot)
    assert plot.empty_text.isHidden()
    results.clear()
    assert marks(plot) == {}
    assert not plot.empty_text.isHidden()


def test_that_results_that_arrive_together_are_drawn_once(qtbot: QtBot) -> None:
    plot, results = make_plot(qtbot, KERNEL)
    with qtbot.waitSignal(plot._soon.timeout):
        for kernel_ms in (20.0, 19.0, 18.0):
            results.add(make_result("cpu-serial", kernel_ms))
            assert not plot._drawn
    assert len(marks(plot)) == 3
    assert written(plot) == ["18.00 ms"]


def test_that_a_time_of_zero_from_a_coarse_clock_does_not_break_the_plot(qtbot: QtBot) -> None:
    plot, results = make_plot(qtbot, KERNEL)
    results.add(make_result("cpu-serial", 0.0))
    assert len(marks(plot)) == 1


def test_that_the_numbers_can_be_heard(qtbot: QtBot) -> None:
    plot, results = make_plot(qtbot, KERNEL)
    results.add(make_result("cpu-serial", 20.0))
    QApplication.processEvents()
    assert plot.accessibleName()
    assert "cpu-serial: 20.00 ms" in plot.accessibleDescription()


def test_that_colours_follow_the_theme_and_are_those_of_the_variant(qtbot: QtBot, qapp: QApplication) -> None:
    plot, results = make_plot(qtbot, KERNEL)
    apply_theme(qapp, "light")
    results.add(make_result("tiled", 0.5))
    assert len(marks(plot)) == 1
    apply_theme(qapp, "dark")
    mark = next(
        i for i in plot.plot.getPlotItem().items if isinstance(i, pg.ScatterPlotItem) and i.opts["hoverable"]
    )
    assert mark.points()[0].brush().color().name() == series_for("tiled", DARK).colour
    assert plot.plot.backgroundBrush().color().name() == DARK.base
    apply_theme(qapp, "light")


def test_that_the_wheel_cannot_scroll_the_values_away(qtbot: QtBot) -> None:
    plot, _ = make_plot(qtbot, KERNEL)
    assert plot.plot.getViewBox().mouseEnabled() == [False, False]
    assert not plot.plot.getPlotItem().menuEnabled()


@pytest.mark.parametrize("kind", PLOTS)
@pytest.mark.parametrize("width", [300, 900])
def test_that_numbers_are_not_cut_at_any_width(qtbot: QtBot, kind: str, width: int) -> None:
    plot, results = make_plot(qtbot, kind)
    for result in (make_result("cpu-serial", 1888.0), make_result("naive", 100.0), make_result("tiled", 0.1)):
        results.add(result)
    plot.resize(width, 200)
    plot.show()
    QApplication.processEvents()
    view = plot.plot.getViewBox()
    texts = [item for item in plot.plot.getPlotItem().items if isinstance(item, pg.TextItem)]
    assert texts
    for text in texts:
        assert text.sceneBoundingRect().right() <= view.sceneBoundingRect().right() + 1.0


@pytest.mark.parametrize(("low", "high"), [(-2.0, 2.0), (-0.3, 0.3), (-5.0, 6.0), (0.1, 0.7)])
def test_that_ticks_are_few_round_and_inside(low: float, high: float) -> None:
    ticks = log_ticks(low, high, 5)
    assert 2 <= len(ticks) <= 5
    assert all(low <= tick <= high for tick in ticks)
    assert all(
        f"{10**tick:.6e}"[:8] in ("1.000000", "1.500000", "2.000000", "3.000000", "5.000000", "7.000000")
        for tick in ticks
    )


LADDER = [f"variant-{number}" for number in range(14)]


@pytest.mark.parametrize("kind", PLOTS)
def test_that_rows_of_many_variants_never_stand_closer_than_their_words(qtbot: QtBot, kind: str) -> None:
    plot, results = make_plot(qtbot, kind)
    plot.show()
    for number, variant in enumerate(["cpu-serial", *LADDER], start=1):
        results.add(make_result(variant, 20.0 / number))
    QApplication.processEvents()
    box = plot.plot.getViewBox()
    qtbot.waitUntil(plot.rows.isVisible)
    (_, (low, high)), height = box.viewRange(), QFontMetrics(number_font()).height()
    assert box.height() / (high - low) >= height - 0.5
    assert high == pytest.approx(0.6)
    plot.rows.setValue(plot.rows.maximum())
    assert box.viewRange()[1][0] == pytest.approx(-14.6)
    plot.resize(480, 900)
    qtbot.waitUntil(lambda: not plot.rows.isVisible())
    assert box.viewRange()[1] == pytest.approx([-14.6, 0.6])


def test_that_the_wheel_over_a_plot_scrolls_its_rows(qtbot: QtBot) -> None:
    plot, results = make_plot(qtbot, KERNEL)
    plot.show()
    for variant in LADDER:
        results.add(make_result(variant))
    qtbot.waitUntil(plot.rows.isVisible)
    down = QWheelEvent(
        QPointF(50, 50),
        plot.plot.viewport().mapToGlobal(QPointF(50, 50)),
        QPoint(),
        QPoint(0, -120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(plot.plot.viewport(), down)
    assert plot.rows.value() > 0
    results.clear()
    qtbot.waitUntil(lambda: not plot.rows.isVisible())


def test_that_the_first_tick_of_a_scale_is_written(qtbot: QtBot) -> None:
    plot, results = make_plot(qtbot, SPEED_UP)
    plot.resize(260, 200)
    results.add(make_result("cpu-serial", 200.0))
    results.add(make_result("tiled", 1.0))
    with qtbot.waitExposed(plot):
        plot.show()
    QApplication.processEvents()
    plot.grab()
    axis = plot.plot.getAxis("bottom")
    painter = QPainter(image := QImage(10, 10, QImage.Format.Format_ARGB32))
    painter.setFont(number_font())
    words = [text for _, _, text in axis.generateDrawSpecs(painter)[2]]
    painter.end()
    assert not image.isNull()
    assert words == ["1×", "100×"]


@pytest.mark.parametrize("kind", PLOTS)
@pytest.mark.parametrize("width", [260, 320, 600])
def test_that_the_caption_is_whole_and_no_size_is_parted(qtbot: QtBot, kind: str, width: int) -> None:
    plot, results = make_plot(qtbot, kind)
    plot.resize(width, 240)
    plot.show()
    results.add(make_result("cpu-serial", 2.0))
    caption = plot.caption
    qtbot.waitUntil(lambda: bool(caption.text()))
    lines = caption.lines_of(caption.text())
    # The layout follows in the next turn of the event loop.
    qtbot.waitUntil(lambda: caption.height() >= lines * caption.fontMetrics().lineSpacing())
    assert "512\u00a0x\u00a0512" in caption.text()
    assert "mask Gaussian, 5\u00a0x\u00a05" in caption.text()


@pytest.mark.parametrize("kind", PLOTS)
def test_that_a_plot_of_runs_that_were_only_verified_does_not_say_that_they_were_not(
    qtbot: QtBot, kind: str
) -> None:
    plot, results = make_plot(qtbot, kind)
    results.add(make_simulated("naive"))
    QApplication.processEvents()
    assert not plot.empty_text.isHidden()
    assert "verified" not in plot.empty_text.text()
    assert "time" in plot.empty_text.text()


@pytest.mark.parametrize("kind", PLOTS)
def test_that_the_reason_of_a_refused_run_is_told_without_its_name_again(qtbot: QtBot, kind: str) -> None:
    plot, results = make_plot(qtbot, kind)
    results.add(make_failure("cpu-fft", "variant 'cpu-fft': Row 50 is nan. Use cpu-parallel."))
    QApplication.processEvents()
    assert plot.omitted.text() == "Not plotted: cpu-fft: failed (Row 50 is nan. Use cpu-parallel.)"

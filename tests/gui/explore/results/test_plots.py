from dataclasses import replace

import pyqtgraph as pg
import pytest
from gui.explore.results.metric_plot import MetricPlot
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QFontMetrics, QImage, QPainter, QWheelEvent
from PySide6.QtWidgets import QApplication

from engine.geometry.block import Block
from engine.results.columns import KERNEL, SPEED_UP
from engine.results.compare import ComparedRun
from gui.plots.log_axis import log_ticks
from gui.style.metrics import number_font
from gui.style.series import series_for
from gui.style.theme import DARK, apply_theme
from tests.made_runs import PROBLEM, PROVED, make_failure, make_result, make_simulated, make_unverified

LADDER = [f"variant-{number}" for number in range(14)]


@pytest.fixture
def make_plot(qtbot, results):
    def make(key):
        plot = MetricPlot(results, key, "Plot", "Press Run to fill it.")
        qtbot.addWidget(plot)
        plot.resize(480, 240)
        return plot

    return make


@pytest.fixture(params=[KERNEL, SPEED_UP])
def plot(request, make_plot):
    return make_plot(request.param)


@pytest.fixture
def times(make_plot):
    return make_plot(KERNEL)


def add(results, *runs, **fields):
    for variant, kernel_ms in runs:
        results.add(make_result(variant, kernel_ms, **fields))


def items(plot, kind):
    QApplication.processEvents()
    return [item for item in plot.plot.getPlotItem().items if isinstance(item, kind)]


def marks(plot):
    """Return the results that are drawn, each with the value at which its mark lies."""
    points = (point for item in items(plot, pg.ScatterPlotItem) for point in item.points())
    drawn = [
        (point.data().result, point.pos().x()) for point in points if isinstance(point.data(), ComparedRun)
    ]
    return [(result, 10**x if plot.axis.is_log else x) for result, x in drawn]


def row_names(plot):
    QApplication.processEvents()
    return [name for _, name in plot.plot.getAxis("left")._tickLevels[0]]


def written(plot):
    return [item.toPlainText().strip() for item in items(plot, pg.TextItem)]


def test_that_exactly_the_verified_runs_of_the_newest_problem_are_drawn(plot, results):
    add(results, ("cached", 0.3), problem=replace(PROBLEM, width=100))
    add(results, ("tiled", 1.0), weights_digest="another Gaussian")
    add(results, ("cpu-serial", 20.0), ("tiled", 0.5))
    good = results.results()[-2:]
    for result in (make_failure("cached", "out of memory"), make_unverified(), make_simulated("naive")):
        results.add(result)
    drawn = [result for result, _ in marks(plot)]
    assert {id(result) for result in drawn} == {id(result) for result in good}
    assert row_names(plot) == ["cpu-serial", "tiled"]
    omitted = plot.omitted.text()
    assert "cached: failed (out of memory)" in omitted
    assert "tiled: not verified" in omitted
    assert "naive: simulated" in omitted
    assert omitted in plot.accessibleDescription()
    assert plot.accessibleName() == "Plot"


def test_that_times_stand_at_their_median(times, results):
    add(results, ("tiled", 0.5), ("tiled", 0.25))
    assert [value for _, value in marks(times)] == pytest.approx([0.5, 0.25])
    assert written(times) == ["0.2500 ms"]
    # Zero, as a coarse clock gives.
    add(results, ("cpu-serial", 0.0))
    assert len(marks(times)) == 3
    assert times.axis.is_log


def test_that_a_speed_up_stands_at_its_ratio_with_the_number_at_its_end(make_plot, results):
    speed_ups = make_plot(SPEED_UP)
    add(results, ("naive", 2.0))
    assert marks(speed_ups) == []
    assert "cpu-serial" in speed_ups.empty_text.text(), "without a run of the baseline"
    add(results, ("cpu-serial", 20.0))
    assert written(speed_ups) == ["10.0×", "1.00×"]
    assert sorted(value for _, value in marks(speed_ups)) == pytest.approx([1.0, 10.0])
    results.set_baseline("naive")
    assert written(speed_ups) == ["1.00×", "10.0× slower"]
    assert "naive" in speed_ups.caption.text()
    # With another baseline the plot shows the table's values.
    add(results, ("cpu-serial", 10.0))
    results.use_as_baseline(results.results()[1])
    assert written(speed_ups) == ["10.0×", "2.00×"]
    assert "against run 2 (cpu-serial)" in speed_ups.accessibleDescription()


def test_that_each_block_and_layout_of_a_variant_has_a_row_of_its_own(plot, results):
    add(results, ("cpu-serial", 20.0))
    add(results, ("tiled", 2.0), block=Block(8, 8))
    assert row_names(plot) == ["cpu-serial", "tiled"]
    add(results, ("naive", 4.0))
    add(results, ("tiled", 1.0), block=Block(32, 8))
    add(results, ("naive", 8.0), layout="packed")
    names = ["cpu-serial", "tiled 8 × 8", "tiled 32 × 8", "naive", "naive (packed)"]
    assert row_names(plot) == names
    assert len(written(plot)) == 5
    value_of = {result.layout: value for result, value in marks(plot) if result.variant == "naive"}
    ratio = value_of["packed"] / value_of["pitched"]
    assert max(ratio, 1 / ratio) == pytest.approx(2.0)
    assert all(f"{name}: " in plot.accessibleDescription() for name in names)


def test_that_each_type_of_results_has_a_row_of_its_own_with_its_own_baseline(plot, results):
    in_bytes = replace(PROBLEM, result_dtype="uint8")
    add(results, ("cpu-serial", 20.0), ("tiled", 2.0))
    add(results, ("cpu-serial", 10.0), ("tiled", 0.5), problem=in_bytes)
    names = ["cpu-serial → float32", "cpu-serial → uint8", "tiled → float32", "tiled → uint8"]
    assert sorted(row_names(plot)) == names
    assert len(written(plot)) == 4
    assert "results" not in plot.caption.text(), "they are of two types"
    if plot._is_speed_up:
        tiled = [(result, value) for result, value in marks(plot) if result.variant == "tiled"]
        values = {result.problem.result_dtype: value for result, value in tiled}
        assert values == pytest.approx({"float32": 10.0, "uint8": 20.0})


def test_that_of_very_many_rows_those_in_view_are_drawn(qtbot, times, results):
    times.show()
    blocks = [Block(x, y) for x in range(1, 26) for y in range(1, 9)]
    add(results, ("cpu-serial", 20.0))
    for number, block in enumerate(blocks):
        add(results, ("tiled", 1 + number / 100), block=block)
    qtbot.waitUntil(lambda: 0 < len(marks(times)) < 40)
    assert row_names(times)[:2] == ["cpu-serial", "tiled 1 × 1"]
    assert "201 rows in all" in times.accessibleDescription()
    low = times.plot.getViewBox().viewRange()[0]
    times.rows.setValue(times.rows.maximum())
    qtbot.waitUntil(lambda: "tiled 25 × 8" in row_names(times))
    assert "cpu-serial" not in row_names(times)
    assert written(times)[-1] == "2.990 ms"
    # The scale is that of all rows.
    assert times.plot.getViewBox().viewRange()[0] == pytest.approx(low, abs=0.05)


def test_that_any_metric_can_be_the_axis(times, results):
    add(results, ("cpu-serial", 20.0), ("tiled", 2.0))
    actions = {action.text(): action for action in times.axis_button.menu().actions()}
    assert actions["Kernel, ms"].isChecked()
    actions["Max error"].trigger()
    assert written(times) == ["1.2e-07"] * 2
    assert times.caption.text().startswith("Max error, log scale")
    actions["End to end, ms"].trigger()
    assert written(times) == ["21.00 ms", "2.573 ms"]
    actions["Host to device, ms"].trigger()
    assert row_names(times) == ["tiled"]
    results.clear()
    times.choose("max_error")
    results.add(make_result("cpu-serial", verification=replace(PROVED, max_error=0.0)))
    results.add(make_result("tiled"))
    assert written(times) == ["0", "1.2e-07"]
    assert sorted(value for _, value in marks(times)) == [0.0, 1.2e-7]
    assert "log scale" not in times.caption.text()


def test_that_an_empty_plot_says_how_to_fill_it(plot, results):
    assert "Press Run" in plot.empty_text.text()
    # Verified, and still without a time: it must not say that it was not verified.
    results.add(make_simulated("naive"))
    assert marks(plot) == []
    assert not plot.empty_text.isHidden()
    assert "time" in plot.empty_text.text()
    assert "verified" not in plot.empty_text.text()
    add(results, ("cpu-serial", 20.0))
    assert marks(plot)
    assert plot.empty_text.isHidden()
    results.clear()
    assert marks(plot) == written(plot) == []
    assert not plot.empty_text.isHidden()
    results.add(make_failure("cpu-fft", "Row 50 is nan. Use cpu-parallel."))
    QApplication.processEvents()
    assert plot.omitted.text() == "Not plotted: cpu-fft: failed (Row 50 is nan. Use cpu-parallel.)"


@pytest.mark.slow
def test_that_results_that_arrive_together_are_drawn_once(qtbot, times, results):
    with qtbot.waitSignal(times._redraw_timer.timeout):
        for kernel_ms in (20.0, 19.0, 18.0):
            add(results, ("cpu-serial", kernel_ms))
            assert not times._drawn
    assert len(marks(times)) == 3
    assert written(times) == ["18.00 ms"]


@pytest.mark.slow
def test_that_colours_of_a_variant_follow_the_theme(light_again, times, results, qapp):
    add(results, ("tiled", 0.5))
    assert len(marks(times)) == 1
    apply_theme(qapp, "dark")
    mark = next(item for item in items(times, pg.ScatterPlotItem) if item.opts["hoverable"])
    assert mark.points()[0].brush().color().name() == series_for("tiled", DARK).colour
    assert times.plot.backgroundBrush().color().name() == DARK.base


@pytest.mark.parametrize("width", [300, 900])
def test_that_numbers_are_not_cut_at_any_width(plot, results, width):
    add(results, ("cpu-serial", 1888.0), ("naive", 100.0), ("tiled", 0.1))
    plot.resize(width, 200)
    plot.show()
    texts = items(plot, pg.TextItem)
    right = plot.plot.getViewBox().sceneBoundingRect().right()
    assert texts
    assert all(text.sceneBoundingRect().right() <= right + 1.0 for text in texts)


@pytest.mark.parametrize(("low", "high"), [(-2.0, 2.0), (-0.3, 0.3), (-5.0, 6.0), (0.1, 0.7)])
def test_that_ticks_are_few_round_and_inside(low, high):
    ticks = log_ticks(low, high, 5)
    assert 2 <= len(ticks) <= 5
    assert all(low <= tick <= high for tick in ticks)
    assert {f"{10**tick:.4e}"[:6] for tick in ticks} <= {f"{digit:.4f}" for digit in (1, 1.5, 2, 3, 5, 7)}


def test_that_the_first_tick_of_a_scale_is_written(qtbot, make_plot, results):
    speed_ups = make_plot(SPEED_UP)
    speed_ups.resize(260, 200)
    add(results, ("cpu-serial", 200.0), ("tiled", 1.0))
    with qtbot.waitExposed(speed_ups):
        speed_ups.show()
    QApplication.processEvents()
    speed_ups.grab()
    painter = QPainter(image := QImage(10, 10, QImage.Format.Format_ARGB32))
    painter.setFont(number_font())
    words = [text for _, _, text in speed_ups.axis.generateDrawSpecs(painter)[2]]
    painter.end()
    assert not image.isNull()
    assert words == ["1×", "100×"]


def test_that_rows_of_many_variants_never_stand_closer_than_their_words(qtbot, plot, results):
    plot.show()
    add(results, *((variant, 20.0 / at) for at, variant in enumerate(["cpu-serial", *LADDER], start=1)))
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


def test_that_the_wheel_over_a_plot_scrolls_its_rows_only(qtbot, times, results):
    assert times.plot.getViewBox().mouseEnabled() == [False, False]
    assert not times.plot.getPlotItem().menuEnabled()
    times.show()
    add(results, *((variant, 1.0) for variant in LADDER))
    qtbot.waitUntil(times.rows.isVisible)
    at = QPointF(50, 50)
    button, key, phase = (
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
    )
    viewport = times.plot.viewport()
    down = QWheelEvent(at, viewport.mapToGlobal(at), QPoint(), QPoint(0, -120), button, key, phase, False)
    QApplication.sendEvent(viewport, down)
    assert times.rows.value() > 0
    results.clear()
    qtbot.waitUntil(lambda: not times.rows.isVisible())


@pytest.mark.parametrize("width", [260, 320, 600])
def test_that_the_caption_is_whole(qtbot, plot, results, width):
    plot.resize(width, 240)
    plot.show()
    add(results, ("cpu-serial", 2.0))
    caption = plot.caption
    qtbot.waitUntil(lambda: bool(caption.text()))
    lines = caption.lines_of(caption.text())
    # The layout follows in the next turn of the event loop.
    qtbot.waitUntil(lambda: caption.height() >= lines * caption.fontMetrics().lineSpacing())
    assert "512\u00a0×\u00a0512" in caption.text()
    assert "mask Gaussian, 5\u00a0×\u00a05" in caption.text()

"""The plot: a bar per row with both numbers, sorted, on an axis that ends at the data."""

from dataclasses import replace

import pytest
from gui.explore.results.plot_model import NAME, NUMBER, RATIO
from gui.explore.results.plot_panel import PlotPanel
from gui.explore.results.plot_rows import Order
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtTest import QAbstractItemModelTester
from PySide6.QtWidgets import QApplication

from engine.geometry.block import Block
from engine.results.columns import KERNEL
from gui.runs.bar_scale import scale_of
from gui.runs.metric_menu import all_actions
from gui.style.theme import current_theme
from tests.made_runs import PROBLEM, WORK, make_failure, make_result, make_simulated, make_unverified


@pytest.fixture
def plot(qtbot, results):
    panel = PlotPanel(results, teaching=lambda: ["cpu-serial", "naive", "tiled", "cached"])
    qtbot.addWidget(panel)
    panel.resize(560, 260)
    panel.show()
    return panel


def add(results, *runs, **fields):
    for variant, kernel_ms in runs:
        results.add(make_result(variant, kernel_ms, **fields))
    QApplication.processEvents()


def cells(plot, column):
    QApplication.processEvents()
    model = plot.model
    return [model.index(row, column).data() for row in range(model.rowCount())]


def heads(plot):
    return [plot.model.headerData(at, Qt.Orientation.Horizontal) for at in range(RATIO + 1)]


def axis(plot):
    """Return the words over the bars."""
    header = plot.view.horizontalHeader()
    return [word for _, word in header.tick_words(header.sectionSize(1))]


def test_that_the_best_row_stands_first_with_both_numbers_in_three_digits(plot, results):
    add(results, ("cpu-serial", 19.6), ("naive", 0.1178), ("tiled", 0.000636))
    assert cells(plot, NAME) == ["tiled", "naive", "cpu-serial"]
    assert cells(plot, NUMBER) == ["636 ns", "118 µs", "19.6 ms"]
    assert cells(plot, RATIO) == ["30,800×", "166×", "1.00×"]


def test_that_a_click_on_a_head_chooses_between_teaching_order_and_best_first(plot, results):
    add(results, ("tiled", 0.1), ("cpu-serial", 20.0), ("naive", 2.0))
    plot.view.horizontalHeader().sectionClicked.emit(NAME)
    assert cells(plot, NAME) == ["cpu-serial", "naive", "tiled"]
    plot.view.horizontalHeader().sectionClicked.emit(NUMBER)
    assert cells(plot, NAME) == ["tiled", "naive", "cpu-serial"]


def test_that_the_axis_ends_at_the_data_and_names_every_decade(plot, results):
    add(results, ("cpu-serial", 20.0), ("tiled", 0.02))
    scale = plot.model.scale
    # p80 of the slowest is the largest number there is.
    assert scale.is_log
    assert scale.high == pytest.approx(max(plot.model.rows()[-1].numbers))
    assert scale.share(scale.high) == 1.0
    assert axis(plot) == ["100 µs", "1 ms", "10 ms"]


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ((7.0, 10.0), (0, 5, 10)),
        ((0.02, 30.0), (0.1, 1, 10)),
        ((0.0,), (0.0, 0.5, 1.0)),
        ((0.0, 1.2e-7), None),
    ],
)
def test_that_times_of_one_decade_have_an_axis_from_zero(values, ticks):
    scale = scale_of(values)
    assert all(0 <= scale.share(value) <= 1 for value in values)
    assert ticks is None or scale.ticks == pytest.approx(ticks)


def test_that_exactly_the_verified_runs_of_the_newest_problem_have_a_bar(plot, results):
    add(results, ("cached", 0.3), problem=replace(PROBLEM, width=100))
    add(results, ("tiled", 1.0), weights_digest="another Gaussian")
    add(results, ("cpu-serial", 20.0), ("tiled", 0.5))
    for result in (make_failure("cached", "out of memory"), make_unverified(), make_simulated("naive")):
        results.add(result)
    assert cells(plot, NAME) == ["tiled", "cpu-serial"]
    for words in ("cached: failed (out of memory)", "tiled: not verified", "naive: simulated"):
        assert words in plot.omitted.text()
    assert plot.omitted.text() in plot.accessibleDescription()


def test_that_each_block_layout_and_type_has_a_row_of_its_own(plot, results):
    add(results, ("cpu-serial", 20.0))
    add(results, ("tiled", 2.0), block=Block(8, 8))
    add(results, ("tiled", 1.0), block=Block(32, 8))
    add(results, ("naive", 8.0), layout="packed")
    names = ["tiled 32 × 8", "tiled 8 × 8", "naive (packed)", "cpu-serial"]
    assert cells(plot, NAME) == names
    assert all(f"{name}: " in plot.view.accessibleDescription() for name in names)
    add(results, ("tiled", 0.5), problem=replace(PROBLEM, result_dtype="uint8"))
    assert cells(plot, NAME)[0] == "tiled 16 × 16 → uint8"


def test_that_a_second_run_takes_the_row_and_the_first_stays_as_a_tick(plot, results):
    add(results, ("tiled", 0.5), ("tiled", 0.25))
    (row,) = plot.model.rows()
    assert (row.value, row.older) == (0.25, (0.5,))


def test_that_the_interval_is_explained_in_one_line(plot, results):
    add(results, ("tiled", 0.5))
    assert plot.legend.text() == "Bar: median. Line: p20 to p80. Tick: minimum."


def test_that_any_metric_can_be_the_axis_from_a_menu_of_eight_and_groups(plot, results):
    add(results, ("cpu-serial", 20.0), ("tiled", 2.0))
    menu = plot.axis_button.menu()
    assert len([action for action in menu.actions() if not action.menu() and not action.isSeparator()]) == 8
    actions = {action.text(): action for action in all_actions(menu)}
    assert actions["Kernel, ms"].isChecked()
    actions["Max error"].trigger()
    assert cells(plot, NUMBER) == ["1.2e-07"] * 2
    actions["Host to device, ms"].trigger()
    assert cells(plot, NAME) == ["tiled"]
    actions["Speed-up"].trigger()
    assert cells(plot, NAME) == ["tiled", "cpu-serial"], "more is better"


def test_that_simulated_runs_show_their_loads_at_once(plot, results):
    results.add(replace(make_simulated("naive"), work=WORK))
    assert cells(plot, NUMBER) == ["25"]
    assert plot.legend.text().startswith("Simulated runs are not timed. Operations per global load (CGMA)")
    assert "Simulated runs are not timed" in plot.about.text()


def test_that_an_empty_plot_says_how_to_fill_it(plot, results):
    assert "Press Run all" in plot.stack.text
    add(results, ("cpu-serial", 20.0))
    assert plot.stack.text == ""
    results.clear()
    QApplication.processEvents()
    assert "Press Run all" in plot.stack.text


def test_that_the_selected_run_says_what_it_cost(plot, results):
    add(results, ("cpu-serial", 18.0))
    results.add(make_result("tiled", 0.04, work=WORK))
    results.describe(results.results()[1])
    words = plot.about.text()
    assert words.startswith("Run 2: tiled, 16 × 16 · First run +412 ms compile, +1.20 ms allocate · ")
    assert "each run 480 µs" in words
    assert "(copy in 220 µs, kernel 40.0 µs, copy out 220 µs)" in words
    assert "1.6 image loads, 0.4 mask loads, 25 shared loads" in words
    results.describe(results.results()[0])
    assert "each run 18.0 ms" in plot.about.text()
    assert "copy" not in plot.about.text(), "the CPU copies nothing"


def test_that_two_selected_rows_are_compared_in_words(plot, results):
    add(results, ("tiled", 0.5), ("naive", 2.0))
    plot.view.selectAll()
    assert plot.about.text() == (
        "Run 1 (tiled) is 4.00× as fast as run 2 (naive): 500 µs against 2.00 ms. "
        "Their intervals (p20 to p80) do not overlap."
    )
    add(results, ("cached", 2.1))
    results.select(results.results()[1:])
    assert plot.about.text().endswith("overlap, so this may be chance.")
    assert plot.difference.isVisible()
    results.add(make_simulated("tiled"))
    results.select([results.results()[0], results.results()[3]])
    assert "has no time to compare" in plot.about.text()


def test_that_a_pinned_row_stays_on_top_with_its_note(plot, results):
    add(results, ("cpu-serial", 20.0), ("tiled", 0.5))
    results.pin(results.results()[0], True)
    results.set_note(results.results()[0], "before the change")
    assert cells(plot, NAME) == ["cpu-serial", "tiled"]
    assert "before the change" in plot.view.accessibleDescription()


def test_that_the_plot_can_be_copied_and_saved_with_all_its_rows(plot, results, tmp_path):
    add(results, *((f"variant-{at}", 1.0 + at) for at in range(30)))
    texts = [action.text() for action in plot.menu().actions()]
    assert {"Copy as picture", "Save as PNG or SVG…"} <= set(texts)
    plot.copy_picture()
    assert QGuiApplication.clipboard().image().height() == 2 * plot.view.whole_height
    saved = {}
    plot.saved.connect(lambda path, made: saved.update({path.suffix: made}))
    plot.save(tmp_path / "times.svg")
    plot.save(tmp_path / "times.png")
    assert b"variant-29" in saved[".svg"]
    assert QImage.fromData(saved[".png"]).height() == 2 * plot.view.whole_height


def test_that_the_model_keeps_to_the_rules_of_qt(plot, results):
    QAbstractItemModelTester(plot.model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    add(results, ("cpu-serial", 20.0), ("tiled", 0.5))
    plot.model.sort_by(Order.TEACHING)
    plot.choose("max_error")
    plot.choose(KERNEL)
    results.clear()
    QApplication.processEvents()
    assert plot.model.rowCount() == 0


@pytest.mark.parametrize("width", [250, 480, 1200])
def test_that_numbers_are_not_cut_at_any_width(plot, results, width):
    add(results, ("cpu-serial", 1888.0), ("naive", 100.0), ("tiled", 0.1))
    plot.resize(width, 200)
    QApplication.processEvents()
    view = plot.view
    for column in (NUMBER, RATIO):
        needed = max(view.fontMetrics().horizontalAdvance(text) for text in cells(plot, column))
        assert view.columnWidth(column) > needed
    assert sum(map(view.columnWidth, range(4))) <= view.viewport().width() or width == 250


def test_that_no_name_of_a_kernel_is_cut_where_the_plot_is_as_wide_as_at_first(haloscope, qtbot):
    results, plot = haloscope.results, haloscope.window.page.plot_panel
    add(results, *((known.key, 10.0) for known in haloscope.state.variants), ("cpu-separable-serial", 1888.0))
    qtbot.waitUntil(lambda: len(cells(plot, NAME)) == len(haloscope.state.variants) + 1)
    view = plot.view
    # The mark of its family stands before a name.
    needed = max(view.fontMetrics().horizontalAdvance(f"{name}  ■") for name in cells(plot, NAME))
    assert view.columnWidth(NAME) >= needed


def test_that_rows_of_an_earlier_problem_are_dimmed_and_named(plot, results):
    add(results, ("cpu-serial", 20.0))
    results.follow(results.problem_of(results.results()[0]))
    QApplication.processEvents()
    assert plot.caption.isHidden()
    before = plot.view.grab().toImage()
    results.follow("another problem")
    QApplication.processEvents()
    assert plot.caption.text().replace("\u00a0", " ") == (
        "For an earlier problem: 512 × 512 RGB uint8, mask Gaussian, 5 × 5, border zero"
    )
    assert plot.view.grab().toImage() != before
    assert current_theme().name == "light"

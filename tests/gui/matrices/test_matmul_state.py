"""The page Matrices without its window: settings, rows, figure, and what counts and runs."""

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from engine.errors import EngineError
from engine.host.request import Run
from engine.results.metrics import number_of
from engine.tasks.product.problem import MatrixProduct, ProductGrid, ProductRequest, tile_of
from gui.engine_link.engine_state import EngineState
from gui.matrices import product
from gui.matrices.page import MatricesPage
from tests.gui.made_window import page_on
from tests.made_runs import made_product, made_rows

PRODUCT = MatrixProduct(1024, 1024, 1024)


@pytest.fixture
def state(qapp):
    return product.MatmulState()


def test_that_a_square_product_follows_its_rows_and_sizes_can_differ_where_it_is_not(state, qtbot):
    with qtbot.assertNotEmitted(state.settings_changed):
        state.change(tiles=(4, 8, 16, 32))
    panel = product.ProductPanel(state, EngineState())
    qtbot.addWidget(panel)
    panel.rows.setValue(64)
    assert state.settings.product == MatrixProduct(64, 64, 64)
    assert not panel.inner.isEnabled()
    panel.square.click()
    for box, side in ((panel.rows, 17), (panel.inner, 33), (panel.columns, 5)):
        box.setValue(side)
    assert state.settings.product == MatrixProduct(17, 33, 5)
    assert "5,610 operations" in panel.facts.text()
    panel.rows.stepUp()
    assert panel.rows.value() == 34
    panel.square.click()
    assert state.settings.product == MatrixProduct(34, 34, 34)
    lecture = product.LecturePanel(state, EngineState())
    qtbot.addWidget(lecture)
    assert "misprint" in lecture.toPlainText()


def test_that_what_ran_takes_the_place_of_the_count_until_the_product_or_device_changes(state):
    rows = made_rows(PRODUCT, (4, 16), cuda=True)
    state.set_listed(rows)
    state.add(made_product(rows[2]))
    assert [at for at, row in enumerate(state.results()) if number_of(row, "gflops") is not None] == [2]
    assert state.runnable == rows
    # The tile goes and comes back: what was measured is still about the same product.
    state.set_listed(made_rows(PRODUCT, (16,), cuda=True))
    assert [number_of(row, "gflops") for row in state.results()] == [None] * 3
    state.set_listed(rows)
    assert number_of(state.results()[2], "gflops") is not None
    for change in ({"product": MatrixProduct(8, 8, 8)}, {"device": "simulator"}):
        rows = made_rows(state.settings.product, (4,), cuda=True)
        state.set_listed(rows)
        state.add(made_product(rows[0]))
        state.change(**change)
        assert state.results() == ()
        # One that was on its way is about the product of before.
        state.set_listed(made_rows(state.settings.product, (4,), cuda=True))
        if "product" in change:
            state.add(made_product(rows[0]))
        assert state.results()[0].verification is None


def cell(model, row, key, role=Qt.ItemDataRole.DisplayRole):
    return model.index(row, model.position(key)).data(role)


def test_that_a_table_shows_what_is_known_of_each_product(state, qtbot):
    model = state
    QAbstractItemModelTester(model, QAbstractItemModelTester.FailureReportingMode.Fatal)
    rows = made_rows(PRODUCT, (16,), cuda=True)
    state.set_listed(rows)
    columns = {
        "variant": ["matmul-naive", "matmul-tiled", "numpy (BLAS)"], "cgma_flop_per_load": ["1", "16", "–"],
        "lecture_limit_gflops": ["21.6", "345.6", "–"], "bandwidth_limit_gflops": ["1,000", "16,000", "–"],
        "kernel_median_ms": ["–"] * 3, "proof": ["not run yet"] * 3,
    }  # fmt: skip
    assert {key: [cell(model, row, key) for row in range(3)] for key in columns} == columns
    state.add(made_product(rows[1]))
    known = {
        "kernel_median_ms": "2.00 ms", "gflops": "1,074", "share_of_limit": "6.71 %",
        "max_error": "1.2e-06", "error_bound": "3e-05", "proof": "verified",
    }  # fmt: skip
    assert {key: cell(model, 1, key) for key in known} == known
    assert "minimum 1.80" in cell(model, 1, "kernel_median_ms", Qt.ItemDataRole.ToolTipRole)
    assert "every element" in cell(model, 1, "proof", Qt.ItemDataRole.ToolTipRole)
    state.change(device="simulator")
    state.set_listed(made_rows(PRODUCT, (16,)))
    assert cell(model, 1, "proof").startswith("No NVIDIA driver")
    assert "Choose numpy" in cell(model, 1, "proof", Qt.ItemDataRole.ToolTipRole)
    assert cell(model, 1, "cgma_flop_per_load") == "16"
    assert [row.variant for row in state.runnable] == ["numpy"]
    with qtbot.assertNotEmitted(model.modelReset), qtbot.waitSignal(model.dataChanged):
        state.add(made_product(state.results()[2]))


def test_that_the_figure_has_what_was_measured_beside_the_limit():
    rows = made_rows(PRODUCT, (4, 16), cuda=True)
    run = [*rows[:2], made_product(rows[2], 4.0), made_product(rows[3]), made_product(rows[4], 40.0)]
    figure = product.tile_figure(run)
    assert [curve.name for curve in figure.series] == ["matmul-naive", "matmul-tiled", "numpy (BLAS)"]
    assert figure.series[0].y == (None, None)
    assert figure.series[1].x == (4.0, 16.0)
    assert figure.series[1].y == (number_of(run[2], "gflops"), number_of(run[3], "gflops"))
    assert [curve.y for curve in figure.printed] == [(1000.0, 1000.0), (4000.0, 16000.0)]
    assert product.limit_words(run) == "limit at 4,000 GB/s"
    rows = made_rows(PRODUCT, (4, 16))
    assert [curve.y[1] for curve in product.tile_figure(rows).printed] == pytest.approx([21.6, 345.6])
    assert product.limit_words(rows) == "limit at 86.4 GB/s"


@pytest.fixture
def slow(make_bench, qtbot):
    """A page with its state around a fake engine that answers on command."""
    bench = page_on(make_bench(automatic=False), MatricesPage, qtbot)
    bench.matmul = bench.page.matmul
    return bench


@pytest.fixture
def bench(slow):
    """A page whose engine answers at once."""
    slow.fake.automatic = True
    return slow


def test_that_nothing_is_counted_before_the_page_is_shown(bench):
    bench.matmul.change(tiles=(8,))
    bench.settle()
    assert bench.jobs_asked(ProductGrid) == []
    bench.page.shown.emit()
    bench.settle()
    assert [tile_of(row) for row in bench.matmul.results()] == [8, 8, None]
    bench.matmul.change(tiles=(8, 16))
    bench.settle()
    assert [tile_of(row) for row in bench.matmul.results()] == [8, 16, 8, 16, None]


def test_that_only_the_newest_question_is_answered(slow):
    slow.page.shown.emit()
    slow.matmul.change(product=MatrixProduct(64, 64, 64))
    first, second = slow.fake.waiting(ProductGrid)
    slow.answer(second)
    slow.answer(first)
    assert {row.problem.rows for row in slow.matmul.results()} == {64}
    slow.lose()
    assert slow.fake.waiting(ProductGrid) == []
    slow.become_ready()
    assert len(slow.fake.waiting(ProductGrid)) == 1


def test_that_the_simulator_gets_the_kernels_and_the_cpu_gets_numpy(bench, qtbot):
    bench.page.shown.emit()
    for kernels in ((), (*product.SMALL_TILES, *product.SMALL_TILES)):
        if kernels:
            bench.matmul.try_small()
        bench.settle()
        bench.fake.seen.clear()
        with qtbot.waitSignal(bench.jobs.finished):
            bench.page.run_all()
        requests = [(request.tile, request.device) for request in bench.jobs_asked((Run, ProductRequest))]
        assert requests == [*((tile, "simulator") for tile in kernels), (None, "auto")]
        *others, of_numpy = [row.is_proven for row in bench.matmul.results()]
        assert (others, of_numpy) == ([bool(kernels)] * (6 if kernels else 8), True)
        assert (bench.state.running, bench.matmul.running) == (False, False)


def test_that_a_cell_that_fails_is_a_row_with_its_reason_and_cancel_keeps_what_is_finished(slow, qtbot):
    slow.page.shown.emit()
    slow.matmul.try_small()
    slow.answer_all(ProductGrid)
    slow.page.run_all()
    slow.answer_all(ProductGrid)
    assert slow.matmul.running
    slow.tell("verifying against the float64 oracle", 0.3)
    assert slow.state.stage == "matmul-naive, tile 2 (1 of 7): verifying against the float64 oracle"
    slow.fail(EngineError("The product", "the memory is full", "Choose a smaller size."))
    first = slow.matmul.results()[0]
    assert first.status == "The product: the memory is full. Choose a smaller size."
    assert number_of(first, "cgma_flop_per_load") == 1.0
    assert len(slow.fake.waiting((Run, ProductRequest))) == 1
    assert slow.messages.newest.why == "the memory is full"
    slow.answer()
    with qtbot.waitSignal(slow.jobs.finished):
        slow.jobs.cancel()
    assert [request.job.tile for request in slow.fake.cancelled] == [8]
    assert [row.is_proven for row in slow.matmul.results()] == [False, True] + [False] * 5
    assert [row.failure for row in slow.matmul.results()[1:]] == [None] * 6
    assert not slow.state.running
    assert slow.messages.count == 1


def test_that_a_run_waits_for_what_changed_just_now_to_be_counted(slow):
    slow.page.shown.emit()
    slow.answer_all(ProductGrid)
    slow.matmul.entering.connect(lambda _: slow.matmul.change(product=MatrixProduct(300, 300, 300)))
    slow.page.run_all()
    assert slow.state.running
    assert slow.fake.waiting((Run, ProductRequest)) == []
    slow.answer_all(ProductGrid)
    assert [asked.request.job.product.rows for asked in slow.fake.waiting((Run, ProductRequest))] == [300]


def test_that_a_run_that_waits_for_the_count_can_end_before_it_begins(slow, qtbot):
    slow.page.shown.emit()
    error = EngineError("The product", "the memory is full", "Choose a smaller size.")
    for end in (
        slow.jobs.cancel,
        lambda: slow.fake.fail(error, slow.fake.waiting(ProductGrid)[-1]),
        slow.fake.lose,
    ):
        with qtbot.waitSignal(slow.jobs.finished):
            slow.page.run_all()
            assert slow.matmul.running
            end()
        slow.answer_all(ProductGrid)
        assert (slow.state.running, slow.matmul.running) == (False, False)
        assert slow.jobs_asked((Run, ProductRequest)) == []


def test_that_nothing_runs_while_an_editor_refuses_or_another_run_goes_on(bench):
    bench.page.shown.emit()
    bench.settle()
    refuse = bench.matmul.entering.connect(lambda refusals: refusals.append("no tile"))
    bench.page.run_all()
    bench.matmul.entering.disconnect(refuse)
    assert not bench.state.running
    bench.state.set_running(True)
    bench.page.run_all()
    assert bench.jobs_asked((Run, ProductRequest)) == []

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from engine.results.metrics import number_of
from engine.tasks.product.problem import MatrixProduct
from gui.engine_link.engine_state import EngineState
from gui.matrices.matmul_state import MatmulState
from gui.matrices.product_panel import LecturePanel, ProductPanel
from gui.matrices.tile_plot import limit_words, tile_figure
from tests.made_runs import made_product, made_rows

PRODUCT = MatrixProduct(1024, 1024, 1024)


@pytest.fixture
def state(qapp):
    return MatmulState()


def test_that_a_square_product_follows_its_rows(state, qtbot):
    with qtbot.assertNotEmitted(state.settings_changed):
        state.change(tiles=(4, 8, 16, 32))
    with qtbot.waitSignal(state.settings_changed):
        state.change(product=MatrixProduct(64, 3, 5))
    assert state.settings.product == MatrixProduct(64, 64, 64)
    state.change(square=False)
    state.change(product=MatrixProduct(64, 3, 5))
    assert state.settings.product == MatrixProduct(64, 3, 5)
    state.change(square=True)
    assert state.settings.product == MatrixProduct(64, 64, 64)


def test_that_what_ran_takes_the_place_of_the_count_until_the_product_or_device_changes(state):
    rows = made_rows(PRODUCT, (4, 16), cuda=True)
    state.set_listed(rows)
    state.add(made_product(rows[2]))
    assert [number_of(row, "gflops") is not None for row in state.results()] == [
        False,
        False,
        True,
        False,
        False,
    ]
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
    assert model.rowCount() == 3
    assert [cell(model, row, "cgma_flop_per_load") for row in range(3)] == ["1", "16", "–"]
    assert [cell(model, row, "lecture_limit_gflops") for row in range(3)] == ["21.6", "345.6", "–"]
    assert [cell(model, row, "bandwidth_limit_gflops") for row in range(3)] == ["1,000", "16,000", "–"]
    assert [cell(model, row, "kernel_median_ms") for row in range(3)] == ["–"] * 3
    assert cell(model, 2, "variant") == "numpy (BLAS)"
    assert cell(model, 0, "proof") == "not run yet"
    state.add(made_product(rows[1]))
    assert cell(model, 1, "kernel_median_ms") == "2.00 ms"
    assert cell(model, 1, "gflops") == "1,074"
    assert cell(model, 1, "share_of_limit") == "6.71 %"
    assert (cell(model, 1, "max_error"), cell(model, 1, "error_bound")) == ("1.2e-06", "3e-05")
    assert cell(model, 1, "proof") == "verified"
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
    figure = tile_figure(run)
    assert [curve.name for curve in figure.series] == ["matmul-naive", "matmul-tiled", "numpy (BLAS)"]
    assert figure.series[0].y == (None, None)
    assert figure.series[1].x == (4.0, 16.0)
    assert figure.series[1].y == (number_of(run[2], "gflops"), number_of(run[3], "gflops"))
    assert figure.series[2].y == (number_of(run[4], "gflops"),) * 2
    assert [curve.y for curve in figure.printed] == [(1000.0, 1000.0), (4000.0, 16000.0)]
    assert limit_words(run) == "limit at 4,000 GB/s"
    rows = made_rows(PRODUCT, (4, 16))
    naive, tiled = tile_figure(rows).printed
    assert naive.y == (pytest.approx(21.6), pytest.approx(21.6))
    assert tiled.y == (pytest.approx(86.4), pytest.approx(345.6))
    assert limit_words(rows) == "limit at 86.4 GB/s"


def test_that_sizes_can_differ_where_the_product_is_not_square(state, qtbot):
    panel = ProductPanel(state, EngineState())
    qtbot.addWidget(panel)
    assert not panel.inner.isEnabled()
    panel.square.click()
    panel.rows.setValue(17)
    panel.inner.setValue(33)
    panel.columns.setValue(5)
    assert state.settings.product == MatrixProduct(17, 33, 5)
    assert panel.facts.text().startswith("M 17 × 33 · N 33 × 5\n5,610 operations")
    panel.rows.stepUp()
    assert panel.rows.value() == 34
    lecture = LecturePanel(state, EngineState())
    qtbot.addWidget(lecture)
    for words in ("86.4", "21.6", "345.6", "347.6", "misprint", "bandwidth", "CGMA"):
        assert words in lecture.toPlainText()

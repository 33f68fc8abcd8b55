import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester

from engine.results.columns import KERNEL, SPEED_UP
from engine.results.quantities import MISSING
from gui.widgets.runs_model import RunsOrder
from tests.made_runs import WORK, make_failure, make_result, make_simulated, make_unverified

TOOLTIP = Qt.ItemDataRole.ToolTipRole


@pytest.fixture
def model(results):
    return results


@pytest.fixture
def order(model):
    order = RunsOrder()
    order.setSourceModel(model)
    return order


def add(model, *runs):
    for variant, kernel_ms in runs:
        model.add(make_result(variant, kernel_ms))


def cell(model, row, key, role=Qt.ItemDataRole.DisplayRole):
    return model.index(row, model.position(key)).data(role)


def speed_ups(model):
    return [cell(model, row, SPEED_UP) for row in range(model.rowCount())]


def test_that_the_model_keeps_to_the_rules_of_qt(model, order):
    fatal = QAbstractItemModelTester.FailureReportingMode.Fatal
    testers = [QAbstractItemModelTester(model, fatal), QAbstractItemModelTester(order, fatal)]
    for result in (make_result("cpu-serial", 18.0), make_failure(), make_unverified(), make_simulated()):
        model.add(result)
    model.set_baseline("tiled")
    order.sort(model.position(KERNEL))
    model.clear()
    assert model.rowCount() == 0
    assert len(testers) == 2


def test_that_times_are_sorted_as_numbers_and_missing_ones_come_last_in_both_directions(model, order):
    for result in (make_failure(), make_result(kernel_ms=9.0), make_simulated(), make_result(kernel_ms=10.0)):
        model.add(result)
    model.add(make_result(kernel_ms=0.5))
    for way, times in (
        (Qt.SortOrder.AscendingOrder, ["0.5000", "9.000", "10.00"]),
        (Qt.SortOrder.DescendingOrder, ["10.00", "9.000", "0.5000"]),
    ):
        order.sort(model.position(KERNEL), way)
        assert [order.index(row, model.position(KERNEL)).data() for row in range(3)] == times


def test_that_a_speed_up_says_which_run_it_is_against(model):
    add(model, ("cpu-serial", 20.0), ("cpu-serial", 10.0), ("tiled", 0.5))
    assert cell(model, 2, SPEED_UP, TOOLTIP) == "20.0×: 0.500 ms against 10.0 ms of run 2 (cpu-serial)."
    assert [cell(model, row, "baseline_run") for row in range(3)] == ["2", "2", "2"]


def test_that_a_run_can_be_the_baseline_until_another_variant_is(model):
    add(model, ("naive", 2.0), ("naive", 8.0))
    slow = model.results()[1]
    model.use_as_baseline(slow)
    assert model.baseline == "naive"
    assert speed_ups(model) == ["4.00×", "1.00×"]
    add(model, ("tiled", 1.0))
    assert speed_ups(model)[2] == "8.00×"
    model.use_as_baseline(None)
    assert speed_ups(model) == ["1.00×", "4.00× slower", "2.00×"]
    model.use_as_baseline(slow)
    model.set_baseline("tiled")
    assert model.chosen is None
    model.use_as_baseline(slow)
    model.clear()
    assert model.chosen is None
    add(model, ("naive", 8.0), ("naive", 2.0))
    assert speed_ups(model) == ["4.00× slower", "1.00×"]


def test_that_a_baseline_that_arrives_or_changes_later_renews_every_speed_up_and_the_header(qtbot, model):
    add(model, ("tiled", 0.5))
    assert speed_ups(model) == [MISSING]
    with qtbot.waitSignal(model.dataChanged):
        add(model, ("cpu-serial", 20.0))
    assert speed_ups(model) == ["40.0×", "1.00×"]
    with qtbot.waitSignals([model.dataChanged, model.headerDataChanged]):
        model.set_baseline("tiled")
    assert speed_ups(model) == ["1.00×", "40.0× slower"]
    assert "tiled" in model.headerData(model.position(SPEED_UP), Qt.Orientation.Horizontal)


@pytest.mark.parametrize(
    ("result", "word"),
    [
        (make_failure(reason="out of memory. Use a smaller picture."), "failed"),
        (make_unverified(), "not verified"),
        (make_simulated(), "simulated"),
    ],
    ids=["failed", "unverified", "simulated"],
)
def test_that_a_row_without_a_speed_has_a_word_in_its_place_and_its_reason(model, result, word):
    add(model, ("cpu-serial", 20.0))
    model.add(result)
    texts = [cell(model, 1, key) for key in (KERNEL, SPEED_UP, "kernel_p20_ms", "end_to_end_median_ms")]
    assert texts == [word, MISSING, MISSING, MISSING]
    assert all(cell(model, 1, column.key) for column in model.columns)
    if word == "failed":
        # What helps is in the tooltip: here it would be cut.
        assert cell(model, 1, "proof") == "out of memory"
        tooltip = model.index(1, model.position("proof")).data(Qt.ItemDataRole.ToolTipRole)
        assert tooltip == "out of memory. Use a smaller picture."


def test_that_the_tooltip_has_every_number_the_model_of_work_and_the_machine(model):
    model.add(make_result("tiled", 0.04, work=WORK, layout="packed"))
    tooltip = cell(model, 0, KERNEL, TOOLTIP)
    for part in (
        *("(CGMA)", ">25<", "shared loads", "per output value 25", "rows packed"),
        *("p20 0.03760", "minimum 0.03600", "max error", "error bound 3e-06"),
        *("compile", "allocate", "host to device", "kernel", "device to host", "end to end"),
        *("580.65", "H200"),
    ):
        assert part in tooltip


def test_that_a_reason_with_angle_brackets_is_not_taken_for_markup(model):
    model.add(make_failure(reason="<b>no</b>"))
    assert "&lt;b&gt;no" in cell(model, 0, KERNEL, TOOLTIP)


def test_that_numbers_are_on_the_right_and_durations_have_their_unit_in_the_header(model):
    model.add(make_result())
    for at, column in enumerate(model.columns):
        right = bool(int(model.index(0, at).data(Qt.ItemDataRole.TextAlignmentRole)) & 2)
        assert right == column.is_number
    for key in (KERNEL, "kernel_p20_ms", "end_to_end_median_ms"):
        assert model.headerData(model.position(key), Qt.Orientation.Horizontal).endswith(", ms")

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from engine.results.columns import KERNEL, SPEED_UP
from engine.results.quantities import MISSING
from gui.explore.results.results_model import ResultsModel
from gui.widgets.runs_model import RunsOrder
from tests.made_runs import WORK, make_failure, make_result, make_simulated, make_unverified

pytestmark = pytest.mark.usefixtures("qapp")

_ERRORS = QAbstractItemModelTester.FailureReportingMode.Fatal


def cell(model: ResultsModel | RunsOrder, row: int, key: str, role: int = Qt.ItemDataRole.DisplayRole) -> str:
    return str(model.index(row, position(model, key)).data(role))


def position(model: ResultsModel | RunsOrder, key: str) -> int:
    source = model.sourceModel() if isinstance(model, RunsOrder) else model
    return source.position(key)


def column(model: ResultsModel | RunsOrder, key: str) -> list[str]:
    return [cell(model, row, key) for row in range(model.rowCount())]


def test_that_the_model_keeps_to_the_rules_of_qt() -> None:
    model = ResultsModel()
    order = RunsOrder()
    order.setSourceModel(model)
    testers = [QAbstractItemModelTester(model, _ERRORS), QAbstractItemModelTester(order, _ERRORS)]
    for result in (make_result("cpu-serial", 18.0), make_failure(), make_unverified(), make_simulated()):
        model.add(result)
    model.set_baseline("tiled")
    order.sort(position(model, KERNEL))
    model.clear()
    assert model.rowCount() == 0
    assert len(testers) == 2


def test_that_times_are_sorted_as_numbers_and_missing_ones_come_last_in_both_directions() -> None:
    model, order = ResultsModel(), RunsOrder()
    order.setSourceModel(model)
    for result in (make_failure(), make_result(kernel_ms=9.0), make_simulated(), make_result(kernel_ms=10.0)):
        model.add(result)
    model.add(make_result(kernel_ms=0.5))
    order.sort(position(model, KERNEL), Qt.SortOrder.AscendingOrder)
    assert column(order, KERNEL)[:3] == ["0.5000", "9.000", "10.00"]
    order.sort(position(model, KERNEL), Qt.SortOrder.DescendingOrder)
    assert column(order, KERNEL)[:3] == ["10.00", "9.000", "0.5000"]


def test_that_a_speed_up_says_which_run_it_is_against() -> None:
    model = ResultsModel()
    for kernel_ms in (20.0, 10.0):
        model.add(make_result("cpu-serial", kernel_ms))
    model.add(make_result("tiled", 0.5))
    told = cell(model, 2, SPEED_UP, Qt.ItemDataRole.ToolTipRole)
    assert told == "20.0×: 0.500 ms against 10.0 ms of run 2 (cpu-serial)."
    assert column(model, "baseline_run") == ["2", "2", "2"]


def test_that_a_run_can_be_the_baseline_until_another_variant_is() -> None:
    model = ResultsModel()
    runs = [make_result("naive", kernel_ms) for kernel_ms in (2.0, 8.0)]
    for run in runs:
        model.add(run)
    model.use_as_baseline(runs[1])
    assert model.baseline == "naive"
    assert column(model, SPEED_UP) == ["4.00×", "1.00×"]
    model.add(make_result("tiled", 1.0))
    assert cell(model, 2, SPEED_UP) == "8.00×"
    model.use_as_baseline(None)
    assert column(model, SPEED_UP) == ["1.00×", "4.00× slower", "2.00×"]
    model.use_as_baseline(runs[1])
    model.set_baseline("tiled")
    assert model.chosen is None


def test_that_a_baseline_that_arrives_later_fills_the_speed_ups_before_it(qtbot: QtBot) -> None:
    model = ResultsModel()
    model.add(make_result("tiled", 0.5))
    assert column(model, SPEED_UP) == [MISSING]
    with qtbot.waitSignal(model.dataChanged):
        model.add(make_result("cpu-serial", 20.0))
    assert column(model, SPEED_UP) == ["40.0×", "1.00×"]


def test_that_another_baseline_recomputes_every_speed_up_and_its_header(qtbot: QtBot) -> None:
    model = ResultsModel()
    model.add(make_result("cpu-serial", 20.0))
    model.add(make_result("naive", 2.0))
    with qtbot.waitSignals([model.dataChanged, model.headerDataChanged]):
        model.set_baseline("naive")
    assert column(model, SPEED_UP) == ["10.0× slower", "1.00×"]
    assert "naive" in model.headerData(position(model, SPEED_UP), Qt.Orientation.Horizontal)


@pytest.mark.parametrize("result", [make_failure(), make_unverified(), make_simulated()])
def test_that_a_row_without_a_speed_has_neither_a_number_nor_nothing_in_its_place(result: object) -> None:
    model = ResultsModel()
    model.add(make_result("cpu-serial", 20.0))
    model.add(result)  # type: ignore[arg-type]
    texts = [cell(model, 1, key) for key in (KERNEL, SPEED_UP, "kernel_p20_ms", "end_to_end_median_ms")]
    assert texts[1:] == [MISSING] * 3
    assert texts[0] in ("failed", "not verified", "simulated")
    assert all(cell(model, 1, entry.key) for entry in model.columns)


def test_that_a_failed_row_shows_its_reason() -> None:
    model = ResultsModel()
    model.add(make_failure(reason="out of memory. Use a smaller picture."))
    assert cell(model, 0, "proof") == "out of memory. Use a smaller picture."


def test_that_the_tooltip_has_every_number_the_model_of_work_and_the_machine() -> None:
    model = ResultsModel()
    model.add(make_result("tiled", 0.04, work=WORK, layout="packed"))
    tooltip = cell(model, 0, KERNEL, Qt.ItemDataRole.ToolTipRole)
    for part in (
        *("(CGMA)", ">25<", "shared loads", "per output value 25", "rows packed"),
        *("p20 0.03760", "minimum 0.03600", "max error", "error bound 3e-06"),
        "compile",
        "allocate",
        "host to device",
        "kernel",
        "device to host",
        "end to end",
        "580.65",
        "H200",
    ):
        assert part in tooltip


def test_that_a_reason_with_angle_brackets_is_not_taken_for_markup() -> None:
    model = ResultsModel()
    model.add(make_failure(reason="<b>no</b>"))
    assert "&lt;b&gt;no" in cell(model, 0, KERNEL, Qt.ItemDataRole.ToolTipRole)


def test_that_numbers_are_on_the_right_and_durations_have_their_unit_in_the_header() -> None:
    model = ResultsModel()
    model.add(make_result())
    for at, entry in enumerate(model.columns):
        right = bool(int(model.index(0, at).data(Qt.ItemDataRole.TextAlignmentRole)) & 2)
        assert right == entry.is_number
    for key in (KERNEL, "kernel_p20_ms", "end_to_end_median_ms"):
        assert model.headerData(position(model, key), Qt.Orientation.Horizontal).endswith(", ms")

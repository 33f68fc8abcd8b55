from dataclasses import replace

import pytest
from gui.explore.results.results_columns import COLUMNS, POSITION, Key
from PySide6.QtCore import Qt
from PySide6.QtTest import QAbstractItemModelTester
from pytestqt.qtbot import QtBot

from engine.results.quantities import MISSING
from gui.explore.results.results_model import ResultsModel, ResultsOrder
from tests.made_runs import PROBLEM, WORK, make_failure, make_result, make_simulated, make_unverified

pytestmark = pytest.mark.usefixtures("qapp")

_ERRORS = QAbstractItemModelTester.FailureReportingMode.Fatal


def cell(
    model: ResultsModel | ResultsOrder, row: int, key: Key, role: int = Qt.ItemDataRole.DisplayRole
) -> str:
    return str(model.index(row, POSITION[key]).data(role))


def column(model: ResultsModel | ResultsOrder, key: Key) -> list[str]:
    return [cell(model, row, key) for row in range(model.rowCount())]


def test_that_the_model_keeps_to_the_rules_of_qt() -> None:
    model = ResultsModel()
    order = ResultsOrder()
    order.setSourceModel(model)
    testers = [QAbstractItemModelTester(model, _ERRORS), QAbstractItemModelTester(order, _ERRORS)]
    for result in (make_result("cpu-serial", 18.0), make_failure(), make_unverified(), make_simulated()):
        model.add(result)
    model.set_baseline("tiled")
    order.sort(POSITION[Key.KERNEL])
    model.clear()
    assert model.rowCount() == 0
    assert len(testers) == 2


def test_that_times_are_sorted_as_numbers_and_missing_ones_come_last_in_both_directions() -> None:
    model, order = ResultsModel(), ResultsOrder()
    order.setSourceModel(model)
    for result in (make_failure(), make_result(kernel_ms=9.0), make_simulated(), make_result(kernel_ms=10.0)):
        model.add(result)
    model.add(make_result(kernel_ms=0.5))
    order.sort(POSITION[Key.KERNEL], Qt.SortOrder.AscendingOrder)
    assert column(order, Key.KERNEL)[:3] == ["0.5000", "9.000", "10.00"]
    order.sort(POSITION[Key.KERNEL], Qt.SortOrder.DescendingOrder)
    assert column(order, Key.KERNEL)[:3] == ["10.00", "9.000", "0.5000"]


def test_that_a_speed_up_is_only_against_the_same_problem() -> None:
    model = ResultsModel()
    model.add(make_result("cpu-serial", 20.0))
    model.add(make_result("tiled", 0.5))
    model.add(make_result("tiled", 0.5, problem=replace(PROBLEM, width=1024)))
    assert column(model, Key.SPEEDUP) == ["1.00×", "40.0×", MISSING]


def test_that_the_two_layouts_are_told_apart_and_compared_like_with_like() -> None:
    model = ResultsModel()
    model.set_baseline("naive")
    for variant, kernel_ms, layout in (
        ("naive", 2.0, "pitched"),
        ("naive", 3.0, "packed"),
        ("tiled", 1.0, "pitched"),
        ("tiled", 1.0, "packed"),
    ):
        model.add(make_result(variant, kernel_ms, layout=layout))
    model.add(make_result("cpu-serial", 6.0))
    assert column(model, Key.LAYOUT) == ["pitched", "packed", "pitched", "packed", MISSING]
    assert column(model, Key.SPEEDUP) == ["1.00×", "1.00×", "2.00×", "3.00×", "0.500×"]


def test_that_the_tooltip_has_the_model_of_work_and_calls_it_one() -> None:
    model = ResultsModel()
    model.add(make_result("tiled", 0.04, work=WORK, layout="packed"))
    tooltip = cell(model, 0, Key.KERNEL, Qt.ItemDataRole.ToolTipRole)
    for part in ("Model of the work", "(CGMA)", ">25.0<", "shared loads", ">1.60<", "rows packed"):
        assert part in tooltip
    model.add(make_result("tiled", 0.04))
    assert "Model" not in cell(model, 1, Key.KERNEL, Qt.ItemDataRole.ToolTipRole)


def test_that_a_baseline_that_arrives_later_fills_the_speed_ups_before_it(qtbot: QtBot) -> None:
    model = ResultsModel()
    model.add(make_result("tiled", 0.5))
    assert column(model, Key.SPEEDUP) == [MISSING]
    with qtbot.waitSignal(model.dataChanged):
        model.add(make_result("cpu-serial", 20.0))
    assert column(model, Key.SPEEDUP) == ["40.0×", "1.00×"]


def test_that_another_baseline_recomputes_every_speed_up_and_its_header(qtbot: QtBot) -> None:
    model = ResultsModel()
    model.add(make_result("cpu-serial", 20.0))
    model.add(make_result("naive", 2.0))
    with qtbot.waitSignals([model.dataChanged, model.headerDataChanged]):
        model.set_baseline("naive")
    assert column(model, Key.SPEEDUP) == ["0.100×", "1.00×"]
    assert "naive" in model.headerData(POSITION[Key.SPEEDUP], Qt.Orientation.Horizontal)


@pytest.mark.parametrize("result", [make_failure(), make_unverified(), make_simulated()])
def test_that_a_row_without_a_speed_has_neither_a_number_nor_nothing_in_its_place(result: object) -> None:
    model = ResultsModel()
    model.add(make_result("cpu-serial", 20.0))
    model.add(result)  # type: ignore[arg-type]
    texts = [cell(model, 1, key) for key in (Key.KERNEL, Key.SPEEDUP, Key.SPREAD, Key.END_TO_END)]
    assert texts[1:] == [MISSING] * 3
    assert texts[0] in ("failed", "not verified", "simulated")
    assert all(cell(model, 1, entry.key) for entry in COLUMNS)


def test_that_a_failed_row_shows_its_reason() -> None:
    model = ResultsModel()
    model.add(make_failure(reason="out of memory. Use a smaller picture."))
    assert cell(model, 0, Key.STATUS) == "out of memory. Use a smaller picture."


def test_that_the_tooltip_has_the_whole_breakdown_and_the_machine() -> None:
    model = ResultsModel()
    model.add(make_result("tiled", 0.04))
    tooltip = cell(model, 0, Key.KERNEL, Qt.ItemDataRole.ToolTipRole)
    for part in (
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
    assert "&lt;b&gt;no" in cell(model, 0, Key.KERNEL, Qt.ItemDataRole.ToolTipRole)


def test_that_numbers_are_on_the_right_and_durations_have_their_unit_in_the_header() -> None:
    model = ResultsModel()
    model.add(make_result())
    for position, entry in enumerate(COLUMNS):
        right = bool(int(model.index(0, position).data(Qt.ItemDataRole.TextAlignmentRole)) & 2)
        assert right == entry.numeric
    for key in (Key.KERNEL, Key.SPREAD, Key.END_TO_END):
        assert model.headerData(POSITION[key], Qt.Orientation.Horizontal).endswith(", ms")

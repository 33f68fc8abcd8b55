from typing import Any

from bench.check import checked, report
from bench.peers.cells import Cell
from bench.peers.history import Fall, append, compared, falls, last_of, line_of, ratios_of
from tests.bench.made_runs import CELLS, entry, make_run

FIRST, SECOND = CELLS
RECORDED = {
    FIRST.key: {"opencv filter2D": 2.0, "npp filter": 3.0},
    SECOND.key: {"opencv filter2D": 4.0},
    "a cell of the full grid": {"opencv filter2D": 9.0},
}


class Measured:
    """Gives made-up times of `auto` against peers that take 1 ms, one answer after another."""

    def __init__(self, *answers: dict[Cell, dict[str, float | str]]) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[list[Cell], set[str]]] = []

    def cells(self, cells: list[Cell], methods: set[str]) -> dict[str, dict[str, Any]]:
        self.asked.append((cells, methods))
        answer = self._answers.pop(0)
        return {cell.key: entry(cell, **answer[cell]) for cell in cells}


def at(ratio: float, **more: float | str) -> dict[str, float | str]:
    return {"haloscope_auto": 1.0, "opencv_filter2D": ratio} | more


def test_that_a_line_of_the_history_has_ratios_and_no_times():
    line = line_of(make_run())
    assert line["ratios"] == {
        FIRST.key: {"opencv filter2D": 2.5},
        SECOND.key: {"opencv filter2D": 2.0, "npp filter": 0.5},
    }
    assert line["device"] == "a CPU, 2 cores"
    assert line["versions"]["haloscope"] == {"numba": "1"}
    assert "_ms" not in str(line)


def test_that_the_last_line_of_the_same_device_counts(tmp_path):
    history = tmp_path / "history.jsonl"
    assert last_of("A", 2, history) is None
    for device, threads, commit in (("A", 2, "1"), ("A", 2, "2"), ("B", 2, "3"), ("A", 4, "4")):
        append({"device": device, "threads": threads, "commit": commit}, history)
    found = last_of("A", 2, history)
    assert found["commit"] == "2"
    assert last_of("B", 4, history) is None


def test_that_a_fall_is_more_than_a_tenth():
    recorded = {"c": {"p": 10.0, "q": 10.0, "r": 10.0, "gone": 10.0}}
    measured = {"c": {"p": 9.01, "q": 8.99, "r": 12.0, "new": 1.0}}
    assert falls(recorded, measured) == [Fall("c", "q", 10.0, 8.99)]
    assert compared(recorded, measured) == 3


def test_that_nothing_falls_where_ratios_stay():
    measured = Measured({FIRST: at(1.9, npp_filter=3.3), SECOND: at(4.0)})
    outcome = checked(RECORDED, (FIRST, SECOND, Cell(8, 8, 3)), measured)
    assert (outcome.falls, outcome.forgiven, outcome.broken) == ([], [], [])
    assert outcome.compared == 3
    # Only recorded cells, and only those who matter in them.
    ((cells, methods),) = measured.asked
    assert cells == [FIRST, SECOND]
    assert methods == {"haloscope auto", "limit copy", "opencv filter2D", "npp filter"}


def test_that_a_fall_is_measured_once_more_and_told_if_it_stays_and_is_noise_if_not():
    first = {FIRST: at(1.0, npp_filter=3.0), SECOND: at(4.0)}
    fall = Fall(FIRST.key, "opencv filter2D", 2.0, 1.0)
    measured = Measured(first, {FIRST: at(1.1, npp_filter=2.9)})
    outcome = checked(RECORDED, CELLS, measured)
    assert outcome.falls == [Fall(FIRST.key, "opencv filter2D", 2.0, 1.1)]
    assert [cells for cells, _ in measured.asked] == [[FIRST, SECOND], [FIRST]]
    lines = report(outcome, RECORDED)
    assert [line for line in lines if "fell by more than a tenth" in line and "opencv" in line]
    outcome = checked(RECORDED, CELLS, Measured(first, {FIRST: at(2.0, npp_filter=1.0)}))
    assert (outcome.falls, outcome.forgiven) == ([], [fall])
    assert any("better when repeated" in line for line in report(outcome, RECORDED))


def test_that_a_result_that_is_no_longer_verified_is_no_silence():
    broken: dict[str, float | str] = {"haloscope_auto": "not verified: row 1", "opencv_filter2D": 2.0}
    outcome = checked(RECORDED, CELLS, Measured({FIRST: broken, SECOND: at(4.0)}))
    assert outcome.broken == [f"{FIRST.key}: not verified: row 1"]
    assert outcome.compared == 1


def test_that_ratios_come_from_cells_that_have_both():
    assert ratios_of({"c": entry(FIRST, haloscope_auto=1.0)}) == {}

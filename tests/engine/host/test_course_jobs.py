"""What the host does for the course material, in this process, with stand-ins for the engine's tables."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from engine.course.paper import Cell, CourseTable
from engine.errors import Cancelled
from engine.host.course_jobs import count_course, measure_course, save_course
from engine.host.messages import Progress
from engine.host.protocol import CountCourse, MeasureCourse, SaveCourse
from engine.host.request import QueuePolicy

TABLES = (CourseTable("Loads", ("Tile", "Loads"), ((Cell("8"), Cell("12", "12")),)),)
CELLS = ("512, naive", "1024, naive")


class Asked:
    """Stand-ins for the engine's tables that take notes."""

    def __init__(self) -> None:
        self.papers: list[tuple[str, str]] = []
        self.cells: list[str] = []

    def counted_tables(self, paper: str) -> tuple[CourseTable, ...]:
        self.papers.append((paper, ""))
        return TABLES

    def tables_of(
        self, paper: str, device: str = "auto", *, on_progress: Callable[[str, float, float], None]
    ) -> tuple[CourseTable, ...]:
        self.papers.append((paper, device))
        for number, cell in enumerate(CELLS):
            on_progress(cell, number / len(CELLS), 7.0 + number)
            self.cells.append(cell)
        return TABLES


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    asked = Asked()
    for name in ("tables", "measure"):
        module = ModuleType(f"engine.course.{name}")
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(
        sys.modules["engine.course.tables"], "counted_tables", asked.counted_tables, raising=False
    )
    monkeypatch.setattr(sys.modules["engine.course.measure"], "tables_of", asked.tables_of, raising=False)
    return asked


def test_that_counting_asks_for_the_paper(asked: Asked) -> None:
    assert count_course(CountCourse("report"), lambda step: None) == TABLES
    assert asked.papers == [("report", "")]


def test_that_measuring_tells_each_cell_and_how_far_it_is(asked: Asked) -> None:
    steps: list[Progress] = []
    assert measure_course(MeasureCourse("report", "cuda:1"), steps.append) == TABLES
    assert asked.papers == [("report", "cuda:1")]
    assert [(step.stage, step.fraction) for step in steps[1:]] == [("512, naive", 0.0), ("1024, naive", 0.5)]
    assert [step.expected_s for step in steps[1:]] == [7.0, 8.0]


def test_that_a_request_that_was_stopped_ends_between_two_cells(asked: Asked) -> None:
    def report(step: Progress) -> None:
        if step.stage == CELLS[1]:
            raise Cancelled("The request", "it was stopped")

    with pytest.raises(Cancelled):
        measure_course(MeasureCourse("report"), report)
    assert asked.cells == [CELLS[0]]


def test_that_tables_are_not_for_the_simulators_process() -> None:
    assert not MeasureCourse("report").wants_simulator
    assert not CountCourse("report").wants_simulator


def test_that_counting_is_answered_at_once_because_it_is_quick() -> None:
    assert CountCourse.queue is QueuePolicy.AT_ONCE
    assert MeasureCourse.queue is SaveCourse.queue is QueuePolicy.IN_ORDER


def test_that_saved_files_hold_the_tables_that_were_shown(tmp_path: Path) -> None:
    folder = tmp_path / "report-tables"
    saved = save_course(SaveCourse("report", TABLES, str(folder)), lambda step: None)
    assert saved.path == str(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["report-table-1.csv", "report.md"]
    assert "report.md" in saved.notes[0]
    assert "## Loads" in (folder / "report.md").read_text()

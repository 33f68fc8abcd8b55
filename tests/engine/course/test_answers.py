"""What the host answers about the course: measured tables, and the files that they are saved as."""

import pytest

from engine.course import bench, tables
from engine.course.paper import Cell, CourseTable
from engine.course.papers import CountCourse, CourseCode, MeasureCourse, MeasuredPaper, SaveCourse, paper
from engine.errors import Cancelled
from engine.explain.counting import _kept
from engine.results.problem import Progress

TABLES = (CourseTable("Loads", ("Tile", "Loads"), ((Cell("8"), Cell("12", "12")),)),)


def stop(step):
    raise Cancelled("The request", "it was stopped")


def test_that_measuring_tells_each_cell_before_which_it_can_be_stopped(monkeypatch):
    def measured_paper(paper, device, *, checkpoint):
        assert (paper, device) == ("report", "cuda:1")
        checkpoint(Progress("512, naive", 0.5, 7.0))
        return MeasuredPaper(TABLES)

    monkeypatch.setattr("engine.course.bench.measured_paper", measured_paper)
    asked, steps = MeasureCourse("report", "cuda:1"), []
    assert bench.measure_course(asked, steps.append).tables == TABLES
    assert steps[1:] == [Progress("512, naive", 0.5, 7.0)]
    with pytest.raises(Cancelled):
        bench.measure_course(asked, stop)


def test_that_saved_files_hold_the_tables_that_were_shown(tmp_path):
    folder = tmp_path / "report-tables"
    saved = bench.save_course(SaveCourse("report", TABLES, str(folder)), lambda step: None)
    assert saved.path == str(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["report-table-1.csv", "report.md"]
    assert "report.md" in saved.notes[0]
    assert "## Loads" in (folder / "report.md").read_text()


def test_that_counting_can_be_stopped():
    # Nothing that was counted before is counted again.
    _kept.clear()
    with pytest.raises(Cancelled):
        tables.describe(CountCourse("performance"), stop)


def test_that_the_code_of_each_kernel_of_a_paper_is_told():
    code = tables.course_code(CourseCode("report"), lambda step: None)
    assert [one[0].about for one in code] == [kernel.name for kernel in paper("report").kernels]

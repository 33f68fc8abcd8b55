"""Answers what the page on the course asks.

Called on: the host's main thread; `describe` and `course_code` on the one that reads the pipe.
"""

from engine.course.messages import (
    CountCourse,
    CourseCode,
    CourseRequest,
    MeasureCourse,
    MeasuredPaper,
    SaveCourse,
)
from engine.course.paper import CourseTable, Excerpt
from engine.course.papers import paper
from engine.course.tables import counted_tables, kernels_of
from engine.files.atomic_write import make_folder
from engine.host.protocol import Saved
from engine.results.problem import Checkpoint, Progress

# The first request loads the code that measures.
LOADING_S = 5.0


def describe(request: CourseRequest, report: Checkpoint) -> tuple[CourseTable, ...]:
    """Return a paper's tables with what the models of work say."""
    return counted_tables(request.paper)


def count_course(request: CountCourse, report: Checkpoint) -> tuple[CourseTable, ...]:
    """Return them with the kernels' transactions; a cancelled request ends between two steps of counting."""
    return counted_tables(request.paper, report)


def course_code(request: CourseCode, report: Checkpoint) -> tuple[tuple[Excerpt, ...], ...]:
    """Return the code of a paper's kernels."""
    return tuple(map(kernels_of, paper(request.paper).kernels))


def measure_course(request: MeasureCourse, report: Checkpoint) -> MeasuredPaper:
    """Measure a paper's tables; a cancelled request ends between two cells."""
    # What measures loads every device's code: counting is quicker without.
    from engine.course.bench import measured_paper

    report(Progress("preparing the paper's tables", 0.0, LOADING_S))
    return measured_paper(request.paper, request.device, checkpoint=report)


def save_course(request: SaveCourse, report: Checkpoint) -> Saved:
    """Write a paper's tables and figures into a folder."""
    # matplotlib, which draws the figures, takes a second to load.
    report(Progress("saving the paper's tables", 0.0, 10.0))
    from engine.course import bench, files

    make_folder(request.folder)
    machine = bench.machine_lines(request.device)
    names = files.write_paper(request.folder, paper(request.paper), request.tables, machine)
    return Saved(request.folder, (f"{len(names)} files: {', '.join(names)}.",))

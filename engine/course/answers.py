"""Answers what the page on the course asks. Called on: the host's main thread; counting on the pipe's."""

from engine.course.messages import CourseRequest, SaveCourse
from engine.course.paper import CourseTable
from engine.course.papers import paper
from engine.course.tables import counted_tables
from engine.files.output_checks import make_folder
from engine.host.protocol import Saved
from engine.host.verbs import Describe, Run
from engine.results.progress import Checkpoint, Progress

# The first request loads the code that measures.
LOADING_S = 5.0


def describe(request: Describe[CourseRequest], report: Checkpoint) -> tuple[CourseTable, ...]:
    """Return a paper's tables with what can be counted."""
    return counted_tables(request.job.paper)


def run(request: Run[CourseRequest], report: Checkpoint) -> tuple[CourseTable, ...]:
    """Measure a paper's tables; a cancelled request ends between two cells."""
    # What measures loads every device's code: counting is quicker without.
    from engine.course.measure import tables_of

    def report_cell(text: str, fraction: float, expected_s: float) -> None:
        report(Progress(text, fraction, expected_s))

    report_cell("preparing the paper's tables", 0.0, LOADING_S)
    return tables_of(request.job.paper, request.job.device, on_progress=report_cell)


def save_course(request: SaveCourse, report: Checkpoint) -> Saved:
    """Write a paper's tables and figures into a folder."""
    # matplotlib, which draws the figures, takes a second to load.
    report(Progress("saving the paper's tables", 0.0, 10.0))
    from engine.course import bench, files

    make_folder(request.folder)
    machine = bench.machine_lines(request.device)
    names = files.write_paper(request.folder, paper(request.paper), request.tables, machine)
    return Saved(request.folder, (f"{len(names)} files: {', '.join(names)}.",))

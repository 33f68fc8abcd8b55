"""All tables of a paper with what can be counted, and our code beside them.

Lines of code are found in the sources by the texts that they have, so that no number has to be kept.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial

import numpy as np

from engine.course import cnn, convolution_lecture, convolution_papers, papers, performance_lecture, runs
from engine.course.jobs import job_of
from engine.course.paper import Cell, CodePlace, CourseKernel, CourseTable, Excerpt, TableText
from engine.explain.code_lines import SourceFunction
from engine.explain.counting import counted_run
from engine.explain.examples import example_of, variant_named
from engine.explain.kernel_code import function_source, source_of
from engine.files.atomic_write import make_folder
from engine.host.protocol import Saved
from engine.results.problem import Checkpoint, Progress

_HEADING = "In our code"


def with_excerpts(table: CourseTable, text: TableText) -> CourseTable:
    """Return a table of words with a last column: where our code does what each row is about."""
    names = [row[0].printed for row in table.rows]
    found = tuple(tuple(_excerpt(name, place) for place in text.code.get(name, ())) for name in names)
    cells = (Cell("", "; ".join(f"`{one.code}`: {one.where}" for one in of_row)) for of_row in found)
    rows = tuple((*row, cell) for row, cell in zip(table.rows, cells, strict=True))
    return replace(table, headings=(*table.headings, _HEADING), rows=rows, excerpts=found)


def kernels_of(kernel: CourseKernel) -> tuple[Excerpt, ...]:
    """Return our kernels behind a paper's."""
    return tuple(Excerpt(kernel.name, *one) for one in _kernels(kernel.variant))


def _kernels(key: str) -> list[tuple[str, SourceFunction]]:
    """Return the kernels of a variant by its key, with the name of each where it has several."""
    found = source_of(example_of(variant_named(key))).kernels
    return [(f"{key}: {one.name}" if len(found) > 1 else key, one) for one in found]


@cache
def _excerpt(about: str, place: CodePlace) -> Excerpt:
    """Return the function of a place with its lit lines: of a variant the first kernel with all its texts."""
    module, _, name = place.code.partition(":")
    if name:
        function = function_source(module, name)
        code = function.name
    else:
        kernels = _kernels(place.code)
        has_all = (one for one in kernels if all(text in one[1].text for text in place.lit))
        code, function = next(has_all, kernels[0])
    lit = tuple(at for at, line in enumerate(function.lines) if any(text in line for text in place.lit))
    return Excerpt(about, code, function, lit)


# What a warp asks for does not depend on how many rows a matrix has, nor on how many drawings there are.
MOST_SIDE, MOST_DRAWINGS = 256, 16


def transactions_per_request(run: runs.JobRun, checkpoint: Checkpoint = lambda step: None) -> runs.Quantity:
    """Return the 128-byte transactions of a request to global memory, or why they are not counted.

    The checkpoint is called while they are counted, and may raise to stop.
    """
    match run:
        case runs.ProductRun():
            run = replace(run, side=min(run.side, MOST_SIDE))
        case runs.NetworkRun():
            run = replace(run, batch=min(run.batch, MOST_DRAWINGS))
    # Accesses do not depend on samples: one stands for all.
    job = job_of(run, lambda side: np.broadcast_to(np.float32(0.0), (side, side, 1)))
    found = counted_run(job, checkpoint)
    if found.not_counted is not None:
        return runs.Quantity(reason=found.not_counted.short)
    return runs.Quantity(found.transactions_per_request)


# What is measured for a paper is what its tables ask for, in that order: a size's runs one after another.
_TABLES: dict[str, Callable[[runs.Results, runs.Sizes], runs.Tables]] = {
    "report": convolution_papers.report_tables,
    "cnn": cnn.tables,
    "lab": convolution_papers.lab_tables,
    "convolution": convolution_lecture.tables,
    "performance": performance_lecture.tables,
}


def tables_of(paper_key: str, results: runs.Results, sizes: runs.Sizes = None) -> tuple[CourseTable, ...]:
    """Return a paper's tables as far as there are results, with our code where a table names some."""
    chosen, found = papers.paper(paper_key), []
    for text, told in zip(papers.TABLE_TEXTS[chosen], _TABLES[chosen.key](results, sizes), strict=True):
        table = runs.course_table(text, told)
        found.append(with_excerpts(table, text) if text.code else table)
    return tuple(found)


def counted_tables(paper_key: str, checkpoint: Checkpoint | None = None) -> tuple[CourseTable, ...]:
    """Return a paper's tables with the printed values and those of the models of work; raises UnknownName.

    With a checkpoint the transactions of the kernels are counted too, which takes up to 3 s.
    """
    results = runs.Results({})
    if checkpoint is not None:
        results = runs.Results({}, partial(transactions_per_request, checkpoint=checkpoint))
    return tables_of(paper_key, results)


# What the page on the course asks, on the host's main thread; counts alone and code on the one that reads
# the pipe.


def describe(request: papers.CourseRequest, report: Checkpoint) -> tuple[CourseTable, ...]:
    """Return a paper's tables; a cancelled request ends between two steps of counting transactions."""
    return counted_tables(request.paper, report if isinstance(request, papers.CountCourse) else None)


def course_code(request: papers.CourseCode, report: Checkpoint) -> tuple[tuple[Excerpt, ...], ...]:
    """Return the code of a paper's kernels."""
    return tuple(map(kernels_of, papers.paper(request.paper).kernels))


def measure_course(request: papers.MeasureCourse, report: Checkpoint) -> papers.MeasuredPaper:
    """Measure a paper's tables; a cancelled request ends between two cells."""
    # What measures loads every device's code, at the first request: counting is quicker without.
    from engine.course.bench import measured_paper

    report(Progress("preparing the paper's tables", 0.0, 5.0))
    return measured_paper(request.paper, request.device, checkpoint=report)


def save_course(request: papers.SaveCourse, report: Checkpoint) -> Saved:
    """Write a paper's tables and figures into a folder."""
    # matplotlib, which draws the figures, takes a second to load.
    report(Progress("saving the paper's tables", 0.0, 10.0))
    from engine.course import bench, files

    make_folder(request.folder)
    machine = bench.machine_lines(request.device)
    names = files.write_paper(request.folder, papers.paper(request.paper), request.tables, machine)
    return Saved(request.folder, (f"{len(names)} files: {', '.join(names)}.",))

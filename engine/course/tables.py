"""All tables of a paper with what can be counted, and our code beside them.

Lines of code are found in the sources by the texts that they have, so that no number has to be kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from engine.course import cnn, convolution_lecture, lab, performance_lecture, report
from engine.course.jobs import job_of
from engine.course.paper import Cell, CodePlace, CourseKernel, CourseTable, Excerpt, TableText
from engine.course.papers import TABLE_TEXTS, paper
from engine.course.runs import (
    JobRun,
    NetworkRun,
    ProductRun,
    Quantity,
    Results,
    Sizes,
    Tables,
    course_table,
    not_counted,
)
from engine.explain.code_lines import SourceFunction
from engine.explain.counting import counted_run
from engine.explain.examples import example_of, variant_named
from engine.explain.kernel_code import function_source, source_of
from engine.results.problem import Checkpoint

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
    found = source_of(example_of(variant_named(kernel.variant))).kernels
    return tuple(Excerpt(kernel.name, _called(kernel.variant, one, found), one) for one in found)


@cache
def _excerpt(about: str, place: CodePlace) -> Excerpt:
    """Return the function of a place with its lit lines: of a variant the first kernel with all its texts."""
    module, _, name = place.code.partition(":")
    if name:
        function = function_source(module, name)
        code = function.name
    else:
        kernels = source_of(example_of(variant_named(place.code))).kernels
        has_all = (one for one in kernels if all(text in one.text for text in place.lit))
        function = next(has_all, kernels[0])
        code = _called(place.code, function, kernels)
    lit = tuple(at for at, line in enumerate(function.lines) if any(text in line for text in place.lit))
    return Excerpt(about, code, function, lit)


def _called(key: str, function: SourceFunction, kernels: Sequence[SourceFunction]) -> str:
    """Return the key of a variant, with the name of a kernel where it has several."""
    return f"{key}: {function.name}" if len(kernels) > 1 else key


# What a warp asks for does not depend on how many rows a matrix has, nor on how many drawings there are.
MOST_SIDE, MOST_DRAWINGS = 256, 16


def transactions_per_request(run: JobRun, checkpoint: Checkpoint = lambda step: None) -> Quantity:
    """Return the 128-byte transactions of a request to global memory, or why they are not counted.

    The checkpoint is called while they are counted, and may raise to stop.
    """
    match run:
        case ProductRun():
            run = replace(run, side=min(run.side, MOST_SIDE))
        case NetworkRun():
            run = replace(run, batch=min(run.batch, MOST_DRAWINGS))
    # Accesses do not depend on samples: one stands for all.
    job = job_of(run, lambda *sides: np.broadcast_to(np.float32(0.0), (*sides, 1)))
    found = counted_run(job, checkpoint)
    if found.not_counted is not None:
        return Quantity(reason=found.not_counted.short)
    return Quantity(found.transactions_per_request)


# What is measured for a paper is what its tables ask for, in that order: a size's runs one after another.
_TABLES: dict[str, Callable[[Results, Sizes], Tables]] = {
    "report": report.tables,
    "cnn": cnn.tables,
    "lab": lab.tables,
    "convolution": convolution_lecture.tables,
    "performance": performance_lecture.tables,
}


def tables_of(paper_key: str, results: Results, sizes: Sizes = None) -> tuple[CourseTable, ...]:
    """Return a paper's tables as far as there are results, with our code where a table names some."""
    chosen, found = paper(paper_key), []
    for text, told in zip(TABLE_TEXTS[chosen], _TABLES[chosen.key](results, sizes), strict=True):
        table = course_table(text, told)
        found.append(with_excerpts(table, text) if text.code else table)
    return tuple(found)


def counted_tables(paper_key: str, checkpoint: Checkpoint | None = None) -> tuple[CourseTable, ...]:
    """Return a paper's tables with the printed values and those of the models of work; raises UnknownName.

    With a checkpoint the transactions of the kernels are counted too, which takes up to 3 s.
    """
    counting = partial(transactions_per_request, checkpoint=checkpoint) if checkpoint else not_counted
    return tables_of(paper_key, Results({}, counting))

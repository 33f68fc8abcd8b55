"""All tables of a paper with what can be counted, and our code beside them.

Lines of code are found in the sources by the texts that they have, so that no number has to be kept.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Protocol

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
    Run,
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
    found = tuple(
        tuple(_excerpt(row[0].printed, place) for place in text.code.get(row[0].printed, ()))
        for row in table.rows
    )
    cells = (Cell("", "; ".join(f"`{one.code}`: {one.where}" for one in of_row)) for of_row in found)
    rows = tuple((*row, cell) for row, cell in zip(table.rows, cells, strict=True))
    return replace(table, headings=(*table.headings, _HEADING), rows=rows, excerpts=found)


def kernels_of(kernel: CourseKernel) -> tuple[Excerpt, ...]:
    """Return our kernels behind a paper's."""
    found = source_of(example_of(variant_named(kernel.variant))).kernels
    return tuple(Excerpt(kernel.name, _called(kernel.variant, one, found), one) for one in found)


@cache
def _excerpt(about: str, place: CodePlace) -> Excerpt:
    function, code = _function(place)
    lit = tuple(at for at, line in enumerate(function.lines) if any(text in line for text in place.lit))
    return Excerpt(about, code, function, lit)


def _function(place: CodePlace) -> tuple[SourceFunction, str]:
    """Return the function of a place, and what it is called: of a variant's the first with all its texts."""
    module, _, name = place.code.partition(":")
    if name:
        function = function_source(module, name)
        return function, function.name
    kernels = source_of(example_of(variant_named(place.code))).kernels
    has_all = (one for one in kernels if all(text in one.text for text in place.lit))
    function = next(has_all, kernels[0])
    return function, _called(place.code, function, kernels)


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


class PaperTables(Protocol):
    """What such a module has; `sizes` are sides of pictures or matrices, None for the paper's own."""

    def runs(self, sizes: tuple[int, ...] | None) -> tuple[Run, ...]:
        """Return what is measured, in an order that keeps a picture as long as it is needed."""

    def tables(self, results: Results, sizes: tuple[int, ...] | None) -> Tables:
        """Return the paper's tables; cells without a result say why."""


_MODULES: dict[str, PaperTables] = {
    "report": report,
    "cnn": cnn,
    "lab": lab,
    "convolution": convolution_lecture,
    "performance": performance_lecture,
}


def tables_module(paper_key: str) -> PaperTables:
    """Return what makes the tables of a paper."""
    return _MODULES[paper(paper_key).key]


def tables_of(
    paper_key: str, results: Results, sizes: tuple[int, ...] | None = None
) -> tuple[CourseTable, ...]:
    """Return a paper's tables as far as there are results, with our code where a table names some."""
    found, texts = [], TABLE_TEXTS[paper(paper_key)]
    for number, part in enumerate(tables_module(paper_key).tables(results, sizes)):
        whole = part if isinstance(part, CourseTable) else course_table(paper(paper_key), number, part)
        found.append(with_excerpts(whole, texts[number]) if texts[number].code else whole)
    return tuple(found)


def counted_tables(paper_key: str, checkpoint: Checkpoint | None = None) -> tuple[CourseTable, ...]:
    """Return a paper's tables with the printed values and those of the models of work; raises UnknownName.

    With a checkpoint the transactions of the kernels are counted too, which takes up to 3 s.
    """
    counting = partial(transactions_per_request, checkpoint=checkpoint) if checkpoint else not_counted
    return tables_of(paper_key, Results({}, counting))

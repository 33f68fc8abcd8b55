"""Which module makes the tables of which paper; and all tables of a paper with what can be counted."""

from dataclasses import replace
from functools import partial
from typing import Protocol

import numpy as np

from engine.course import cnn, convolution_lecture, lab, performance_lecture, report
from engine.course.excerpts import with_excerpts
from engine.course.jobs import job_of
from engine.course.paper import CourseTable
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
from engine.explain.counts.counting import counted_run
from engine.results.progress import Checkpoint

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

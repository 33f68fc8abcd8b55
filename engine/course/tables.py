"""Which module makes the tables of which paper; and all tables of a paper with what can be counted."""

from functools import partial
from typing import Protocol

from engine.course import cnn, convolution_lecture, lab, performance_lecture, report
from engine.course.paper import CourseTable
from engine.course.papers import paper
from engine.course.runs import Results, Run
from engine.course.transactions import transactions_per_request
from engine.results.progress import Checkpoint


class PaperTables(Protocol):
    """What such a module has; `sizes` are sides of pictures or matrices, None for the paper's own."""

    def runs(self, sizes: tuple[int, ...] | None) -> tuple[Run, ...]:
        """Return what is measured, in an order that keeps a picture as long as it is needed."""

    def tables(self, results: Results, sizes: tuple[int, ...] | None) -> tuple[CourseTable, ...]:
        """Return the paper's tables in its order; cells without a result say why."""


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


def counted_tables(paper_key: str) -> tuple[CourseTable, ...]:
    """Return a paper's tables with the printed values and those of the models of work; raises UnknownName."""
    return tables_module(paper_key).tables(Results({}), None)


def tables_with_transactions(paper_key: str, checkpoint: Checkpoint) -> tuple[CourseTable, ...]:
    """Return these with the transactions of the kernels, whose counting takes up to 3 s."""
    counting = partial(transactions_per_request, checkpoint=checkpoint)
    return tables_module(paper_key).tables(Results({}, counting), None)

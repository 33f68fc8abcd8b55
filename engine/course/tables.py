"""Which module makes the tables of which paper; and all tables of a paper with what can be counted."""

from functools import partial
from typing import Protocol

import numpy as np

from engine.course import cnn, convolution_lecture, lab, performance_lecture, report
from engine.course.paper import CourseTable
from engine.course.papers import paper
from engine.course.runs import FilterRun, NetworkRun, ProductRun, Quantity, Results, Run
from engine.explain.counts.counting import counted_run
from engine.results.progress import Checkpoint
from engine.run.task import AnyJob
from engine.tasks.network.stages import stage_job
from engine.tasks.network.variants import network_variant
from engine.tasks.product.task import product_job
from engine.tasks.product.variants import matmul_variant
from engine.work.filtering.variants import variant
from engine.work.resolve import Resolved

# What a warp asks for does not depend on how many rows a matrix has, nor on how many drawings there are.
MOST_SIDE, MOST_DRAWINGS = 256, 16


def transactions_per_request(run: Run, checkpoint: Checkpoint = lambda step: None) -> Quantity:
    """Return the 128-byte transactions of a request to global memory, or why they are not counted.

    The checkpoint is called while they are counted, and may raise to stop.
    """
    found = counted_run(_job(run), checkpoint)
    if found.not_counted is not None:
        return Quantity(reason=found.not_counted.short)
    return Quantity(found.transactions_per_request)


def _job(run: Run) -> AnyJob:
    """Return what is counted; it does not depend on samples: one stands for all."""
    match run:
        case FilterRun():
            chosen = variant(run.variant)
            resolved = Resolved(run, _zeros(run.height, run.width, 1))
            return resolved.job_by(chosen, chosen.block_for(run.block))
        case ProductRun():
            matrix = _zeros(*(min(run.side, MOST_SIDE),) * 2)
            return product_job(matmul_variant(run.variant), run.tile, matrix, matrix)
        case NetworkRun():
            return stage_job(network_variant(run.stage), min(run.batch, MOST_DRAWINGS))
    raise TypeError(f"{run.label} has no kernel")


def _zeros(*shape: int) -> np.ndarray:
    return np.broadcast_to(np.float32(0.0), shape)


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

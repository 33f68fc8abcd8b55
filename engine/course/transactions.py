"""Transactions per request of a kernel: counted from its source, without a device."""

import numpy as np

from engine.course.cells import Quantity
from engine.course.runs import FilterRun
from engine.explain.counts.counting import counted_run
from engine.run.task import Choice
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.task import filter_job
from engine.tasks.filtering.variants import variant


def transactions_per_request(run: FilterRun) -> Quantity:
    """Return the 128-byte transactions of a request to global memory, or why they are not counted."""
    mask, chosen = run.mask, variant(run.variant)
    problem = Problem(run.height, run.width, mask_shape=mask.shape, anchor=mask.anchor)
    # The counts do not depend on the picture: one sample stands for all.
    samples = np.broadcast_to(np.float32(0.0), (run.height, run.width, 1))
    choice = Choice(chosen, chosen.block_for(run.block))
    found = counted_run(filter_job(choice, problem, mask, samples, layout=run.layout))
    if found.not_counted is not None:
        return Quantity(reason=found.not_counted.short)
    return Quantity(found.transactions_per_request)

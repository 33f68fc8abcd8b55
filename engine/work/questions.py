"""Answers what is asked of a kernel or a chain beside its run. Called on: the thread that reads the pipe."""

from dataclasses import replace

from engine.results.progress import Checkpoint
from engine.work.filtering.sum_order import SumOrder
from engine.work.filtering.variants import variant
from engine.work.messages import (
    SumOrderRequest,
)
from engine.work.resolved_job import resolved_job


def sum_order(request: SumOrderRequest, report: Checkpoint) -> SumOrder:
    """Return the order of the sums of a job, whose variant can do it."""
    resolved, chosen = resolved_job(request.job), variant(request.job.variant, takes_auto=False)
    problem, mask = resolved.problem, resolved.constant
    if request.reads_floats:
        problem = problem.of_type("float32")
    order = chosen.sum_order(problem, mask)
    if order.is_known:
        return order
    return replace(order, added_error=chosen.added_to(problem, mask, resolved.samples))

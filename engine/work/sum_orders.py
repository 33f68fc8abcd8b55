"""Answers in which order a kernel adds up a result. Called on: the thread that reads the pipe."""

from dataclasses import replace

from engine.host.verbs import Describe
from engine.mask.mask import Mask
from engine.results.progress import Checkpoint
from engine.work.filtering.problem import Problem
from engine.work.filtering.sum_order import SumOrder
from engine.work.filtering.variants import variant
from engine.work.messages import SumOrderRequest
from engine.work.resolved_job import resolved_job


def describe(request: Describe[SumOrderRequest], report: Checkpoint) -> SumOrder:
    """Return the order of the sums of a job, whose variant can do it."""
    job = request.job.job
    resolved = resolved_job(job)
    problem, mask = resolved.problem, resolved.constant
    if request.job.reads_floats:
        problem = replace(problem, dtype="float32")
    order = sum_order_of(job.variant, problem, mask)
    if order.is_known:
        return order
    chosen = variant(job.variant, takes_auto=False)
    return replace(order, added_error=chosen.added_to(problem, mask, resolved.samples))


def sum_order_of(key: str, problem: Problem, mask: Mask) -> SumOrder:
    """Return the order of a variant's sums."""
    return variant(key, takes_auto=False).sum_order(problem, mask)

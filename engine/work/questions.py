"""Answers what is asked of a kernel or a chain beside its run. Called on: the thread that reads the pipe."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from engine.device.devices import device_named
from engine.host.request import Describe
from engine.results.progress import Checkpoint
from engine.work.filtering.sum_order import SumOrder
from engine.work.filtering.variants import variant
from engine.work.merge import mergers
from engine.work.messages import (
    MergeRequest,
    MergerOffer,
    SumOrderRequest,
)
from engine.work.resolved_job import resolved_job


def describe(request: Describe[SumOrderRequest | MergeRequest], report: Checkpoint) -> object:
    """Return the answer to a question."""
    return _ANSWERS[type(request.job)](request.job)


def _sum_order(asked: SumOrderRequest) -> SumOrder:
    """Return the order of the sums of a job, whose variant can do it."""
    resolved, chosen = resolved_job(asked.job), variant(asked.job.variant, takes_auto=False)
    problem, mask = resolved.problem, resolved.constant
    if asked.reads_floats:
        problem = problem.of_type("float32")
    order = chosen.sum_order(problem, mask)
    if order.is_known:
        return order
    return replace(order, added_error=chosen.added_to(problem, mask, resolved.samples))


def _mergers(asked: MergeRequest) -> tuple[MergerOffer, ...]:
    """Return what could become one mask, the most steps together first."""
    job, picture = asked.job, asked.job.picture
    shape = picture.height, picture.width, picture.channels
    found = mergers(job.chain, shape, picture.dtype, device_named(job.device))
    return tuple(MergerOffer(one.sentence, one.is_faster, one.chain) for one in found)


_ANSWERS: dict[type, Callable[[Any], object]] = {
    SumOrderRequest: _sum_order,
    MergeRequest: _mergers,
}

"""Answers what is asked of a kernel or a chain beside its run. Called on: the thread that reads the pipe."""

from dataclasses import replace

from engine.device.devices import device_named
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


def merger_offers(request: MergeRequest, report: Checkpoint) -> tuple[MergerOffer, ...]:
    """Return what could become one mask, the most steps together first."""
    job, picture = request.job, request.job.picture
    shape = picture.height, picture.width, picture.channels
    found = mergers(job.chain, shape, picture.dtype, device_named(job.device))
    return tuple(MergerOffer(one.sentence, one.is_faster, one.chain) for one in found)

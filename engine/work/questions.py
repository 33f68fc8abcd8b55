"""Answers what is asked of a kernel or a chain beside its run. Called on: the thread that reads the pipe."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from engine.device.devices import device_named
from engine.device.launches import DeviceKind
from engine.errors import EngineError
from engine.geometry.block import Limits
from engine.host.request import Describe
from engine.results.progress import Checkpoint
from engine.run.device_choice import device_for
from engine.work.filtering.sum_order import SumOrder
from engine.work.filtering.variants import VARIANTS, Variant, variant
from engine.work.merge import mergers
from engine.work.messages import (
    BlockTiles,
    MergeRequest,
    MergerOffer,
    PictureJob,
    SumOrderRequest,
    TileRequest,
)
from engine.work.resolved_job import resolved_job


def describe(request: Describe[TileRequest | SumOrderRequest | MergeRequest], report: Checkpoint) -> object:
    """Return the answer to a question."""
    return _ANSWERS[type(request.job)](request.job)


def _tiles(asked: TileRequest) -> BlockTiles:
    """Return who loads what in a block, or why nobody can say."""
    job = asked.job
    chosen = variant(job.variant, takes_auto=False)
    if chosen.device is DeviceKind.CPU:
        return BlockTiles(chosen.key, reason=f"{chosen.title} has no blocks of threads, and no tiles.")
    resolved = resolved_job(job)
    problem = resolved.problem
    block = chosen.block_for(job.block)
    refusal = chosen.why_not(problem, resolved.constant, block, _limits(chosen, job), VARIANTS)
    if refusal is not None:
        return BlockTiles(chosen.key, reason=str(refusal))
    launches = chosen.plan(problem, block)
    if not launches:
        return BlockTiles(chosen.key, reason=f"{chosen.title} has no kernels of ours.")
    across, down, _ = launches[0].grid
    at_x, at_y = asked.at or (int(across > 2), int(down > 2))
    at = min(max(at_x, 0), across - 1), min(max(at_y, 0), down - 1)
    tiles = chosen.tiles(problem, block, at)
    reason = "" if tiles else f"{chosen.title} does not say what its threads load."
    return BlockTiles(chosen.key, (across, down), at, tiles, reason)


def _limits(chosen: Variant, job: PictureJob) -> Limits:
    """Return the limits of the job's device; where there is none, those of every NVIDIA GPU."""
    try:
        return device_for(chosen, job.device).limits
    except EngineError:
        return Limits()


def _sum_order(asked: SumOrderRequest) -> SumOrder:
    """Return the order of the sums of a job, whose variant can do it."""
    resolved, chosen = resolved_job(asked.job), variant(asked.job.variant, takes_auto=False)
    problem, mask = resolved.problem, resolved.constant
    if asked.reads_floats:
        problem = replace(problem, dtype="float32")
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
    TileRequest: _tiles,
    SumOrderRequest: _sum_order,
    MergeRequest: _mergers,
}

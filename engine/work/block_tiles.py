"""Answers what a block of threads loads. Called on: the thread that reads the pipe."""

from engine.device.launches import DeviceKind
from engine.errors import EngineError
from engine.geometry.block import Limits
from engine.host.verbs import Describe
from engine.results.progress import Checkpoint
from engine.run.device_choice import device_for
from engine.work.filtering.variants import VARIANTS, Variant, variant
from engine.work.messages import BlockTiles, PictureJob, TileRequest
from engine.work.resolved_job import resolved_job


def describe(request: Describe[TileRequest], report: Checkpoint) -> BlockTiles:
    """Return who loads what in a block, or why nobody can say."""
    job, wanted = request.job.job, request.job.at
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
    at_x, at_y = wanted or (int(across > 2), int(down > 2))
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

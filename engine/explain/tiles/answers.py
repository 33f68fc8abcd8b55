"""Answers who loads what in a block of a kernel. Called on: the main thread of the host."""

from engine.device.devices import devices
from engine.device.launches import DeviceKind
from engine.explain.gpus import gpu_for
from engine.explain.launch.launches import why_not_compiled
from engine.explain.messages import BlockTiles, TileRequest
from engine.explain.subject import Subject
from engine.explain.tiles.tile_plans import tile_plans
from engine.geometry.refusal import UnsupportedVariant
from engine.host.request import Describe
from engine.ptx import PtxError
from engine.results.progress import Checkpoint
from engine.work.filtering.variants import VARIANTS, variant
from engine.work.resolved_job import resolved_job


def describe(request: Describe[TileRequest], report: Checkpoint) -> BlockTiles:
    """Return who loads what in a block, or why that is not known."""
    asked, job = request.job, request.job.job
    chosen = variant(job.variant, takes_auto=False)
    if chosen.device is DeviceKind.CPU:
        return BlockTiles(chosen.key, reason=f"{chosen.title} has no blocks of threads, and no tiles.")
    resolved, block = resolved_job(job), chosen.block_for(job.block)
    problem, mask = resolved.problem, resolved.constant
    gpu = gpu_for([device for device in devices() if device.key == job.device] or devices(), None)
    try:
        Subject(chosen, problem, mask, block, gpu).refuse(VARIANTS)
    except UnsupportedVariant as error:
        return BlockTiles(chosen.key, reason=str(error.refusal))
    launches = chosen.plan(problem, block)
    if not launches:
        return BlockTiles(chosen.key, reason=f"{chosen.title} has no kernels of ours.")
    if (not_compiled := why_not_compiled()) is not None:
        return BlockTiles(chosen.key, reason=str(not_compiled))
    across, down, _ = launches[0].grid
    at_x, at_y = asked.at or (int(across > 2), int(down > 2))
    at = min(max(at_x, 0), across - 1), min(max(at_y, 0), down - 1)
    try:
        tiles = tile_plans(chosen, problem, mask, block, at, report)
    except PtxError as error:
        return BlockTiles(chosen.key, reason=str(error))
    return BlockTiles(chosen.key, (across, down), at, tiles)

"""Answers who loads what in a block of a kernel. Called on: the main thread of the host."""

from engine.explain.kernel_job import kernel_job
from engine.explain.launch.launches import why_not_compiled
from engine.explain.messages import BlockTiles, TileRequest
from engine.explain.tiles.tile_plans import tile_plans
from engine.geometry.block import UnsupportedVariant
from engine.ptx import PtxError
from engine.results.progress import Checkpoint


def describe(request: TileRequest, report: Checkpoint) -> BlockTiles:
    """Return who loads what in a block, or why that is not known."""
    key = request.job.variant
    try:
        job, _ = kernel_job(request.job)
    except UnsupportedVariant as error:
        return BlockTiles(key, reason=str(error.refusal))
    if (not_compiled := why_not_compiled()) is not None:
        return BlockTiles(key, reason=str(not_compiled))
    across, down, _ = job.variant.plan(job.problem, job.block)[0].grid
    at_x, at_y = request.at or (int(across > 2), int(down > 2))
    at = min(max(at_x, 0), across - 1), min(max(at_y, 0), down - 1)
    try:
        tiles = tile_plans(job, at, report)
    except PtxError as error:
        return BlockTiles(key, reason=str(error))
    return BlockTiles(key, (across, down), at, tiles)

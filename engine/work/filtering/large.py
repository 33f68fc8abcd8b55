"""How a picture is filtered in parts: device, variant and block, chosen without reading it."""

from engine.host.tiles import FilePixels
from engine.work.filtering.auto.planner import choose
from engine.work.filtering.measured_part import blank
from engine.work.filtering.messages import FilterJob
from engine.work.filtering.resolve import ResolvedFilter


def resolved_for_tiles(job: FilterJob) -> ResolvedFilter:
    """Return a job with its device and variant; of a file's picture one that computes parts as the whole."""
    resolved = ResolvedFilter(job, blank(job.picture))
    if not isinstance(job.picture.pixels, FilePixels):
        return resolved
    chosen = choose(job.variant, resolved.problem, job.mask, job.block, resolved.device, in_bands=True)
    resolved.choice = chosen
    return resolved

"""How a picture that stays in its file is filtered: device, variant and block, chosen without reading it."""

from engine.tasks.filtering.auto.planner import choose
from engine.tasks.filtering.measured_part import blank
from engine.tasks.filtering.messages import FilterJob
from engine.tasks.filtering.resolve import ResolvedFilter


def resolved_for_tiles(job: FilterJob) -> ResolvedFilter:
    """Return a job on a large picture with its device and variant: one that computes parts as the whole."""
    resolved = ResolvedFilter(job, blank(job.picture))
    chosen = choose(job.variant, resolved.problem, job.mask, job.block, resolved.device, in_bands=True)
    resolved.choice = chosen
    return resolved

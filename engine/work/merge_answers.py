"""Answers what of a chain could become one mask. Called on: the thread that reads the pipe."""

from engine.device.devices import device_named
from engine.host.verbs import Describe
from engine.results.progress import Checkpoint
from engine.work.merge import mergers
from engine.work.messages import MergeRequest, MergerOffer


def describe(request: Describe[MergeRequest], report: Checkpoint) -> tuple[MergerOffer, ...]:
    """Return what could become one mask, the most steps together first."""
    job = request.job.job
    picture = job.picture
    shape = picture.height, picture.width, picture.channels
    found = mergers(job.chain, shape, picture.dtype, device_named(job.device))
    return tuple(MergerOffer(one.sentence, one.is_faster, one.chain) for one in found)

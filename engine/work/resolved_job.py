"""A job of the window, resolved: its picture lies in shared memory, or stays in its file."""

from engine.host import shared
from engine.host.tiles import FilePixels
from engine.image.open import open_image
from engine.work.measured_part import blank
from engine.work.messages import PictureJob
from engine.work.pictures import as_samples
from engine.work.resolve import Resolved


def resolved_job(job: PictureJob) -> Resolved:
    """Return what a job is; of a picture in its file that of a part, all zeros: a question reads nothing."""
    picture = job.picture
    patch = as_samples(open_image(job.patch_path).pixels) if job.patch_path else None
    in_file = isinstance(picture.pixels, FilePixels)
    return Resolved(job, blank(picture) if in_file else shared.attach(picture.in_memory), patch=patch)

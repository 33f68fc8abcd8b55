"""The window's saved result of a picture that stays in its file: as `filter` makes it, in full size."""

import numpy as np
from msgspec.structs import replace

from engine.files.output_checks import check_other_file
from engine.flow.file import Work, filter_file
from engine.flow.messages import SaveFiltered
from engine.host.protocol import Saved
from engine.host.tile_jobs import opened
from engine.host.tiles import TiledScreen
from engine.image.large.source import LargePicture
from engine.image.save import DEPTH_DTYPES
from engine.results.progress import Checkpoint, Progress
from engine.work.messages import PictureJob
from engine.work.resolve import Resolved, resolved_for_parts

# Between two reports, s.
_EXPECTED_S = 10.0


def save_filtered(request: SaveFiltered, report: Checkpoint) -> Saved:
    """Filter a file in bands. Stopped, it keeps what is done, and goes on there when it is asked again."""
    # Wherever the person looks, the result is the same.
    job = replace(request.job, centre=None)
    check_other_file(request.path, job.picture.path)

    def resolve(samples: np.ndarray, saved: np.dtype) -> Resolved:
        return resolved_for_parts(job, samples).in_parts().as_saved(saved, job.range_mode)

    def saved_type(given: np.dtype) -> np.dtype:
        return given if request.depth == "keep" else np.dtype(DEPTH_DTYPES[request.depth])

    def tell(fraction: float, words: str) -> None:
        report(Progress(f"saving, {words}", fraction, _EXPECTED_S))

    tell(0.0, "filtered")
    work = Work(resolve=resolve, saved_type=saved_type, range=job.range_mode)
    # No bound: the process may have had more for another picture, and a bound counts that.
    done = filter_file(work, _source(job), request.path, memory=None, report=tell)
    return Saved(request.path, done.notes)


def _source(job: PictureJob) -> str | LargePicture:
    """Return what is filtered: a file that is read in parts, or what was decoded of another one."""
    screen = job.picture.screen
    assert isinstance(screen, TiledScreen)
    path = job.picture.path
    return path if screen.key == path else opened(screen.key).picture

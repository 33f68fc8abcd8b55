"""The window's saved result of a picture that is opened in parts: as `filter` makes it, in full size."""

from engine.commands.large_filter import filter_large
from engine.commands.mask_filter import MaskFilter
from engine.commands.picture_settings import AUTO_TYPE, PictureSettings
from engine.files.output_checks import check_other_file
from engine.host.protocol import Saved
from engine.host.tile_jobs import opened
from engine.host.tiles import TiledScreen
from engine.image.large.source import LargePicture
from engine.results.progress import Checkpoint, Progress
from engine.work.filtering.messages import FilterJob, SaveFiltered

# Between two reports, s.
_EXPECTED_S = 10.0


def save_filtered(request: SaveFiltered, report: Checkpoint) -> Saved:
    """Filter a file in bands. Stopped, it keeps what is done, and goes on there when it is asked again."""
    job = request.job
    check_other_file(request.path, job.picture.path)
    settings = PictureSettings(
        mask=job.mask.name or "mask",
        variant=job.variant,
        block=job.block,
        device=job.device,
        layout=job.layout,
        result_type="same" if job.result_type == "same" else AUTO_TYPE,
        border=job.border,
        cval=job.cval if job.border.takes_value else 0.0,
        range=job.range_mode,  # type: ignore[arg-type]
        depth=request.depth,
    )

    def tell(fraction: float, words: str) -> None:
        report(Progress(f"saving, {words}", fraction, _EXPECTED_S))

    tell(0.0, "filtered")
    # The mask is flipped and normalised already.
    how = MaskFilter(settings, job.mask)
    # No bound: the process may have had more for another picture, and a bound counts that.
    done = filter_large(how, _source(job), request.path, memory=None, report=tell)
    return Saved(request.path, done.notes)


def _source(job: FilterJob) -> str | LargePicture:
    """Return what is filtered: a file that is read in parts, or what was decoded of another one."""
    screen = job.picture.screen
    assert isinstance(screen, TiledScreen)
    return job.picture.path if screen.key == job.picture.path else opened(screen.key).picture

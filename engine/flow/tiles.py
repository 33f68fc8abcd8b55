"""Answers what the window asks of large pictures: a preview, a run, and of a result tiles and values.

A picture in its file is filtered where it is seen, at the level that is seen: at full size its results have
the bits of the whole, at other levels the mask is applied to the reduced picture. A large picture in memory
is filtered as a whole for the screen, in bands, of which no values are kept; its full size is filtered again
where it is seen.

Called on: the main thread of the host process.
"""

import math
import time
from typing import Any, cast

import numpy as np
from msgspec.structs import replace

from engine.device.devices import backend
from engine.errors import ImageReadError
from engine.files.atomic_write import check_other_file
from engine.flow.file import Work, filter_file
from engine.flow.result import Result
from engine.host import shared
from engine.host.protocol import Filtered, Saved
from engine.host.request import Computed, SharedArray
from engine.host.shared_picture import SharedSegment, screen_arrays
from engine.host.tile_jobs import answered, as_values, opened, source_of
from engine.host.tiles import TILE, Place, TiledScreen, Tiles, Values, WantedTiles, WantedValues
from engine.image.convert import full_scale_of
from engine.image.large.source import LargePicture
from engine.image.save import DEPTH_DTYPES
from engine.results.progress import Checkpoint, Progress
from engine.run.measure import measure
from engine.run.sampling import SamplingPlan
from engine.verify.regions import Region
from engine.work.messages import PictureJob, SaveFiltered, measured_part
from engine.work.resolve import Resolved, resolved_for_parts

# Neighbours in a row that are filtered together.
_MOST_TOGETHER = 4
# The result that is shown, and the two that a step of a chain may read, which the lens looks at.
_MOST_READY = 3

# The newest first, each with what its picture's memory was given to.
_ready: list[tuple[Result, int]] = []


def _result_of(job: PictureJob) -> Result:
    at = _used(job)
    found = next((one for one, used in _ready if used == at and job in (one.job, one.asked)), None)
    return _readied(found or Result(job))


def _readied(result: Result) -> Result:
    at = _used(result.asked)
    others = [one for one in _ready if one[0] is not result and one[0].asked.picture == result.asked.picture]
    _ready[:] = [(result, at), *(one for one in others if one[1] == at)][:_MOST_READY]
    return result


def _used(job: PictureJob) -> int:
    pixels = job.picture.pixels
    return shared.uses(pixels) if isinstance(pixels, SharedArray) else 0


def _let_go() -> None:
    for result, _ in _ready:
        result.let_go()


shared.keep_until_trimmed(_let_go)


def preview(job: PictureJob, report: Checkpoint) -> Filtered:
    """Compute the result of a large picture in memory for the screen, and keep no values.

    Of a picture in its file nothing is computed before it is seen.
    """
    begin, elapsed_ms = time.perf_counter(), 0.0
    # Anew for each preview: `auto` chooses by the times that are known by now.
    result, picture, values = Result(job), job.picture, None
    result.work.refuse()
    if isinstance(screen := picture.screen, TiledScreen):
        screen = replace(screen, note=_note(result))
    else:
        # What is read of earlier ones is seldom wanted again.
        _ready.clear()
        _readied(result)
        values, source = Computed(result.job), source_of(picture)
        with SharedSegment() as segment:
            levels = segment.create(*screen_arrays(picture.height, picture.width, is_large=True))
            bands, ends = result.bands(source, report), result.ends(source, report)
            screen = segment.rendered_in_bands(picture, levels, bands, job.range_mode, ends)
        elapsed_ms = (time.perf_counter() - begin) * 1e3
    return Filtered(
        values=values,
        screen=screen,
        variant=result.work.choice.variant.key,
        device=result.work.device.key,
        elapsed_ms=elapsed_ms,
        chosen_because=result.work.choice.reason,
        clipped=result.clipped,
        steps=result.steps,
    )


def _note(result: Result) -> str:
    """Return what the tiles of a picture in its file may differ in."""
    notes = []
    if not result.work.reach.exact:
        notes.append("This kernel rounds parts of a picture in another way than the whole.")
    if result.asked.range_mode == "rescale":
        notes.append("Rescaled to the range of 16 parts of the picture.")
    return " ".join(notes)


def run_part(asked: PictureJob, budget_s: float, report: Checkpoint) -> Filtered:
    """Verify and time a part of a picture in its file."""
    report(Progress("reading the part that is measured", 0.0, 5.0))
    screen: Any = asked.picture.screen
    pixels = opened(screen.key).picture.read(0, *measured_part(asked))
    found = resolved_for_parts(asked, np.ascontiguousarray(pixels[..., : asked.picture.channels]))
    plan, machine = SamplingPlan(budget_s=budget_s), backend(found.device.key)
    outcome = measure(found.job(), machine, plan, checkpoint=report)
    return Filtered(None, None, found.choice.variant.key, found.device.key, 0.0, outcome.result)


def wanted_tiles(request: WantedTiles, report: Checkpoint) -> Tiles:
    """Return the tiles of a result that are ready in time."""
    report(Progress("filtering what is seen", 0.0, 2.0))
    job, level, wanted = cast(PictureJob, request.job), request.level, set(request.tiles)
    source, result = source_of(job.picture), _result_of(job)
    ready: dict[Place, np.ndarray | None] = {}

    def filtered(first: Place, last: Place, ends_at: float) -> None:
        rows, columns = source.extent(level, first)
        right = source.extent(level, last)[1].stop
        values, opacity = result.values(source, level, rows, slice(columns.start, right), ends_at)
        if not request.screen.opaque:
            values = np.dstack([values, opacity.astype(values.dtype)])
        for number, column in enumerate(range(first[1], last[1] + 1)):
            ready[first[0], column] = np.ascontiguousarray(values[:, number * TILE : (number + 1) * TILE])

    def tile(place: Place, ends_at: float) -> np.ndarray | None:
        if place not in ready:
            row, column = place
            left = wanted - ready.keys()
            first = last = column
            while (row, first - 1) in left and last - first + 1 < _MOST_TOGETHER:
                first -= 1
            while (row, last + 1) in left and last - first + 1 < _MOST_TOGETHER:
                last += 1
            try:
                filtered((row, first), (row, last), ends_at)
            except ImageReadError as error:
                source.fault = error
                try:
                    filtered(place, place, ends_at)
                except ImageReadError:
                    ready[place] = None
        return ready[place]

    return answered(
        request.screen,
        level,
        request.tiles,
        tile,
        source,
        white=full_scale_of(np.dtype(job.picture.dtype)),
        range_mode=job.range_mode,
        ends=result.ends(source, report),
    )


def wanted_values(request: WantedValues, report: Checkpoint) -> Values:
    """Return the values of a result in a few pixels of full size."""
    report(Progress("filtering what is seen", 0.0, 2.0))
    (top, bottom), (left, right) = request.rows, request.columns
    return as_values(
        top, left, part_of_result(cast(PictureJob, request.job), Region(top, bottom, left, right))
    )


def part_of_result(job: PictureJob, region: Region) -> np.ndarray:
    """Return the values of a result in a region of full size."""
    return _result_of(job).values(source_of(job.picture), 0, *region.slices, math.inf)[0]


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

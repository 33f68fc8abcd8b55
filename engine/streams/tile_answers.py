"""Answers what is asked of parts of a result: its tiles for the screen, and its values.

A picture in its file is filtered where it is seen, at the level that is seen: at full size its results have
the bits of the whole, at other levels the mask is applied to the reduced picture. A large picture in memory
is filtered as a whole for the screen, in bands, of which no values are kept; its full size is filtered again
where it is seen.

Called on: the main thread of the host process.
"""

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import ImageReadError
from engine.host import shared
from engine.host.display_levels import full_scale
from engine.host.picture_jobs import SharedSegment, screen_arrays
from engine.host.protocol import Filtered
from engine.host.shared_array import Computed, SharedArray
from engine.host.tile_jobs import answered, as_values
from engine.host.tiles import TILE, Place, ResultTiles, ResultValues, Tiles, Values
from engine.results.measurement import StepTime
from engine.results.progress import Checkpoint, Progress
from engine.streams.result_parts import ChainParts, FilterParts, PartsJob, ResultParts, source_of
from engine.verify.regions import Region
from engine.work.messages import ChainJob

# Neighbours in a row that are filtered together.
_MOST_TOGETHER = 4
# The result that is shown, and the two that a step of a chain may read, which the lens looks at.
_MOST_READY = 3

# The newest first, each with what its picture's memory was given to.
_ready: list[tuple[ResultParts, int]] = []


def _made(job: PartsJob) -> ResultParts:
    return ChainParts(job) if isinstance(job, ChainJob) else FilterParts(job)


def _result_of(job: PartsJob) -> ResultParts:
    at = _used(job)
    found = next((one for one, used in _ready if used == at and job in (one.job, one.asked)), None)
    return _readied(found or _made(job))


def _readied(result: ResultParts) -> ResultParts:
    at = _used(result.asked)
    others = [one for one in _ready if one[0] is not result and one[0].asked.picture == result.asked.picture]
    _ready[:] = [(result, at), *(one for one in others if one[1] == at)][:_MOST_READY]
    return result


def _used(job: PartsJob) -> int:
    pixels = job.picture.pixels
    return shared.uses(pixels) if isinstance(pixels, SharedArray) else 0


def _let_go() -> None:
    for result, _ in _ready:
        result.let_go()


shared.keep_until_trimmed(_let_go)


def preview_in_bands(job: PartsJob, report: Checkpoint) -> tuple[Filtered, tuple[StepTime, ...]]:
    """Compute the result of a large picture in memory for the screen, and keep no values.

    Returns it with the times of a chain's steps.
    """
    begin = time.perf_counter()
    # Anew for each preview: `auto` chooses by the times that are known by now.
    result = _made(job)
    result.refuse()
    # What is read of earlier ones is seldom wanted again.
    _ready.clear()
    _readied(result)
    picture, source = job.picture, source_of(job.picture)
    with SharedSegment() as segment:
        levels = segment.create(*screen_arrays(picture.height, picture.width))
        bands, ends = result.bands(source, report), result.ends(source, report)
        screen = segment.rendered_in_bands(picture, levels, bands, result.range_mode, ends)
    shown = Filtered(
        values=Computed(result.job),
        screen=screen,
        variant=result.chosen.variant.key,
        device=result.device.key,
        elapsed_ms=(time.perf_counter() - begin) * 1e3,
        chosen_because=result.chosen.chosen_because,
        clipped=result.clipped,
    )
    return shown, result.steps


def result_tiles(request: ResultTiles[PartsJob], report: Checkpoint) -> Tiles:
    """Return the tiles of a result that are ready in time."""
    report(Progress("filtering what is seen", 0.0, 2.0))
    job, level, wanted = request.job, request.level, set(request.tiles)
    source, result = source_of(job.picture), _result_of(job)
    ready: dict[Place, NDArray[Any] | None] = {}

    def filtered(first: Place, last: Place, ends_at: float) -> None:
        rows, columns = source.extent(level, first)
        right = source.extent(level, last)[1].stop
        values, opacity = result.values(source, level, rows, slice(columns.start, right), ends_at)
        if not request.screen.opaque:
            values = np.dstack([values, opacity.astype(values.dtype)])
        for number, column in enumerate(range(first[1], last[1] + 1)):
            ready[first[0], column] = np.ascontiguousarray(values[:, number * TILE : (number + 1) * TILE])

    def tile(place: Place, ends_at: float) -> NDArray[Any] | None:
        if place not in ready:
            row, column = place
            first = last = column
            while (
                (row, first - 1) in wanted
                and (row, first - 1) not in ready
                and last - first + 1 < _MOST_TOGETHER
            ):
                first -= 1
            while (
                (row, last + 1) in wanted
                and (row, last + 1) not in ready
                and last - first + 1 < _MOST_TOGETHER
            ):
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
        white=full_scale(np.dtype(job.picture.dtype)),
        range_mode=result.range_mode,
        ends=result.ends(source, report),
    )


def result_values(request: ResultValues[PartsJob], report: Checkpoint) -> Values:
    """Return the values of a result in a few pixels of full size."""
    report(Progress("filtering what is seen", 0.0, 2.0))
    (top, bottom), (left, right) = request.rows, request.columns
    return as_values(top, left, part_of_result(request.job, Region(top, bottom, left, right)))


def part_of_result(job: PartsJob, region: Region) -> NDArray[Any]:
    """Return the values of a result in a region of full size."""
    return _result_of(job).values(source_of(job.picture), 0, *region.slices, math.inf)[0]

"""Answers requests of the window about large pictures: a preview, a run, and of a result tiles and values.

A picture in its file is filtered where it is seen, at the level that is seen: at full size its results have
the bits of the whole, at other levels the mask is applied to the reduced picture. A large picture in memory
is filtered as a whole for the screen, in bands, of which no values are kept; its full size is filtered again
where it is seen.

A rectangle is computed as a picture of its own. A variant whose sums depend on where a picture is cut does
the same bands of whole rows each time: so the values of a pixel are always the same. Of a picture whose
results are kept as a whole, because it is small, the band is the whole; so a result that depends on the whole
picture can be read there, too.

Called on: the main thread of the host process.
"""

import itertools
import math
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, cast

import numpy as np
from msgspec.structs import replace

from engine.device.devices import backend
from engine.device.host_memory import reused_result
from engine.errors import BadValue, ImageReadError
from engine.files.atomic_write import check_other_file
from engine.flow.file import FileFilter
from engine.geometry.border import cut
from engine.host import protocol, shared
from engine.host.protocol import TILE, Filtered, Place, Saved, TiledScreen, Tiles, Values
from engine.host.request import ComputedResult, SharedArray
from engine.host.shared_picture import SharedSegment, keeps_values, screen_arrays, value_range
from engine.host.tile_jobs import Source, answered, as_values, opened, source_of
from engine.image.convert import full_scale_of
from engine.image.save import DEPTH_DTYPES
from engine.results.problem import Checkpoint, Progress
from engine.run.measure import SamplingPlan, measure
from engine.verify.verification import Region
from engine.work.filtering.clipping import clipped_of
from engine.work.measuring import steps_of
from engine.work.messages import PictureJob, SaveFiltered, blank, measured_part
from engine.work.resolve import Resolved, resolved_for_parts

# The range of a picture in its file is that of so many of its tiles along each axis.
_RANGE_TILES = 4
# Values of a band of whole rows, of all steps of a chain together. Their memory serves the next band: fresh
# pages take longer than the filter.
_BAND_BYTES = 16 << 20
# A band has so many times the rows that are computed for it above and below.
_ROWS_PER_HALO = 8

Samples = np.ndarray


class TiledResult:
    """A job of the window, ready to be computed anywhere in its picture: variants are chosen once.

    `request` is the job as it was requested, `job` that with device, variants and blocks. `took_ms` are the
    times of a chain's steps so far, on the CPU, `clipped` the parts of the result below black and above white
    (0 to 1) once its bands were made. Of a variant that computes whole bands only, `last` is the newest one;
    without it they are computed again.
    """

    def __init__(self, request: PictureJob) -> None:
        picture = request.picture
        self._is_in_memory = not isinstance(picture.screen, TiledScreen)
        samples = shared.attach(picture.in_memory) if self._is_in_memory else blank(picture)
        resolved = resolved_for_parts(request, samples)
        resolved = resolved if self._is_in_memory else resolved.in_parts()
        self.request, self.job, self.work = request, cast("PictureJob", resolved.chosen), resolved
        # How often the picture's memory was used for new arrays.
        self.uses = _uses(request)
        self._channels: int = picture.channels
        reach, is_kept = self.work.reach, self._is_in_memory and keeps_values(picture)
        if reach.whole and not is_kept:
            raise BadValue(
                f"The result of {reach.whole}",
                "each of its values depends on the whole picture, which is too large to compute it for a few",
                "Crop the picture to a region.",
            )
        between, height = resolved.task.between(resolved.job()), picture.height
        rows = resolved.problem.rows_of(_BAND_BYTES // (between + 2 if between else 1))
        count = 1 if is_kept else -(-height // max(rows, _ROWS_PER_HALO * reach.height))
        edges = [*(height * number // count // 2 * 2 for number in range(count)), height]
        # Those of the whole picture begin at even rows, as halved levels need.
        self._bands = list(itertools.starmap(slice, itertools.pairwise(edges)))
        self.took_ms: dict[str, float] = {}
        self.clipped = 0.0, 0.0
        self._ends: tuple[float, float] | None = None
        self.last: tuple[slice, Samples] | None = None

    @property
    def source(self) -> Source:
        """Where the picture is read."""
        return source_of(self.request.picture)

    def values(self, level: int, rows: slice, columns: slice, ends_at: float) -> tuple[Samples, Samples]:
        """Return the result in a rectangle of a level, and the opacity; raises as `HalvedTiles.rectangle`."""
        reach = self.work.reach
        if not self._is_in_memory or (reach.exact and not reach.whole):
            return self._rectangle(level, rows, columns, ends_at)
        parts = []
        for band in self._bands:
            first, last = max(rows.start, band.start), min(rows.stop, band.stop)
            if first < last:
                if self.last is None or self.last[0] != band:
                    self.last = band, self._band(band)
                parts.append(self.last[1][first - band.start : last - band.start, columns])
        opacity = self.source.rectangle(level, rows, columns, ends_at)[..., self._channels :]
        return np.concatenate(parts), opacity

    def bands(self, report: Checkpoint) -> Iterator[tuple[slice, Samples]]:
        """Yield the result of a picture in memory in bands of whole rows."""
        height, job = self.request.picture.height, self.work.job()
        expected_s = 2.0 + job.task.expected_launch_s(job, self.work.device)
        is_mask, range_mode = self.request.filter is not None, self.request.range_mode
        below = above = 0.0
        for band in self._bands:
            report(Progress("filtering", band.start / height, expected_s))
            values = self._band(band)
            if not is_mask:
                clipped, share = clipped_of(job, values, range_mode), len(values) / height
                below, above = below + share * clipped.below, above + share * clipped.above
            yield band, values
            # Its memory serves the next band.
            del values
        if is_mask:
            clipped = clipped_of(job, self.work.samples, range_mode)
            below, above = clipped.below, clipped.above
        self.clipped = below, above

    def ends(self, report: Checkpoint) -> tuple[float, float] | None:
        """Return the range that "rescale" maps to the screen's; of one in its file that of some tiles."""
        if self.request.range_mode == "rescale" and self._ends is None:
            bands = (band for _, band in self.bands(report))
            lowest, highest = math.inf, -math.inf
            for values in bands if self._is_in_memory else self._range_tiles():
                low, high = value_range(np.ascontiguousarray(values))
                lowest, highest = min(lowest, low), max(highest, high)
            self._ends = lowest, highest
        return self._ends

    def _range_tiles(self) -> Iterator[Samples]:
        source, starts = self.source, []
        for extent, side in zip(source.extent(0, (0, 0)), source.levels[0], strict=True):
            most = max(0, side - extent.stop)
            starts.append(sorted({number * most // (_RANGE_TILES - 1) for number in range(_RANGE_TILES)}))
        height, width = source.levels[0]
        for top, left in itertools.product(*starts):
            rows, columns = slice(top, min(top + TILE, height)), slice(left, min(left + TILE, width))
            with suppress(ImageReadError):
                yield self.values(0, rows, columns, math.inf)[0]

    def _band(self, rows: slice) -> Samples:
        return self._rectangle(0, rows, slice(0, self.request.picture.width), math.inf)[0]

    def _rectangle(self, level: int, rows: slice, columns: slice, ends_at: float) -> tuple[Samples, Samples]:
        source, region = self.source, self.request.region
        part = cut(self.work.reach, source.levels[level], rows, columns)
        beside = list(itertools.starmap(slice, part.columns.sources))
        read = [
            [source.rectangle(level, slice(*down), across, ends_at) for across in beside]
            for down in part.rows.sources
        ]
        samples = read[0][0]
        if len(read) + len(read[0]) > 2:
            samples = np.concatenate([np.concatenate(row, axis=1) for row in read])
        colours = np.ascontiguousarray(samples[..., : self._channels])
        values = self._computed(colours)[part.inside]
        if region is not None:
            # Outside of it the result has the picture's own values.
            kept = colours[part.inside].astype(values.dtype)
            inside = tuple(
                slice(max(0, wanted.start - here.start), max(0, wanted.stop - here.start))
                for wanted, here in zip(region.slices, (rows, columns), strict=True)
            )
            kept[inside], values = values[inside], kept
        return values, samples[..., self._channels :][part.inside]

    def _computed(self, samples: Samples) -> Samples:
        """Compute a part as a picture of its own, both (H, W, C)."""
        out = reused_result(samples, samples.shape, np.dtype(self.work.problem.result_dtype))
        if self.work.device.kind != "cpu":
            return self.work.computed(samples, out).reshape(samples.shape)
        job = self.work.part(samples)
        job.refuse(self.work.device)
        prepared = job.prepare()
        prepared.launch(samples, out)
        for step, ms in getattr(prepared, "took_ms", {}).items():
            self.took_ms[step] = self.took_ms.get(step, 0.0) + ms
        return out


# Neighbours in a row that are filtered together.
_MOST_TOGETHER = 4
# The result that is shown, and the two that a step of a chain may read, which the lens looks at.
_MOST_READY = 3

# The newest first.
_ready: list[TiledResult] = []


def _result_of(job: PictureJob) -> TiledResult:
    uses = _uses(job)
    same = [one for one in _ready if one.uses == uses and one.request.picture == job.picture]
    result = next((one for one in same if job in (one.job, one.request)), None) or TiledResult(job)
    _ready[:] = [result, *(one for one in same if one is not result)][:_MOST_READY]
    return result


def _uses(job: PictureJob) -> int:
    pixels = job.picture.pixels
    return shared.uses(pixels) if isinstance(pixels, SharedArray) else 0


def _let_go() -> None:
    for result in _ready:
        result.last = None


shared.keep_until_trimmed(_let_go)


def preview(job: PictureJob, report: Checkpoint) -> Filtered:
    """Compute the result of a large picture in memory for the screen; of one in its file nothing yet."""
    begin, elapsed_ms = time.perf_counter(), 0.0
    # Anew for each preview: `auto` chooses by the times that are known by now.
    result, picture, values = TiledResult(job), job.picture, None
    result.work.refuse()
    if isinstance(screen := picture.screen, TiledScreen):
        # What its tiles may differ in.
        rounds = "This kernel rounds parts of a picture in another way than the whole."
        scaled = "Rescaled to the range of 16 parts of the picture."
        is_exact, is_scaled = result.work.reach.exact, job.range_mode == "rescale"
        note = " ".join(filter(None, ("" if is_exact else rounds, scaled if is_scaled else "")))
        screen = replace(screen, note=note)
    else:
        # What is read of earlier ones is seldom wanted again.
        _ready[:] = [result]
        values = ComputedResult(result.job)
        with SharedSegment() as segment:
            levels = segment.create(*screen_arrays(picture.height, picture.width, is_large=True))
            bands, ends = result.bands(report), result.ends(report)
            screen = segment.rendered_in_bands(picture, levels, bands, job.range_mode, ends)
        elapsed_ms = (time.perf_counter() - begin) * 1e3
    choice, device = result.work.choice, result.work.device.key
    return Filtered(
        values, screen, choice.variant.key, device, elapsed_ms, chosen_because=choice.reason,
        clipped=result.clipped,
        steps=steps_of(result.work.constant, result.took_ms) if result.took_ms else (),
    )  # fmt: skip


def run_part(job: PictureJob, budget_s: float, report: Checkpoint) -> Filtered:
    """Verify and time a part of a picture in its file."""
    report(Progress("reading the part that is measured", 0.0, 5.0))
    screen: Any = job.picture.screen
    pixels = opened(screen.key).picture.read(0, *measured_part(job))
    resolved = resolved_for_parts(job, np.ascontiguousarray(pixels[..., : job.picture.channels]))
    plan, machine = SamplingPlan(budget_s=budget_s), backend(resolved.device.key)
    outcome = measure(resolved.job(), machine, plan, checkpoint=report)
    return Filtered(None, None, resolved.choice.variant.key, resolved.device.key, 0.0, outcome.result)


def wanted_tiles(request: protocol.WantedTiles, report: Checkpoint) -> Tiles:
    """Return the tiles of a result that are ready in time."""
    report(Progress("filtering what is seen", 0.0, 2.0))
    job, level, wanted = cast("PictureJob", request.job), request.level, set(request.tiles)
    result = _result_of(job)
    source = result.source
    ready: dict[Place, np.ndarray | None] = {}

    def filtered(row: int, first: int, last: int, ends_at: float) -> None:
        rows, columns = source.extent(level, (row, first))
        right = source.extent(level, (row, last))[1].stop
        values, opacity = result.values(level, rows, slice(columns.start, right), ends_at)
        if not request.screen.opaque:
            values = np.dstack([values, opacity.astype(values.dtype)])
        for number, column in enumerate(range(first, last + 1)):
            ready[row, column] = np.ascontiguousarray(values[:, number * TILE : (number + 1) * TILE])

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
                filtered(row, first, last, ends_at)
            except ImageReadError as error:
                source.fault = error
                ready[place] = None
                with suppress(ImageReadError):
                    filtered(row, column, column, ends_at)
        return ready[place]

    white, ends = full_scale_of(np.dtype(job.picture.dtype)), result.ends(report)
    return answered(
        request.screen, level, request.tiles, tile, source, white=white, range_mode=job.range_mode, ends=ends
    )


def wanted_values(request: protocol.WantedValues, report: Checkpoint) -> Values:
    """Return the values of a result in a few pixels of full size."""
    report(Progress("filtering what is seen", 0.0, 2.0))
    (top, bottom), (left, right) = request.rows, request.columns
    region = Region(top, bottom, left, right)
    return as_values(top, left, part_of_result(cast("PictureJob", request.job), region))


def part_of_result(job: PictureJob, region: Region) -> np.ndarray:
    """Return the values of a result in a region of full size."""
    return _result_of(job).values(0, *region.slices, math.inf)[0]


# Between two reports, s.
_EXPECTED_S = 10.0


def save_filtered(request: SaveFiltered, report: Checkpoint) -> Saved:
    """Filter a file in bands. Stopped, it keeps what is done, and goes on there at the next request."""
    # Wherever the person looks, the result is the same.
    job, depth = replace(request.job, centre=None), request.depth
    screen, path = job.picture.screen, job.picture.path
    check_other_file(request.path, path)

    def resolve(samples: np.ndarray, saved: np.dtype) -> Resolved:
        return resolved_for_parts(job, samples).in_parts().as_saved(saved, job.range_mode)

    def tell(fraction: float, words: str) -> None:
        report(Progress(f"saving, {words}", fraction, _EXPECTED_S))

    tell(0.0, "filtered")
    # No bound of memory: the process may have had more for another picture, and a bound counts that.
    work = FileFilter(
        output=request.path,
        resolve=resolve,
        saved_type=lambda dtype: dtype if depth == "keep" else np.dtype(DEPTH_DTYPES[depth]),
        range=job.range_mode,
        report=tell,
    )
    assert isinstance(screen, TiledScreen)
    # A file that is read in parts, or what was decoded of another one.
    done = work.run(path if screen.key == path else opened(screen.key).picture)
    return Saved(request.path, done.notes)

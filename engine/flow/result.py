"""A result of the window: computed where it is asked for, with the bits of the whole.

A rectangle is computed as a picture of its own. A variant whose sums depend on where a picture is cut does
the same bands of whole rows each time: so the values of a pixel are always the same. Of a picture whose
results are kept as a whole, because it is small, the band is the whole; so a result that depends on the whole
picture can be read there, too.

Called on: the main thread of the host process.
"""

import itertools
import math
from collections.abc import Iterator
from typing import cast

import numpy as np

from engine.device.devices import backend
from engine.device.host_memory import reused_result
from engine.errors import BadValue, ImageReadError
from engine.geometry.cut import Cut, cut
from engine.host import shared
from engine.host.display_levels import value_range
from engine.host.shared_picture import keeps_values
from engine.host.tile_jobs import Source
from engine.host.tiles import TILE, TiledScreen
from engine.results.measurement import StepTime
from engine.results.progress import Checkpoint, Progress
from engine.run.task import compute
from engine.work.filtering.clipping import clipped_of
from engine.work.measuring import steps_of
from engine.work.messages import PictureJob, blank
from engine.work.resolve import resolved_for_parts

# The range of a picture in its file is that of so many parts of it, along each axis.
_PARTS = 4
# Values of a band of whole rows, of all steps of a chain together. Their memory serves the next band: fresh
# pages take longer than the filter.
_BAND_BYTES = 16 << 20
# A band has so many times the rows that are computed for it above and below.
_ROWS_PER_HALO = 8

Samples = np.ndarray


class Result:
    """A job of the window, ready to be computed anywhere in its picture: variants are chosen once.

    `asked` is the job as it was asked for, `job` that with device, variants and blocks. `steps` are those of
    a chain with the time that each took so far, on the CPU.
    """

    def __init__(self, asked: PictureJob) -> None:
        picture = asked.picture
        self._is_in_memory = not isinstance(picture.screen, TiledScreen)
        samples = shared.attach(picture.in_memory) if self._is_in_memory else blank(picture)
        found = resolved_for_parts(asked, samples)
        found = found if self._is_in_memory else found.in_parts()
        self.asked, self.job, self.work = asked, cast("PictureJob", found.chosen), found
        reach, is_kept = self.work.reach, self._is_in_memory and keeps_values(picture)
        if reach.whole and not is_kept:
            raise BadValue(
                f"The result of {reach.whole}",
                "each of its values depends on the whole picture, which is too large to compute it for a few",
                "Crop the picture to a region.",
            )
        between = found.task.between(found.job())
        self._band_bytes = _BAND_BYTES // (between + 2 if between else 1)
        self._is_one_band = is_kept
        self._took_ms: dict[str, float] = {}
        self._ends: tuple[float, float] | None = None
        # The parts of the result below black and above white, 0 to 1, once its bands were made.
        self.clipped = 0.0, 0.0
        # Of a variant that computes whole bands only.
        self._last: tuple[slice, Samples] | None = None

    @property
    def steps(self) -> tuple[StepTime, ...]:
        """The steps of a chain, with their times."""
        return steps_of(self.work.constant, self._took_ms) if self._took_ms else ()

    def let_go(self) -> None:
        """Keep no values: they are computed again."""
        self._last = None

    def values(
        self, source: Source, level: int, rows: slice, columns: slice, ends_at: float
    ) -> tuple[Samples, Samples]:
        """Return the result in a rectangle of a level, and the opacity there (no channel without one).

        Raises what `HalvedTiles.rectangle` raises.
        """
        reach = self.work.reach
        if self._is_in_memory and (reach.whole or not reach.exact):
            opacity = source.rectangle(level, rows, columns, ends_at)[..., self._channels :]
            return self._of_whole_bands(source, rows)[:, columns], opacity
        return self._rectangle(source, level, rows, columns, ends_at)

    def bands(self, source: Source, report: Checkpoint) -> Iterator[tuple[slice, Samples]]:
        """Yield the result of a picture in memory in bands of whole rows."""
        edges, job = self._edges(), self.work.job()
        expected_s = 2.0 + job.task.expected_launch_s(job, self.work.device)
        is_mask, range_mode = self.asked.filter is not None, self.asked.range_mode
        below = above = 0.0
        for top, bottom in itertools.pairwise(edges):
            report(Progress("filtering", top / edges[-1], expected_s))
            values = self._band(source, slice(top, bottom))
            if not is_mask:
                found, share = clipped_of(job, values, range_mode), len(values) / edges[-1]
                below, above = below + share * found.below, above + share * found.above
            yield slice(top, bottom), values
            # Its memory serves the next band.
            del values
        if is_mask:
            found = clipped_of(job, self.work.samples, range_mode)
            below, above = found.below, found.above
        self.clipped = below, above

    def ends(self, source: Source, report: Checkpoint) -> tuple[float, float] | None:
        """Return the range that "rescale" maps to the screen's; of a picture in its file that of parts."""
        if self.asked.range_mode == "rescale" and self._ends is None:
            in_bands = self._is_in_memory
            parts = (part for _, part in self.bands(source, report)) if in_bands else self._parts(source)
            lowest, highest = math.inf, -math.inf
            for values in parts:
                low, high = value_range(np.ascontiguousarray(values))
                lowest, highest = min(lowest, low), max(highest, high)
            self._ends = lowest, highest
        return self._ends

    def _parts(self, source: Source) -> Iterator[Samples]:
        sides = source.levels[0]
        starts = [
            sorted({number * max(0, side - part.stop) // (_PARTS - 1) for number in range(_PARTS)})
            for part, side in zip(source.extent(0, (0, 0)), sides, strict=True)
        ]
        for top in starts[0]:
            for left in starts[1]:
                rows, columns = slice(top, min(top + TILE, sides[0])), slice(left, min(left + TILE, sides[1]))
                try:
                    yield self.values(source, 0, rows, columns, math.inf)[0]
                except ImageReadError:
                    continue

    @property
    def _channels(self) -> int:
        channels: int = self.asked.picture.channels
        return channels

    def _edges(self) -> list[int]:
        """Return where the bands of the whole picture begin and end: at even rows, as halved levels need."""
        height = self.asked.picture.height
        if self._is_one_band:
            return [0, height]
        rows: int = max(self.work.problem.rows_of(self._band_bytes), _ROWS_PER_HALO * self.work.reach.height)
        count = -(-height // rows)
        return [*(height * number // count // 2 * 2 for number in range(count)), height]

    def _of_whole_bands(self, source: Source, rows: slice) -> Samples:
        edges, found = self._edges(), []
        for top, bottom in itertools.pairwise(edges):
            first, last = max(rows.start, top), min(rows.stop, bottom)
            if first < last:
                if self._last is None or self._last[0] != slice(top, bottom):
                    self._last = slice(top, bottom), self._band(source, slice(top, bottom))
                found.append(self._last[1][first - top : last - top])
        return np.concatenate(found)

    def _band(self, source: Source, rows: slice) -> Samples:
        return self._rectangle(source, 0, rows, slice(0, self.asked.picture.width), math.inf)[0]

    def _rectangle(
        self, source: Source, level: int, rows: slice, columns: slice, ends_at: float
    ) -> tuple[Samples, Samples]:
        part = cut(self.work.reach, source.levels[level], rows, columns)
        samples, channels, region = _joined(source, level, part, ends_at), self._channels, self.asked.region
        colours = np.ascontiguousarray(samples[..., :channels])
        values = self._computed(colours)[part.inside]
        if region is not None:
            values = _only_in(region.slices, (rows, columns), values, colours[part.inside])
        return values, samples[..., channels:][part.inside]

    def _computed(self, samples: Samples) -> Samples:
        """Compute a part as a picture of its own, both (H, W, C)."""
        job, device = self.work.part(samples), self.work.device
        out = reused_result(samples, samples.shape, job.problem.result_dtype)
        if device.kind != "cpu":
            return compute(job, backend(device.key), out).reshape(samples.shape)
        job.refuse(device)
        prepared = job.task.prepare(job)
        prepared.launch(samples, out)
        for step, ms in getattr(prepared, "took_ms", {}).items():
            self._took_ms[step] = self._took_ms.get(step, 0.0) + ms
        return out


def _only_in(
    region: tuple[slice, slice], place: tuple[slice, slice], values: Samples, samples: Samples
) -> Samples:
    """Return the picture's own values where a result at a place lies outside the region."""
    kept = samples.astype(values.dtype)
    inside = tuple(
        slice(max(0, wanted.start - here.start), max(0, wanted.stop - here.start))
        for wanted, here in zip(region, place, strict=True)
    )
    kept[inside] = values[inside]
    return kept


def _joined(source: Source, level: int, cut: Cut, ends_at: float) -> Samples:
    """Return the rectangles of a level that a part is made of, joined to one picture."""
    parts = [
        [source.rectangle(level, slice(*rows), slice(*columns), ends_at) for columns in cut.columns.sources]
        for rows in cut.rows.sources
    ]
    if len(parts) == len(parts[0]) == 1:
        return parts[0][0]
    return np.concatenate([np.concatenate(row, axis=1) for row in parts])

"""Parts of the result of a job: filtered where they are asked for, with the bits of the whole.

A rectangle is filtered as a picture of its own, as a band is (`engine.streams.bands`), along both axes. A
variant whose sums depend on where a picture is cut filters the same bands of whole rows each time: so the
values of a pixel are always the same.

Called on: the main thread of the host process.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.device.anti_aliasing import reused_result
from engine.device.devices import backend
from engine.errors import ImageReadError
from engine.host import shared
from engine.host.display_levels import value_range
from engine.host.halved_tiles import HalvedTiles
from engine.host.picture_jobs import attached
from engine.host.protocol import PictureHandle
from engine.host.tile_jobs import opened
from engine.host.tiles import TILE, Place, TiledScreen
from engine.results.progress import Checkpoint, Progress
from engine.run.compute import compute
from engine.streams.bands import Band, band, rows_of_chunk
from engine.tasks.filtering.large import resolved_for_tiles
from engine.tasks.filtering.messages import FilterJob
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.task import filter_job

# The range of a picture in its file is that of so many parts of it, along each axis.
_PARTS = 4
# Values of a band of whole rows. Its memory serves the next band: fresh pages take longer than the filter.
_BAND_BYTES = 16 << 20
# A band has so many times the rows that are filtered for it above and below.
_ROWS_PER_HALO = 8

Samples = NDArray[Any]


class InMemory:
    """A picture in shared memory, read as `HalvedTiles` is: full size alone."""

    note = ""
    fault: ImageReadError | None = None

    def __init__(self, picture: PictureHandle) -> None:
        self._pixels, self._alpha = shared.attach(picture.in_memory), attached(picture.alpha)
        self.levels = ((picture.height, picture.width),)
        self._screen = TiledScreen("", self.levels)

    def extent(self, level: int, place: Place) -> tuple[slice, slice]:
        """Return the rows and columns that a tile covers."""
        return self._screen.extent(level, place)

    def rectangle(self, level: int, rows: slice, columns: slice, ends_at: float) -> Samples:
        """Return the pixels of a rectangle, the opacity as their last channel; whole rows without a copy."""
        pixels = self._pixels[rows, columns]
        return pixels if self._alpha is None else np.dstack([pixels, self._alpha[rows, columns]])


Source = HalvedTiles | InMemory


def source_of(picture: PictureHandle) -> Source:
    """Return where the pixels of a picture are read."""
    return opened(picture.screen.key) if isinstance(picture.screen, TiledScreen) else InMemory(picture)


class ResultParts:
    """A job, ready to be computed anywhere in its picture: one variant and block for all of it.

    `asked` is the job as it was asked for, `job` that with device, variant and block, `chosen` what runs.
    """

    def __init__(self, job: FilterJob) -> None:
        self.asked, self._resolved = job, resolved_for_tiles(job)
        self.chosen, self._problem = self._resolved.job(), self._resolved.problem
        self.device = self._resolved.device
        self._backend = backend(self.device.key)
        key, block = self.chosen.variant.key, self.chosen.block
        self.job = replace(job, variant=key, block=block, device=self.device.key)
        self._ends: tuple[float, float] | None = None
        self._is_in_memory = not isinstance(job.picture.screen, TiledScreen)
        # Of a variant that filters whole bands only.
        self._last: tuple[slice, Samples] | None = None

    def values(
        self, source: Source, level: int, rows: slice, columns: slice, ends_at: float
    ) -> tuple[Samples, Samples]:
        """Return the result in a rectangle of a level, and the opacity there (no channel without one).

        Raises what `HalvedTiles.rectangle` raises.
        """
        if self._is_in_memory and not self._resolved.choice.variant.band_invariant:
            opacity = source.rectangle(level, rows, columns, ends_at)[..., self._problem.channels :]
            return self._of_whole_bands(source, rows)[:, columns], opacity
        return self._rectangle(source, level, rows, columns, ends_at)

    def bands(self, source: Source, report: Checkpoint) -> Iterator[tuple[slice, Samples]]:
        """Yield the result of a picture in memory in bands of whole rows."""
        edges, job = self._edges(), self.chosen
        expected_s = 2.0 + job.task.expected_launch_s(job, self.device)
        for top, bottom in itertools.pairwise(edges):
            report(Progress("filtering", top / edges[-1], expected_s))
            yield slice(top, bottom), self._band(source, slice(top, bottom))

    def ends(self, source: Source, report: Checkpoint) -> tuple[float, float] | None:
        """Return the range that "rescale" maps to the screen's; of a picture in its file that of parts."""
        if self.job.range_mode == "rescale" and self._ends is None:
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

    def _edges(self) -> list[int]:
        """Return where the bands of the whole picture begin and end: at even rows, as halved levels need."""
        mask_rows, height = self._problem.mask_shape[0], self._problem.height
        rows = max(rows_of_chunk(self._problem, _BAND_BYTES), _ROWS_PER_HALO * mask_rows)
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
        return self._rectangle(source, 0, rows, slice(0, self._problem.width), math.inf)[0]

    def _rectangle(
        self, source: Source, level: int, rows: slice, columns: slice, ends_at: float
    ) -> tuple[Samples, Samples]:
        height, width = source.levels[level]
        problem = replace(self._problem, height=height, width=width)
        down = band(problem, rows.start, rows.stop)
        across = band(_turned(problem), columns.start, columns.stop)
        samples = _joined(source, level, down, across, ends_at)
        channels = problem.channels
        part = replace(problem, height=samples.shape[0], width=samples.shape[1])
        choice, asked = self._resolved.choice, self.job
        colours = np.ascontiguousarray(samples[..., :channels])
        out = reused_result(colours, colours.shape, part.result_dtype)
        job = filter_job(choice, part, asked.mask, colours, layout=asked.layout)
        computed = compute(job, self._backend, out)
        inside = (
            slice(down.skip, down.skip + rows.stop - rows.start),
            slice(across.skip, across.skip + columns.stop - columns.start),
        )
        values = computed.reshape(colours.shape)[inside]
        if asked.region is not None:
            values = _only_in(asked.region.slices, (rows, columns), values, colours[inside])
        return values, samples[..., channels:][inside]


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


def _turned(problem: Problem) -> Problem:
    """Return the problem with rows for columns: what holds for bands of rows holds for those of columns."""
    (rows, columns), (row, column) = problem.mask_shape, problem.anchor
    return replace(
        problem,
        height=problem.width,
        width=problem.height,
        mask_shape=(columns, rows),
        anchor=(column, row),
    )


def _joined(source: Source, level: int, down: Band, across: Band, ends_at: float) -> Samples:
    """Return the rectangles of a level that rows and columns name, joined to one picture."""
    parts = [
        [source.rectangle(level, slice(*rows), slice(*columns), ends_at) for columns in across.sources]
        for rows in down.sources
    ]
    if len(parts) == len(parts[0]) == 1:
        return parts[0][0]
    return np.concatenate([np.concatenate(row, axis=1) for row in parts])

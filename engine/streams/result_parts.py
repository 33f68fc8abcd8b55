"""Parts of the result of a job: filtered where they are asked for, with the bits of the whole.

A rectangle is filtered as a picture of its own, as a band is (`engine.streams.bands`), along both axes. A
variant whose sums depend on where a picture is cut filters the same bands of whole rows each time: so the
values of a pixel are always the same. Of a picture whose results are kept as a whole, because it is small,
the band is the whole; so a result that depends on the whole picture can be read there, too.

Called on: the main thread of the host process.
"""

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.device.anti_aliasing import reused_result
from engine.device.devices import backend
from engine.device_info import DeviceInfo
from engine.errors import BadValue, ImageReadError
from engine.host import shared
from engine.host.display_levels import full_scale, value_range
from engine.host.halved_tiles import HalvedTiles
from engine.host.picture_jobs import attached, keeps_values
from engine.host.protocol import PictureHandle
from engine.host.tile_jobs import opened
from engine.host.tiles import TILE, Place, TiledScreen
from engine.results.measurement import StepTime
from engine.results.progress import Checkpoint, Progress
from engine.run.compute import compute
from engine.run.task import AnyJob
from engine.streams.bands import Band, band, rows_of_chunk
from engine.verify.regions import Region
from engine.work.filtering.clipping import clipped_part, clipped_values
from engine.work.filtering.large import resolved_for_tiles
from engine.work.filtering.messages import FilterJob
from engine.work.filtering.problem import Problem
from engine.work.filtering.task import filter_job
from engine.work.filtering.variants import Variant
from engine.work.messages import ChainJob
from engine.work.planned import as_cut, most_between, uncut_step
from engine.work.resolve import ResolvedChain
from engine.work.step_times import steps_of

# The range of a picture in its file is that of so many parts of it, along each axis.
_PARTS = 4
# Values of a band of whole rows, of all steps of a chain together. Their memory serves the next band: fresh
# pages take longer than the filter.
_BAND_BYTES = 16 << 20
# Shapes of parts of a chain: bands have three, tiles a few.
_MOST_PLANS = 8
# A band has so many times the rows that are filtered for it above and below.
_ROWS_PER_HALO = 8

Samples = NDArray[Any]
PartsJob = FilterJob | ChainJob


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


class ResultParts(ABC):
    """A job, ready to be computed anywhere in its picture: each variant and block chosen once, for all of it.

    `asked` is the job as it was asked for, `job` that with device, variants and blocks; `chosen` is what runs
    on the whole picture. `cut_by` is a filtering whose windows are what a result depends on. While a band is
    computed there are so many `arrays` of its size.
    """

    def __init__(
        self,
        asked: PartsJob,
        job: PartsJob,
        chosen: AnyJob,
        cut_by: Problem,
        device: DeviceInfo,
        *,
        band_invariant: bool,
        range_mode: str,
        arrays: int = 1,
    ) -> None:
        self.asked, self.job, self.chosen, self.device = asked, job, chosen, device
        self.range_mode = range_mode
        self.steps: tuple[StepTime, ...] = ()
        self._problem, self._band_invariant = cut_by, band_invariant
        self._ends: tuple[float, float] | None = None
        self._band_bytes = _BAND_BYTES // arrays
        self._is_in_memory = not isinstance(asked.picture.screen, TiledScreen)
        self._is_one_band = self._is_in_memory and keeps_values(asked.picture)
        # Of a variant that filters whole bands only.
        self._last: tuple[slice, Samples] | None = None

    @property
    def region(self) -> Region | None:
        """The part that is filtered: the rest keeps the picture's values. None: all of it."""
        return None

    @property
    def clipped(self) -> tuple[float, float]:
        """The parts of the result below black and above white, 0 to 1, where they are known."""
        return 0.0, 0.0

    def let_go(self) -> None:
        """Keep no values: they are computed again."""
        self._last = None

    @abstractmethod
    def refuse(self) -> None:
        """Raise an EngineError for what cannot be done with the whole picture."""

    @abstractmethod
    def _computed(self, samples: Samples) -> Samples:
        """Compute a part as a picture of its own, both (H, W, C)."""

    def values(
        self, source: Source, level: int, rows: slice, columns: slice, ends_at: float
    ) -> tuple[Samples, Samples]:
        """Return the result in a rectangle of a level, and the opacity there (no channel without one).

        Raises what `HalvedTiles.rectangle` raises.
        """
        if self._is_in_memory and not self._band_invariant:
            opacity = source.rectangle(level, rows, columns, ends_at)[..., self._problem.channels :]
            return self._of_whole_bands(source, rows)[:, columns], opacity
        return self._rectangle(source, level, rows, columns, ends_at)

    def bands(self, source: Source, report: Checkpoint) -> Iterator[tuple[slice, Samples]]:
        """Yield the result of a picture in memory in bands of whole rows."""
        edges = self._edges()
        expected_s = 2.0 + self.chosen.task.expected_launch_s(self.chosen, self.device)
        for top, bottom in itertools.pairwise(edges):
            report(Progress("filtering", top / edges[-1], expected_s))
            yield slice(top, bottom), self._band(source, slice(top, bottom))

    def ends(self, source: Source, report: Checkpoint) -> tuple[float, float] | None:
        """Return the range that "rescale" maps to the screen's; of a picture in its file that of parts."""
        if self.range_mode == "rescale" and self._ends is None:
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
        if self._is_one_band:
            return [0, height]
        rows = max(rows_of_chunk(self._problem, self._band_bytes), _ROWS_PER_HALO * mask_rows)
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
        colours = np.ascontiguousarray(samples[..., :channels])
        inside = (
            slice(down.skip, down.skip + rows.stop - rows.start),
            slice(across.skip, across.skip + columns.stop - columns.start),
        )
        values = self._computed(colours)[inside]
        if self.region is not None:
            values = _only_in(self.region.slices, (rows, columns), values, colours[inside])
        return values, samples[..., channels:][inside]


class FilterParts(ResultParts):
    """A filtering, by one variant."""

    job: FilterJob

    def __init__(self, asked: FilterJob) -> None:
        self._resolved = resolved = resolved_for_tiles(asked)
        chosen, device = resolved.job(), resolved.device
        key, block = chosen.variant.key, chosen.block
        job = replace(asked, variant=key, block=block, device=device.key)
        super().__init__(
            asked,
            job,
            chosen,
            resolved.problem,
            device,
            band_invariant=chosen.variant.band_invariant,
            range_mode=asked.range_mode,
        )

    @property
    def region(self) -> Region | None:
        """The part that is filtered."""
        return self.job.region

    @property
    def clipped(self) -> tuple[float, float]:
        """The parts of the result below black and above white, 0 to 1."""
        samples = shared.attach(self.job.picture.in_memory)
        return clipped_part(samples, self.job.mask, self._resolved.problem, self.range_mode)

    def refuse(self) -> None:
        """Raise an EngineError for what cannot be done with the whole picture."""
        chosen = self.chosen
        chosen.task.refuse(chosen.variant, chosen.problem, self.job.mask, chosen.block, self.device)

    def _computed(self, samples: Samples) -> Samples:
        asked, height, width = self.job, *samples.shape[:2]
        part = replace(self._resolved.problem, height=height, width=width)
        out = reused_result(samples, samples.shape, part.result_dtype)
        job = filter_job(self._resolved.choice, part, asked.mask, samples, layout=asked.layout)
        return compute(job, backend(self.device.key), out).reshape(samples.shape)


class ChainParts(ResultParts):
    """A chain: each part goes through all of its steps. A large picture's look at no more than windows.

    `steps` are these with the time that each took so far, on the CPU.
    """

    job: ChainJob

    def __init__(self, asked: ChainJob) -> None:
        samples = shared.attach(asked.picture.in_memory)
        resolved = ResolvedChain(asked, samples, in_bands=True)
        chosen, device = resolved.job(), resolved.device
        job = replace(asked, chain=resolved.as_planned, shown="", device=device.key)
        uncut = uncut_step(resolved.plan)
        if uncut is not None and not keeps_values(asked.picture):
            raise BadValue(
                f"The result of step {uncut.step.id} ({uncut.step.title})",
                "each of its values depends on the whole picture, which is too large to compute it for a few",
                "Crop the picture to a region.",
            )
        variants = [planned.variant for planned in resolved.plan]
        super().__init__(
            asked,
            job,
            chosen,
            as_cut(resolved.problem, resolved.plan),
            device,
            band_invariant=uncut is None
            and all(one.band_invariant for one in variants if isinstance(one, Variant)),
            range_mode=asked.chain.range,
            # With one of the band before.
            arrays=most_between(resolved.plan) + 2,
        )
        self._clipped = 0.0, 0.0
        # A plan is made once for parts of one shape.
        self._planned: dict[tuple[int, ...], ResolvedChain] = {}

    @property
    def clipped(self) -> tuple[float, float]:
        """The parts of the result below black and above white, 0 to 1, once its bands were made."""
        return self._clipped

    def refuse(self) -> None:
        """Raise an EngineError for what cannot be done with the whole picture."""
        self.chosen.refuse(self.device)

    def bands(self, source: Source, report: Checkpoint) -> Iterator[tuple[slice, Samples]]:
        """Yield the result of a picture in memory in bands of whole rows."""
        white = full_scale(np.dtype(self.job.picture.dtype))
        below = above = 0.0
        for rows, values in super().bands(source, report):
            found, share = clipped_values(values, white, self.range_mode), len(values) / self._problem.height
            below, above = below + share * found.below, above + share * found.above
            yield rows, values
            # Its memory serves the next band.
            del values
        self._clipped = below, above

    def _computed(self, samples: Samples) -> Samples:
        if samples.shape not in self._planned:
            if len(self._planned) == _MOST_PLANS:
                self._planned.clear()
            self._planned[samples.shape] = ResolvedChain(self.job, samples)
        resolved = self._planned[samples.shape]
        # The plan is that of the shape; only the samples are others.
        resolved.samples = samples
        job, out = resolved.job(), reused_result(samples, samples.shape, np.float32)
        if self.device.kind != "cpu":
            # What lies between stays on the device for one launch.
            return compute(job, backend(self.device.key), out).reshape(samples.shape)
        job.refuse(self.device)
        chain: Any = job.task.prepare(job)
        chain.launch(samples, out)
        before = {step.id: step.ms or 0.0 for step in self.steps}
        took = {key: before.get(key, 0.0) + ms for key, ms in chain.took_ms.items()}
        self.steps = steps_of(resolved.plan, took)
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

"""Tiles of a result: a large picture is filtered where it is seen, at the level that is seen.

A rectangle is filtered as a picture of its own, as a band is (`engine.streams.bands`), along both axes: at
full size its results have the bits of the whole. At other levels the mask is applied to the reduced picture.

Called on: the main thread of the host process.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.device.devices import backend
from engine.errors import ImageReadError
from engine.host.display_levels import full_scale, value_range
from engine.host.halved_tiles import HalvedTiles
from engine.host.tile_jobs import answered, as_values, opened
from engine.host.tiles import TILE, Place, ResultTiles, ResultValues, Tiles, Values
from engine.results.progress import Checkpoint, Progress
from engine.run.compute import compute
from engine.streams.bands import Band, band
from engine.tasks.filtering.large import resolved_for_tiles
from engine.tasks.filtering.messages import FilterJob
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.task import filter_job

# Neighbours in a row that are filtered together.
_MOST_TOGETHER = 4
# The range of a result is that of so many parts of it, along each axis.
_PARTS = 4


class TiledResult:
    """A job on a large picture, ready to be computed anywhere in it: one variant and block for all of it."""

    def __init__(self, job: FilterJob) -> None:
        self.job = job
        self._resolved = resolved_for_tiles(job)
        self._backend = backend(self._resolved.device.key)
        self._ends: tuple[float, float] | None = None

    def values(
        self, tiles: HalvedTiles, level: int, rows: slice, columns: slice, ends_at: float
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the result in a rectangle of a level, and the opacity there (no channel without one).

        Raises what `HalvedTiles.rectangle` raises.
        """
        height, width = tiles.levels[level]
        problem = replace(self._resolved.problem, height=height, width=width)
        down = band(problem, rows.start, rows.stop)
        across = band(_turned(problem), columns.start, columns.stop)
        samples = _joined(tiles, level, down, across, ends_at)
        channels = problem.channels
        part = replace(problem, height=samples.shape[0], width=samples.shape[1])
        choice, asked = self._resolved.choice, self.job
        colours = np.ascontiguousarray(samples[..., :channels])
        computed = compute(filter_job(choice, part, asked.mask, colours, layout=asked.layout), self._backend)
        inside = (
            slice(down.skip, down.skip + rows.stop - rows.start),
            slice(across.skip, across.skip + columns.stop - columns.start),
        )
        return computed.reshape(colours.shape)[inside], samples[..., channels:][inside]

    def ends(self, tiles: HalvedTiles) -> tuple[float, float] | None:
        """Return the range that "rescale" maps to the screen's: that of parts of the result in full size."""
        if self.job.range_mode == "rescale" and self._ends is None:
            lowest, highest = math.inf, -math.inf
            count = tiles.extent(0, (0, 0)), tiles.levels[0]
            starts = [
                sorted({number * max(0, side - (part.stop)) // (_PARTS - 1) for number in range(_PARTS)})
                for part, side in zip(count[0], count[1], strict=True)
            ]
            for top in starts[0]:
                for left in starts[1]:
                    rows = slice(top, min(top + TILE, tiles.levels[0][0]))
                    columns = slice(left, min(left + TILE, tiles.levels[0][1]))
                    try:
                        values, _ = self.values(tiles, 0, rows, columns, math.inf)
                    except ImageReadError:
                        continue
                    low, high = value_range(np.ascontiguousarray(values))
                    lowest, highest = min(lowest, low), max(highest, high)
            self._ends = lowest, highest
        return self._ends


_newest: TiledResult | None = None


def _result_of(job: FilterJob) -> TiledResult:
    global _newest
    if _newest is None or _newest.job != job:
        _newest = TiledResult(job)
    return _newest


def result_tiles(request: ResultTiles[FilterJob], report: Checkpoint) -> Tiles:
    """Return the tiles of a result that are ready in time."""
    report(Progress("filtering what is seen", 0.0, 2.0))
    job, level, wanted = request.job, request.level, set(request.tiles)
    tiles, result = opened(request.screen.key), _result_of(request.job)
    ready: dict[Place, NDArray[Any] | None] = {}

    def filtered(first: Place, last: Place, ends_at: float) -> None:
        rows, columns = tiles.extent(level, first)
        right = tiles.extent(level, last)[1].stop
        values, opacity = result.values(tiles, level, rows, slice(columns.start, right), ends_at)
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
                tiles.fault = error
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
        tiles,
        white=full_scale(np.dtype(job.picture.dtype)),
        range_mode=job.range_mode,
        ends=result.ends(tiles),
    )


def result_values(request: ResultValues[FilterJob], report: Checkpoint) -> Values:
    """Return the values of a result in a few pixels of full size."""
    report(Progress("filtering what is seen", 0.0, 2.0))
    tiles = opened(request.screen.key)
    rows, columns = slice(*request.rows), slice(*request.columns)
    values, _ = _result_of(request.job).values(tiles, 0, rows, columns, math.inf)
    return as_values(rows.start, columns.start, values)


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


def _joined(tiles: HalvedTiles, level: int, down: Band, across: Band, ends_at: float) -> NDArray[Any]:
    """Return the rectangles of a level that rows and columns name, joined to one picture."""
    return np.concatenate(
        [
            np.concatenate(
                [
                    tiles.rectangle(level, slice(*rows), slice(*columns), ends_at)
                    for columns in across.sources
                ],
                axis=1,
            )
            for rows in down.sources
        ]
    )

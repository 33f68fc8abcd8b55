"""Verification: which parts of a result are compared with the float64 oracle, how, and the words that say so.

Where the oracle cannot afford all, these are its edges and a grid of pixels.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from random import Random
from typing import NamedTuple

import numpy as np

from engine.verify import closeness

# From one pixel that is checked to the next, where the oracle cannot afford all. Each tile of so many rows
# and columns has one. Steps are odd and the sides of blocks even, so each thread of a block is met in some.
LEAST_STEP = 7
# The grid takes so many multiply-adds (4 ms), or a sixteenth of what the oracle can afford, if that is more;
# at most half. Of 12 megapixels of colour and 9 x 9, `filter` checks every 15th row and column, `batch` every
# 27th.
GRID_MULTIPLY_ADDS = 4_000_000
GRID_SHARE = 16


class Region(NamedTuple):
    """A rectangle of result pixels, rows top .. bottom - 1, or every `step`-th row and column of it."""

    top: int
    bottom: int
    left: int
    right: int
    step: int = 1

    @property
    def ranges(self) -> tuple[range, range]:
        """The rows and the columns of its pixels."""
        return range(self.top, self.bottom, self.step), range(self.left, self.right, self.step)

    @property
    def pixels(self) -> int:
        """How many pixels."""
        return math.prod(map(len, self.ranges))

    @property
    def slices(self) -> tuple[slice, slice]:
        """The pixels as (row, column) slices of an array."""
        return slice(self.top, self.bottom, self.step), slice(self.left, self.right, self.step)

    @property
    def around(self) -> tuple[tuple[slice, slice], ...]:
        """What of an array lies around its pixels: four (row, column) slices."""
        rows, every = slice(self.top, self.bottom), slice(None)
        return (
            (slice(0, self.top), every),
            (slice(self.bottom, None), every),
            (rows, slice(0, self.left)),
            (rows, slice(self.right, None)),
        )

    def bands(self, pixels: int) -> Iterator["Region"]:
        """Yield the region in smaller ones of at most so many pixels, at least one each."""
        step = self.step
        columns = max(1, min(len(self.ranges[1]), pixels))
        rows = max(1, pixels // columns)
        for top in range(self.top, self.bottom, rows * step):
            for left in range(self.left, self.right, columns * step):
                bottom, right = min(top + rows * step, self.bottom), min(left + columns * step, self.right)
                yield Region(top, bottom, left, right, step)


def affordable_regions(
    height: int, width: int, edges: tuple[int, int], cost: int, affordable: int, seed: int
) -> tuple[Region, ...]:
    """Return the whole result where the oracle can afford it; else its four edges, and a grid of pixels.

    No two regions overlap, so that their elements add up to what is really checked. The grid takes at most a
    part of what the oracle can afford, and begins where `seed` says. `edges` are the rows and columns of the
    edges, which are checked whatever they cost; on thin results they are thinner. `cost` are the multiply-
    adds that the oracle spends on one element, of the `affordable` ones in all.
    """
    if height * width * cost <= affordable:
        return (Region(0, height, 0, width),)
    elements = max(4096, affordable // cost)
    rows = max(1, min(edges[0], height, elements // (8 * width)))
    columns = max(1, min(edges[1], width, elements // (8 * height)))
    bottom, right = max(rows, height - rows), max(columns, width - columns)
    outer = (
        Region(0, rows, 0, width),
        Region(bottom, height, 0, width),
        Region(rows, bottom, 0, columns),
        Region(rows, bottom, right, width),
    )
    inner = (bottom - rows) * (right - columns)
    most = min(elements // 2, max(elements // GRID_SHARE, GRID_MULTIPLY_ADDS // cost))
    step = max(LEAST_STEP, math.ceil(math.sqrt(inner / most)) | 1)
    # Not NumPy's, whose import takes as long as the check of a small picture.
    chance = Random(seed)
    down, across = chance.randrange(step), chance.randrange(step)
    top = min(rows + down, max(rows, bottom - 1))
    left = min(columns + across, max(columns, right - 1))
    inside = Region(top, bottom, left, right, step)
    return tuple(region for region in (*outer, inside) if region.pixels > 0)


class CheckedSamples:
    """Stands for a result (H, W, C) of which only these regions, that do not overlap, or bands are read."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, regions: Sequence[Region]) -> None:
        self.shape, self.dtype = shape, dtype
        self._kept = [(region, np.empty((*map(len, region.ranges), *shape[2:]), dtype)) for region in regions]

    def keep(self, top: int, band: np.ndarray) -> None:
        """Keep what is verified of the rows that begin at `top`."""
        for region, kept in self._kept:
            rows, _ = region.ranges
            # The first of the region's rows from `top` on, and from the end of the band on.
            first, last = (max(0, -(-(row - rows.start) // rows.step)) for row in (top, top + len(band)))
            chosen = rows[first:last]
            if chosen:
                taken = slice(chosen.start - top, chosen.stop - top, rows.step), region.slices[1]
                kept[first : first + len(chosen)] = band[taken]

    def __getitem__(self, at: tuple[slice, slice]) -> np.ndarray:
        """Return the samples of a region, or of a band of one."""
        rows, columns = at
        for region, kept in self._kept:
            if region.top <= rows.start < region.bottom and region.left <= columns.start < region.right:
                return kept[_among(rows, region.ranges[0]), _among(columns, region.ranges[1])]
        raise IndexError(f"{at} was not kept")


def _among(wanted: slice, kept: range) -> slice:
    """Return where rows or columns lie among those that are kept, which are as far apart."""
    first = kept.index(wanted.start)
    return slice(first, first + len(range(wanted.start, wanted.stop, kept.step)))


@dataclass(frozen=True)
class Inputs:
    """A picture (H, W, C), and which of its samples a result depends on."""

    samples: np.ndarray
    before: tuple[int, int] = (0, 0)  # rows and columns that a result reads above and left of its place
    after: tuple[int, int] = (0, 0)  # and below and right of it
    ghost: float | None = None  # value of cells outside the picture, where it is none of the picture's
    gain: float = 1.0  # by how much a result changes, at most, where all samples that it reads change by 1
    jump: float = 0.0  # how high a jump is, such as that of a threshold: both its ends may be right
    has_sums: bool = True  # whether the limits of results have the sums of magnitudes behind each

    def near(self, region: Region) -> closeness.Near:
        """Return what bounds of the results of a region are held against."""
        samples = partial(self.samples_of, region)
        return closeness.Near(samples=samples, hidden=lambda: self.hidden, has_sums=self.has_sums)

    def samples_of(self, region: Region, rows: slice, columns: slice) -> tuple[float, float]:
        """Return range and largest magnitude of the samples that a part of a region of results depends on."""
        down, across = region.ranges[0][rows], region.ranges[1][columns]
        height, width = self.samples.shape[:2]
        top, bottom = down[0] - self.before[0], down[-1] + 1 + self.after[0]
        left, right = across[0] - self.before[1], across[-1] + 1 + self.after[1]
        values = self.samples[max(0, top) : bottom, max(0, left) : right].astype(np.float64)
        values = values[np.isfinite(values)]
        if self.ghost is not None and (top < 0 or left < 0 or bottom > height or right > width):
            values = np.append(values, self.ghost)
        if not values.size:
            return 0.0, self.jump
        return self.gain * float(np.ptp(values)), max(self.jump, self.gain * float(np.abs(values).max()))

    @cached_property
    def hidden(self) -> float:
        """What hides nothing of the picture, times the gain.

        That is u of a sample that is not 0, as half of these are no larger, and u^2 of the largest one: the
        far ends of a bell, at 1e-30.
        """
        sizes = np.abs(self.samples[np.isfinite(self.samples) & (self.samples != 0)]).astype(np.float64)
        if not sizes.size:
            return 0.0
        return (
            self.gain
            * closeness.UNIT_ROUNDOFF
            * max(float(np.median(sizes)), closeness.UNIT_ROUNDOFF * float(sizes.max()))
        )


def verify_regions(
    result: np.ndarray | CheckedSamples,
    regions: Sequence[Region],
    band_pixels: int,
    oracle: Callable[[Region], tuple[np.ndarray, closeness.Limits]],
    checkpoint: Callable[[float], None],
    inputs: Inputs | None = None,
) -> closeness.Verification:
    """Compare regions of a result (rows, columns[, channels]) with the oracle.

    It is float32, or 8 or 16 bit, saturated and rounded half to even. So many pixels are compared at once:
    float64 copies stay small, and a cancellation is noticed soon. The oracle gives the exact results of a
    band, and what gives their limits, which is called only where something differs. The checkpoint is called
    with the fraction done, and may raise to stop. Without `inputs`, the picture whose values a result is made
    of, results are in another unit.
    """
    verdict, checked, total = closeness.NOTHING, 0, sum(region.pixels for region in regions)
    comparison = closeness.compare if result.dtype.kind == "f" else closeness.compare_quantised
    for band in (band for region in regions for band in region.bands(band_pixels)):
        checkpoint(checked / total)
        near = closeness.ALONE if inputs is None else inputs.near(band)
        verdict = verdict.joined(comparison(result[band.slices], *oracle(band), partial(_place, band), near))
        checked += band.pixels
    height, width = result.shape[:2]
    step = max((region.step for region in regions), default=1)
    chosen = f"the edges, and of the rest every {step}th row and column" if step > 1 else "the edges"
    return verdict.of_pixels(checked, height * width, chosen)


def _place(band: Region, at: tuple[int, ...]) -> str:
    row, column, *channel = at
    pixel = band.top + row * band.step, band.left + column * band.step
    return ", ".join([f"row {pixel[0]}", f"column {pixel[1]}", *(f"channel {c}" for c in channel)])

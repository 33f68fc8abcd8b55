"""The oracle, correlation in float64 by an explicit index map, and how well a result agrees with it.

The oracle is slow and obvious; no line is shared with a variant.

The weights and the offset are taken as the kernels get them, rounded to float32; from there on every product
and sum is float64. Only the border's index rule is shared with the variants, because it *is* the definition
of the border.

    result[r, c] = offset + sum over (m, n) of weights[m, n] * image[r + m - up, c + n - left]

where (up, left) is the anchor. What is compiled are plain loops: each product and each sum is rounded on its
own, in this order. A picture is (H, W x channels) there; -1 in a table is a ghost cell. With `absolute` cells
are magnitudes, and those that are not finite count as 0.

How well a result agrees with the float64 oracle, by a bound that is computed and not chosen.

A float32 sum of n products and an offset, in whatever order and fused or not, lies within

    |result - oracle| <= gamma * S + (n + 1) * 2^-149,   gamma = (n + 2) u / (1 - (n + 2) u),   u = 2^-24

where S = |weights| correlated with |image| (plus |offset|) (Higham, Accuracy and Stability of Numerical
Algorithms, 2nd ed., sections 2.2 and 3.1). Each product is rounded once (or, fused, not at all) and then
takes part in at most n additions, whether they form one long sum or a partial sum per mask row, the offset's
included: n + 1 roundings. One more pays for the oracle's own float64 and for the bound's. The last term
covers products that are subnormal.

Where a mask is applied as T columns times rows, in two passes, a subnormal product loses 2^-150 too, of which
the second pass makes |column| times as much. A product with a whole weight loses nothing, because it is a
multiple of 2^-149 itself, and neither do additions. With C' weights of a row and R' of a column that are not
whole, the lost parts add up to at most

    sum over the T of (C' sum |column| + R') 2^-150 (1 + gamma)

and what that is more than (n + 1) 2^-149 is granted beside the bound (`added_steps`). It is 0 for masks whose
weights add up to 1; for 13 x 13 ones, which are 16 times 1/16, it is 1182 steps of 2^-149.

Where every product and sum is a whole multiple of one power of two, and none reaches 2^24 of it, nothing is
ever rounded: the result has to be equal bit for bit.

`engine.verify.closeness.compare_quantised` says what the bound means for results of 8 and 16 bit.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from engine.compiled.entry_point import entry_point
from engine.compiled.late_names import late_njit
from engine.compiled.machine_code import MachineFunction
from engine.geometry.border import Border
from engine.mask.factors import EXACT_STEPS, factor, low_rank, step_of
from engine.mask.mask import Mask
from engine.verify.closeness import SMALLEST_SUBNORMAL, Limits, Verification, relative_bound
from engine.verify.verification import CheckedSamples, Inputs, Region, affordable_regions, verify_regions
from engine.work.problem import Problem

Float64Array = NDArray[np.float64]
Places = NDArray[np.intp]

# 0 x infinity is NaN, as in the variants.
_gather, _sum_cells, _sum_apart = (
    MachineFunction(__name__, name, error_model="numpy") for name in ("gather", "sum_cells", "sum_apart")
)
# Cells that are gathered at once, so that they stay in a core's second cache.
_CELLS = 1 << 16
# Sums at once, so that they and the cells of all mask columns stay in its first one: 2 to 5 times as fast as
# whole rows of colour, which were not made of vector instructions.
_NEAR = 512
# The oracle makes 1 (of a grid) to 8 G multiply-adds per second; a check may need two sums: 2.5e8 keeps
# it below 0.4 s.
AFFORDABLE_MULTIPLY_ADDS = 250_000_000
# A band costs the oracle about 0.2 s at most. Larger ones are no faster, and take memory: with 2^18 pixels of
# colour 40 MB for the errors of a picture.
BAND_PIXELS = 1 << 15
BAND_MULTIPLY_ADDS = 100_000_000


@late_njit(inline="always")
def cell(value, absolute):
    """Return a sample as the sums take it."""
    number = np.float64(value)
    if absolute:
        return abs(number) if np.isfinite(number) else 0.0
    return number


def gather(picture, rows, columns, channels, ghost, absolute, inside, past_inside, cells):
    """Fill `cells`, (rows, columns x channels); columns inside .. past_inside - 1 are neighbours in a row."""
    entry_point()
    for r in range(rows.size):
        row = rows[r]
        if row < 0:
            cells[r, :] = cell(ghost, absolute)
            continue
        for c in range(columns.size):
            if inside <= c < past_inside:
                continue
            for channel in range(channels):
                value = ghost
                if columns[c] >= 0:
                    value = np.float64(picture[row, columns[c] * channels + channel])
                cells[r, c * channels + channel] = cell(value, absolute)
        if inside < past_inside:
            # Loops over slices become vector instructions: an index that might be negative prevents it.
            first, count = columns[inside] * channels, (past_inside - inside) * channels
            sources = picture[row, first : first + count]
            targets = cells[r, inside * channels : inside * channels + count]
            for sample in range(count):
                targets[sample] = cell(sources[sample], absolute)


def sum_cells(cells, weights, offset, channels, out):
    """Fill `out`, (rows, columns x channels), with the sums of weights (M, N) times cells, and the offset."""
    entry_point()
    for r in range(out.shape[0]):
        for first in range(0, out.shape[1], _NEAR):
            sums = out[r, first : first + _NEAR]
            sums[:] = offset
            for m in range(weights.shape[0]):
                for n in range(weights.shape[1]):
                    weight, begin = weights[m, n], first + n * channels
                    under = cells[r + m, begin : begin + sums.size]
                    for sample in range(sums.size):
                        sums[sample] += weight * under[sample]


def sum_apart(picture, rows, columns, channels, ghost, absolute, weights, offset, out):
    """Fill `out` as `sum_cells` does, where each result has its own M rows and N columns in the tables."""
    entry_point()
    mask_rows, mask_columns = weights.shape
    for r in range(out.shape[0]):
        for result in range(out.shape[1] // channels):
            for channel in range(channels):
                total = offset
                for m in range(mask_rows):
                    row = rows[r * mask_rows + m]
                    for n in range(mask_columns):
                        column = columns[result * mask_columns + n]
                        value = ghost
                        if row >= 0 and column >= 0:
                            value = np.float64(picture[row, column * channels + channel])
                        total += weights[m, n] * cell(value, absolute)
                out[r, result * channels + channel] = total


def border_sources(wanted: Places, length: int, border: Border) -> Places:
    """Return the row or column that each wanted one is read from, -1 for a ghost cell."""
    sources = wanted.copy()
    for place in zip(*np.nonzero((wanted < 0) | (wanted >= length)), strict=True):
        sources[place] = border.rule(int(wanted[place]), length)
    return sources


def sources_of_each(
    results: Iterable[ArrayLike],
    mask_shape: tuple[int, int],
    anchor: tuple[int, int],
    shape: tuple[int, ...],
    border: Border,
) -> list[Places]:
    """Return the rows and the columns of the cells under a mask: (results, taps), -1 for a ghost cell."""
    return [
        border_sources(np.array(places, np.intp)[:, np.newaxis] - before + np.arange(taps), length, border)
        for places, taps, before, length in zip(results, mask_shape, anchor, shape[:2], strict=True)
    ]


def _as_summed(mask: Mask, absolute: bool) -> tuple[Float64Array, float]:
    weights, offset = mask.weights32.astype(np.float64), float(np.float32(mask.offset))
    return (np.abs(weights), abs(offset)) if absolute else (weights, offset)


def correlate(
    image: np.ndarray,
    mask: Mask,
    border: Border = Border.ZERO,
    cval: float = 0.0,
    region: Region | None = None,
    *,
    absolute: bool = False,
) -> Float64Array:
    """Correlate a picture (H, W[, C]) of any real type in float64; the result has the shape of the region.

    Weights, offset and `cval` are rounded to float32 as the kernels get them. With `absolute` |weights| are
    correlated with |image| and |offset| is added, the S of the rounding bound: cells that are not finite
    count as 0 there, because nothing is rounded where they take part.
    """
    region = region or Region(0, image.shape[0], 0, image.shape[1])
    if image.dtype not in (np.uint8, np.uint16, np.float32):
        image = image.astype(np.float64)
    (rows, columns), channels = region.ranges, math.prod(image.shape[2:])
    ghost = float(np.float32(cval)) if border.takes_value else 0.0
    shape = len(rows), len(columns), *image.shape[2:]
    if region.step > 1:
        down, across = sources_of_each((rows, columns), mask.shape, mask.anchor, image.shape, border)
        samples = image.reshape(*image.shape[:2], channels)
        return correlate_at(samples, mask, down, across, ghost, absolute=absolute).reshape(shape)
    weights, offset = _as_summed(mask, absolute)
    # Neighbouring results share rows and columns, and the columns that lie in the picture are neighbours.
    begin, end = columns.start - mask.anchor[1], columns.stop - mask.anchor[1] + mask.columns - 1
    top, bottom = rows.start - mask.anchor[0], rows.stop - mask.anchor[0] + mask.rows - 1
    down = border_sources(np.arange(top, bottom), image.shape[0], border)
    across = border_sources(np.arange(begin, end), image.shape[1], border)
    inside, past_inside = max(0, -begin), across.size - max(0, end - image.shape[1])
    picture = np.ascontiguousarray(image).reshape(image.shape[0], -1)
    band = max(1, _CELLS // (across.size * channels))
    cells = np.empty((band + mask.rows - 1, across.size * channels))
    result = np.empty((len(rows), len(columns) * channels))
    for first in range(0, len(rows), band):
        out = result[first : first + band]
        taken = down[first : first + len(out) + mask.rows - 1]
        _gather(picture, taken, across, channels, ghost, absolute, inside, past_inside, cells)
        _sum_cells(cells, weights, offset, channels, out)
    return result.reshape(shape)


def correlate_at(
    values: np.ndarray, mask: Mask, down: Places, across: Places, ghost: float, *, absolute: bool = False
) -> Float64Array:
    """Correlate at results whose cells lie in given rows and columns of `values` (H, W, C).

    `down` and `across` are (results, taps), -1 for a ghost cell. With `absolute` as `correlate`.
    """
    weights, offset = _as_summed(mask, absolute)
    channels = values.shape[2]
    result = np.empty((len(down), len(across) * channels))
    picture = np.ascontiguousarray(values).reshape(len(values), -1)
    rows, columns = (np.ascontiguousarray(one, np.int64).reshape(-1) for one in (down, across))
    _sum_apart(picture, rows, columns, channels, ghost, absolute, weights, offset, result)
    return result.reshape(len(down), len(across), channels)


def rounding_bound(magnitudes: np.ndarray, taps: int) -> np.ndarray:
    """Return the bound of |result - oracle| for `taps` products and an offset; `magnitudes` is S, float64."""
    return relative_bound(taps + 2) * magnitudes + (taps + 1) * SMALLEST_SUBNORMAL


def added_steps(columns: np.ndarray, rows: np.ndarray) -> float:
    """Return what columns (M, terms) times rows (terms, N) may be off beyond the bound, in 2^-149."""
    high, wide = len(columns), rows.shape[1]
    weight = np.abs(columns.astype(np.float64)).sum(axis=0)
    along, down = (rows != np.rint(rows)).sum(axis=1), (columns != np.rint(columns)).sum(axis=0)
    lost = float((along * weight + down).sum()) / 2 * (1 + relative_bound(wide + columns.size + 2))
    return max(0.0, lost - float(high * wide + 1))


def added_by_products(mask: Mask, rank: int) -> float:
    """Return what a mask as a sum of so many columns times rows may be off for subnormal samples."""
    if rank == 1:
        column, row, *_ = factor(mask)
        return added_steps(column[:, np.newaxis], row[np.newaxis]) * SMALLEST_SUBNORMAL
    products = low_rank(mask, rank)
    return added_steps(products.columns, products.rows) * SMALLEST_SUBNORMAL


def grain_of_sums(mask: Mask, ghost_value: float, grain: float, largest: float) -> float:
    """Return what all sums are whole multiples of where none of them is ever rounded; else 0.

    Samples are multiples of `grain`, 0 where none is known, and at most `largest`. The row of two passes is
    scaled until it adds up to 1 at most, by which its step stays above 2^-25: what it makes of a value with a
    step below 2^-124 may be rounded.
    """
    if not grain:
        return 0.0
    ghost, offset = float(np.float32(ghost_value)), float(np.float32(mask.offset))
    step_of_samples = min(grain, step_of(np.array([ghost])))
    step = min(step_of(mask.weights32) * step_of_samples, step_of(np.array([offset])))
    most = float(np.abs(mask.weights32.astype(np.float64)).sum()) * max(largest, abs(ghost)) + abs(offset)
    has_room = step >= SMALLEST_SUBNORMAL and step_of_samples >= SMALLEST_SUBNORMAL * 2**25
    return step if most == 0.0 or (has_room and most / step < EXACT_STEPS) else 0.0


def is_exact_class(image: np.ndarray, mask: Mask, ghost_value: float) -> bool:
    """Return whether every order of summation must give the very same float32 result.

    True for integer samples where all products, their sums and the offset are whole multiples of one power of
    two (weights such as 3 or 1/16) and the largest possible sum stays below 2^24 of it.
    """
    is_whole = image.dtype.kind in "iu"
    return is_whole and grain_of_sums(mask, ghost_value, 1.0, float(image.max(initial=0))) > 0.0


@dataclass(frozen=True)
class Expected:
    """The results of a picture as the oracle has them, which may be off by `added` beyond the bound."""

    image: np.ndarray
    mask: Mask
    problem: Problem
    added: float = 0.0

    @cached_property
    def is_exact(self) -> bool:
        """Whether the results have to be equal bit for bit."""
        return is_exact_class(self.image, self.mask, self.problem.ghost_value)

    def values(self, band: Region) -> np.ndarray:
        """Return the exact results of a region."""
        return correlate(self.image, self.mask, self.problem.border, self.problem.cval, band)

    def limits(self, band: Region) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of magnitudes behind them, and the bounds of their errors."""
        of = self.problem.border, self.problem.cval, band
        largest = correlate(self.image, self.mask, *of, absolute=True)
        if self.is_exact:
            return largest, np.zeros_like(largest)
        return largest, rounding_bound(largest, self.problem.taps) + self.added


def regions_to_check(problem: Problem, seed: int, affordable: int | None = None) -> tuple[Region, ...]:
    """Return the whole picture where the oracle can afford it; else its four edges and a grid of pixels."""
    cost = problem.taps * problem.channels
    affordable = AFFORDABLE_MULTIPLY_ADDS if affordable is None else affordable
    return affordable_regions(problem.height, problem.width, problem.mask_shape, cost, affordable, seed)


def verify(
    result: np.ndarray | CheckedSamples,
    image: np.ndarray,
    mask: Mask,
    problem: Problem,
    added: float = 0.0,
    *,
    seed: int = 0,
    affordable: int | None = None,
    checkpoint: Callable[[float], None] = lambda fraction: None,
) -> Verification:
    """Compare a result of shape (H, W, C) and the problem's `result_dtype` with the oracle.

    `CheckedSamples` are those of `regions_to_check` with the same seed. `added` is what the result may be off
    beyond the bound (`Variant.added_to`); in the exact class nothing may be off. The rest is as of
    `engine.run.task.Task.verify`.
    """
    expected, weights = Expected(image, mask, problem, added), mask.weights32.astype(np.float64)
    before, after = zip(problem.reach.rows, problem.reach.columns, strict=True)
    ghost = problem.ghost_value if problem.border.has_ghost_cells else None
    gain = max(abs(float(weights.sum())), float(np.abs(weights).max()))
    inputs = Inputs(image, before, after, ghost, gain)

    def oracle(band: Region) -> tuple[np.ndarray, Limits]:
        return expected.values(band), partial(expected.limits, band)

    regions = regions_to_check(problem, seed, affordable)
    band_pixels = min(BAND_PIXELS, BAND_MULTIPLY_ADDS // (problem.taps * problem.channels))
    return verify_regions(result, regions, band_pixels, oracle, checkpoint, inputs)

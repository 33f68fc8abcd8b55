"""The oracle of a chain: every step in float64, with the range in which float32 may end.

The range goes through all steps. Let v be a step's exact values and low <= w <= high those that float32 may
have. A mask makes of them, with c the middle and r half the width of the range,

    |weights| r  +  gamma S  around  weights c,   S = |weights| max(|low|, |high|) + |offset|

where gamma S is the step's own rounding (`engine.work.filtering.oracle`). Sums of two results are masks
of two weights; a length grows by no more than its sides; minima, medians and the like keep the order, so
their ranges are those of their ends (`engine.work.operations.contract`). Where everything is a multiple of
one power of two and stays below 2^24 of it, nothing is rounded and the range is the value.

A threshold, or a histogram's bin, is a jump: where the range of a sample lies on both sides of it, float32
may end on either, and both are right. Such samples are counted as undecided.

Only the rows and columns that some results need are computed: those of each step are found backwards from the
last. No line is shared with a variant but the border's index rule, which is its definition.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from engine.mask.factors import EXACT_STEPS, step_of
from engine.mask.mask import Mask
from engine.verify.closeness import SMALLEST_SUBNORMAL, UNIT_ROUNDOFF, Limits, Verification
from engine.verify.verification import LEAST_STEP, Inputs, Region, affordable_regions, verify_regions
from engine.work.filtering.oracle import Places, correlate_at, grain_of_sums, rounding_bound, sources_of_each
from engine.work.filtering.variants import Variant
from engine.work.operations.contract import Floats, Range, operation_named
from engine.work.planned import Plan, PlannedStep
from engine.work.problem import OperationProblem, Problem
from engine.work.steps import CombineStep

# Cells of windows that are gathered at once.
_CELLS = 1 << 20
# The oracle makes some 0.3 G multiply-adds per second: 1 s, or less.
AFFORDABLE_MULTIPLY_ADDS = 250_000_000
# Pixels that are compared at once, of whole parts and of pixels apart, which need a window each: of 2048 of
# these the oracle of `bright-spots` takes 58 MB, of 512 it takes 11.
_TOGETHER, _APART = 1 << 16, 1 << 9


class Grid(NamedTuple):
    """The rows and the columns of a result that are computed, in order."""

    rows: Places
    columns: Places


class Computed(NamedTuple):
    """Values of a step on its grid; all are multiples of `grain`, exactly, which is 0 where none is known."""

    grid: Grid
    range: Range
    grain: float = 0.0
    undecided: int = 0  # samples within rounding of a jump, of the `jumped` ones that a step with jumps makes
    jumped: int = 0


@dataclass
class ChainOracle:
    """The oracle of one chain on one picture (H, W, C)."""

    samples: np.ndarray
    plan: Plan
    _of_all: dict[int, Callable[[Range], tuple[Range, int]]] = field(default_factory=dict)
    _added: dict[str, float] = field(default_factory=dict)

    def results(self, rows: Places, columns: Places, last: int | None = None) -> Computed:
        """Return the last step's values at some rows and columns, or those of an earlier one."""
        last = len(self.plan) - 1 if last is None else last
        needed: dict[int, Grid] = {last: Grid(rows, columns)}
        for at in range(last, -1, -1):
            if at in needed:
                planned, wanted = self.plan[at], needed[at]
                if isinstance(planned.problem, Problem):
                    places = self._under_mask(planned.problem, wanted)
                    wanted = Grid(*(np.unique(one[one >= 0]) for one in places))
                elif planned.problem is not None and planned.reach is not None:
                    wanted = Grid(*(np.unique(one) for one, _ in self._windows(planned.reach, wanted)))
                for input_ in planned.inputs:
                    known = needed.get(input_)
                    needed[input_] = wanted if known is None else Grid(*map(np.union1d, known, wanted))
        computed: dict[int, Computed] = {}
        if -1 in needed:
            computed[-1] = self._picture(needed[-1])
        undecided = jumped = 0
        for at in (at for at in range(last + 1) if at in needed):
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                computed[at] = self._step(at, [computed[one] for one in self.plan[at].inputs], needed[at])
            undecided, jumped = undecided + computed[at].undecided, jumped + computed[at].jumped
        return computed[last]._replace(undecided=undecided, jumped=jumped)

    def _picture(self, grid: Grid) -> Computed:
        values = self.samples[_at(grid)].astype(np.float64)
        grain = 0.0 if self.samples.dtype.kind == "f" else 1.0
        return Computed(grid, Range(values, values, values), grain)

    def _under_mask(self, problem: Problem, grid: Grid) -> list[Places]:
        return sources_of_each(grid, problem.mask_shape, problem.anchor, self.samples.shape, problem.border)

    def _windows(self, half: int, grid: Grid) -> list[tuple[Places, NDArray[np.bool_]]]:
        """Return along both axes the cells around each result, (results, side), and which lie inside."""
        wanted = [along[:, np.newaxis] + np.arange(-half, half + 1) for along in grid]
        sides = zip(wanted, self.samples.shape, strict=False)
        return [(np.clip(at, 0, length - 1), (at >= 0) & (at < length)) for at, length in sides]

    def _step(self, at: int, inputs: list[Computed], grid: Grid) -> Computed:
        planned = self.plan[at]
        if isinstance(planned.problem, Problem):
            return self._masked(planned, planned.problem, inputs[0], grid)
        if isinstance(planned.problem, OperationProblem):
            return self._operated(at, planned.problem, inputs[0], grid)
        return _combined(cast("CombineStep", planned.step), [_on(one, grid) for one in inputs], grid)

    def _masked(self, planned: PlannedStep, problem: Problem, read: Computed, grid: Grid) -> Computed:
        mask = cast("Mask", planned.mask)
        variant = cast("Variant", planned.variant)
        down, across = (
            _places(sources, own)
            for sources, own in zip(self._under_mask(problem, grid), read.grid, strict=True)
        )
        ghost = float(np.float32(problem.ghost_value))

        def sums(values: Floats, ghost: float = ghost, *, absolute: bool = False) -> Floats:
            return correlate_at(values, mask, down, across, ghost, absolute=absolute)

        value, low, high = read.range.parts
        result, size = sums(value), np.maximum(np.abs(low), np.abs(high))
        grain = grain_of_sums(mask, ghost, read.grain, float(size.max(initial=0.0)))
        if grain and not variant.added_error(problem, mask):
            return Computed(grid, Range(result, result, result), grain)
        if planned.step.id not in self._added:
            # A step of another input that adds an error is refused where it is planned.
            self._added[planned.step.id] = variant.added_to(problem, mask, self.samples)
        bound = rounding_bound(sums(size, absolute=True), problem.taps) + self._added[planned.step.id]
        if low is value:
            return Computed(grid, Range(result, result - bound, result + bound))
        half, middle = (high - low) / 2, (high + low) / 2
        half[~np.isfinite(half)], middle = 0.0, np.where(np.isfinite(middle), middle, value)
        centre, spread = sums(middle), sums(half, 0.0, absolute=True) - abs(float(np.float32(mask.offset)))
        bound += np.maximum(spread, 0.0) * (1 + 1e-12)
        return Computed(grid, Range(result, centre - bound, centre + bound))

    def _operated(self, at: int, problem: OperationProblem, read: Computed, grid: Grid) -> Computed:
        planned, known = self.plan[at], operation_named(problem.operation)
        white = planned.white
        if known.of_all is not None:
            if at not in self._of_all:

                def before(rows: Places, columns: Places, of: int = planned.inputs[0]) -> Range:
                    """Return the range of what it reads: an earlier step's, or the picture's."""
                    grid = Grid(rows, columns)
                    read = self._picture(grid) if of == -1 else self.results(rows, columns, of)
                    return _scaled(read.range, 1 / white)

                self._of_all[at] = known.of_all(problem, before)
            result, undecided = self._of_all[at](_scaled(_on(read, grid).range, 1 / white))
            return Computed(grid, _scaled(result, white), 0.0, undecided, result.value.size)
        assert known.of_cells is not None
        half = planned.reach or 0
        if white != 1.0:
            read = read._replace(range=_scaled(read.range, 1 / white))
        parts = [known.of_cells.ranges(cells, problem) for cells in self._cells(read, grid, half)]
        out, grain = parts[0], 0.0
        if len(parts) > 1:
            out = Range(*(np.concatenate(one) for one in zip(*(part.parts for part in parts), strict=True)))
        jumped = out.value.size if known.of_cells.jumps else 0
        undecided = int(np.count_nonzero(out.low != out.high)) if jumped else 0
        if white != 1.0:
            out = _scaled(out, white)
        elif out.low is out.high or np.array_equal(out.low, out.high):
            out, grain = Range(out.value, out.value, out.value), read.grain if known.of_cells.scales else 0.0
        return Computed(grid, out, grain, undecided, jumped)

    def _cells(self, read: Computed, grid: Grid, half: int) -> Iterator[Range]:
        """Yield the cells around each result, `half` on each side, in bands of rows."""
        (down, in_rows), (across, in_columns) = self._windows(half, grid)
        places = _places(down, read.grid.rows)[:, np.newaxis, :, np.newaxis]
        columns = _places(across, read.grid.columns)[:, np.newaxis, :]
        per_row = len(grid.columns) * self.samples.shape[2] * (2 * half + 1) ** 2
        band_rows = max(1, _CELLS // max(1, per_row))
        for first in range(0, len(grid.rows), band_rows):
            band = slice(first, first + band_rows)

            def windows(samples: Floats, rows: Places = places[band]) -> Floats:
                if half == 0 and samples.shape[:2] == (len(rows), len(across)):
                    return samples[..., np.newaxis, np.newaxis]
                return np.moveaxis(samples[rows, columns], -1, 2)

            inside = in_rows[band][:, np.newaxis, :, np.newaxis] & in_columns[:, np.newaxis, :]
            yield read.range.each(windows)._replace(inside=inside[:, :, np.newaxis])


def _combined(step: CombineStep, parts: list[Computed], grid: Grid) -> Computed:
    (a, b), weights = [part.range for part in parts], step.weights
    if step.how == "maximum":
        grains = [part.grain for part in parts]
        grain = min(grains) if all(grains) else 0.0
        return Computed(grid, Range(*map(np.maximum, a.parts, b.parts)), grain)
    if weights is None:
        value = np.sqrt(a.value * a.value + b.value * b.value)
        error = np.hypot(a.error, b.error)
        # The square of a smaller length is subnormal, or 0.
        error = error + 5 * UNIT_ROUNDOFF * (value + error) + 2.0**-62 * (value > 0)
        return Computed(grid, Range(value, np.maximum(value - error, 0.0), value + error))
    first, second = (float(np.float32(weight)) for weight in weights)
    value = first * a.value + second * b.value
    error = abs(first) * a.error + abs(second) * b.error
    size = abs(first) * np.abs(a.value) + abs(second) * np.abs(b.value)
    grains = [part.grain * step_of(np.array([one])) for part, one in zip(parts, (first, second), strict=True)]
    grain = min(grains) if all(grains) else 0.0
    if grain and float(size.max(initial=0.0)) < EXACT_STEPS * grain:
        return Computed(grid, Range(value, value, value), grain)
    error = error + 4 * UNIT_ROUNDOFF * (size + error) + 4 * SMALLEST_SUBNORMAL
    return Computed(grid, Range(value, value - error, value + error))


def _scaled(range_: Range, factor: float) -> Range:
    """Return a range times a factor of float32, rounded once; the factor and the product."""
    value, low, high = (part * factor for part in range_.parts)
    with np.errstate(invalid="ignore"):
        bound = 3 * UNIT_ROUNDOFF * np.maximum(np.abs(low), np.abs(high)) + SMALLEST_SUBNORMAL
    # 0 and what stands for nothing stay as they are.
    bound[(low == high) & (value == 0.0)] = 0.0
    return Range(value, low - bound, high + bound)


def _on(read: Computed, grid: Grid) -> Computed:
    """Return the part of values that lies on a smaller grid."""
    if read.grid is grid:
        return read
    at = _at(Grid(*(_places(wanted, own) for wanted, own in zip(grid, read.grid, strict=True))))
    value, low, high = (part[at] for part in read.range.parts)
    exact = read.range.low is read.range.value
    return read._replace(grid=grid, range=Range(value, value, value) if exact else Range(value, low, high))


def _at(grid: Grid) -> Any:
    """Return what takes a grid out of an array: slices, which are quicker, where neighbours are wanted."""
    if all(len(along) == along[-1] + 1 - along[0] for along in grid):
        return tuple(slice(along[0], along[-1] + 1) for along in grid)
    return np.ix_(*grid)


def _places(wanted: Places, own: Places) -> Places:
    """Return where rows or columns lie among those that were computed; -1 stays -1."""
    return np.where(wanted < 0, -1, np.searchsorted(own, wanted))


def verify(
    values: np.ndarray,
    samples: np.ndarray,
    plan: Plan,
    seed: int,
    affordable: int | None,
    checkpoint: Callable[[float], None],
) -> Verification:
    """Compare a result of a plan on a picture, both (H, W, C), with the oracle, as `Task.verify` says."""
    oracle, regions = ChainOracle(samples, plan), _regions(samples, plan, seed, affordable)
    undecided = jumped = 0

    def expected(band: Region) -> tuple[Floats, Limits]:
        nonlocal undecided, jumped
        rows, columns = (np.array(along, dtype=np.intp) for along in band.ranges)
        computed = oracle.results(rows, columns)
        undecided, jumped = undecided + computed.undecided, jumped + computed.jumped
        return computed.range.value, lambda: computed.range.limits

    reach = sum(planned.reach or 0 for planned in plan)
    kind = samples.dtype
    white = 1.0 if kind.kind == "f" else float(np.iinfo(kind).max)
    jump = white if any(planned.jumps for planned in plan) else 0.0
    inputs = Inputs(samples, (reach, reach), (reach, reach), jump=jump, has_sums=False)
    apart = max(_APART, _TOGETHER // (2 * reach + 1) ** 2)
    pixels = _TOGETHER if all(region.step == 1 for region in regions) else apart
    proof = verify_regions(values, regions, pixels, expected, checkpoint, inputs)
    proof = replace(proof, undecided=undecided)
    if proof.passed and 2 * undecided > jumped:
        why = f"{undecided:,} of {jumped:,} samples lie within rounding of a jump"
        reason = f"not verified: nothing is proven where {why}"
        return replace(proof, passed=False, reason=reason, unproven_samples=undecided)
    return proof


def _regions(samples: np.ndarray, plan: Plan, seed: int, affordable: int | None) -> tuple[Region, ...]:
    """Return the whole result where the oracle can afford it, else its edges and a grid of pixels."""
    (height, width, channels), affordable = samples.shape, affordable or AFFORDABLE_MULTIPLY_ADDS
    # What one pixel alone needs of each step: the window of all that come after.
    after = [0] * len(plan)
    for at in range(len(plan) - 1, -1, -1):
        for input_ in plan[at].inputs:
            if input_ >= 0:
                after[input_] = max(after[input_], after[at] + (plan[at].reach or 0))
    together = channels * sum(planned.cost for planned in plan)
    apart = channels * sum(
        planned.cost * min(LEAST_STEP, 2 * reach + 1) ** 2 for planned, reach in zip(plan, after, strict=True)
    )
    if height * width * together <= affordable:
        return (Region(0, height, 0, width),)
    reach = max(3, min(16, max(one + (planned.reach or 0) for planned, one in zip(plan, after, strict=True))))
    return affordable_regions(height, width, (reach, reach), max(together, apart), affordable, seed)

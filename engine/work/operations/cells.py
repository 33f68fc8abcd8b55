"""Operations on the cells around each sample, by what they make of these. No Numba in here.

One definition gives their oracle, their bound, and what a chain of steps makes of an error that is handed to
them. Cells are float64, (rows, columns, channels, side, side): the window of each result. Cells outside the
picture repeat the nearest one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.verify.closeness import UNIT_ROUNDOFF
from engine.work.operations.problem import OperationProblem

Floats = NDArray[np.float64]


class Range(NamedTuple):
    """Exact values, and between what two numbers those of float32 lie: each an array of one shape.

    Of cells `inside` says which lie in the picture: (rows, columns, 1, side, side).
    """

    value: Floats
    low: Floats
    high: Floats
    inside: NDArray[np.bool_] | None = None

    @property
    def parts(self) -> tuple[Floats, Floats, Floats]:
        """The values and both ends."""
        return self.value, self.low, self.high

    def each(self, made: Callable[[Floats], Floats]) -> "Range":
        """Return what is made of the values and of both ends; once, where these are the same array."""
        value = made(self.value)
        if self.low is self.value and self.high is self.value:
            return Range(value, value, value)
        return Range(value, made(self.low), made(self.high))

    @property
    def limits(self) -> tuple[Floats, Floats]:
        """Magnitudes and errors, 0 where they are not finite."""
        with np.errstate(invalid="ignore"):
            found = np.abs(self.value), self.error
        size, error = (np.where(np.isfinite(one), one, 0.0) for one in found)
        return size, error

    @property
    def error(self) -> Floats:
        """How far from the exact value one of float32 may lie."""
        if self.low is self.value and self.high is self.value:
            return np.broadcast_to(0.0, self.value.shape)
        error: Floats = np.maximum(self.high - self.value, self.value - self.low)
        return error


@dataclass(frozen=True, slots=True)
class OfCells:
    """What an operation makes of the cells around each sample.

    Parameters
    ----------
    ranges : callable of (Range, OperationProblem) -> Range
        The exact results of exact cells, and between what those lie that float32 makes of cells within the
        range, its own rounding included.
    scales : bool
        Whether k times the picture has k times the result. Of others a chain divides by white first, as
        float32 pictures go from 0 to 1, and multiplies the result.
    jumps : bool
        Whether a small difference of a sample may make a large one of the result.
    exact : bool
        Whether whole numbers of 8 and 16 bit have the very same results, of their own type, as in float32.
    """

    ranges: Callable[[Range, OperationProblem], Range]
    scales: bool = False
    jumps: bool = False
    exact: bool = False


def rising(
    of_cells: Callable[[Floats, OperationProblem], Floats],
) -> Callable[[Range, OperationProblem], Range]:
    """Return the ranges of a function that rounds nothing and never falls where a cell rises."""

    def ranges(cells: Range, problem: OperationProblem) -> Range:
        return cells.each(lambda part: of_cells(part, problem))

    return ranges


def rounded(value: Floats, low: Floats, high: Floats, roundings: float) -> Range:
    """Return a range that so many roundings more of its largest magnitude explain."""
    with np.errstate(invalid="ignore"):
        size = np.abs(low) if low is high else np.maximum(np.abs(low), np.abs(high))
        bound = roundings * UNIT_ROUNDOFF * size
        bound[~np.isfinite(bound)] = 0.0
    return Range(value, low - bound, high + bound)


class Sources(NamedTuple):
    """Where the cells of windows lie along one axis: (results, side), and which of them in the picture."""

    at: NDArray[np.intp]
    inside: NDArray[np.bool_]


def sources_of(results: NDArray[np.intp], half: int, length: int) -> Sources:
    """Return the cells of the windows around some rows or columns, `half` on each side."""
    wanted = results[:, np.newaxis] + np.arange(-half, half + 1)
    return Sources(np.clip(wanted, 0, length - 1), (wanted >= 0) & (wanted < length))


def windows_at(samples: np.ndarray, down: Sources, across: Sources) -> Floats:
    """Return the cells of windows, float64; `at` are places in these samples."""
    if down.at.shape[1] == 1 and samples.shape[:2] == (len(down.at), len(across.at)):
        return samples[..., np.newaxis, np.newaxis].astype(np.float64, copy=False)
    rows, columns = down.at[:, np.newaxis, :, np.newaxis], across.at[np.newaxis, :, np.newaxis, :]
    windows: Floats = np.moveaxis(samples[rows, columns].astype(np.float64), -1, 2)
    return windows


def inside_of(down: Sources, across: Sources) -> NDArray[np.bool_]:
    """Return which cells of windows lie in the picture."""
    rows, columns = down.inside[:, np.newaxis, :, np.newaxis], across.inside[np.newaxis, :, np.newaxis, :]
    found: NDArray[np.bool_] = (rows & columns)[:, :, np.newaxis]
    return found

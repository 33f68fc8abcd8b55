"""Float64 results of a cell, computed once, and every library's result beside them.

What is compared, and how closely:

- float32 results lie within the rounding bound of `engine.work.filtering.oracle`, sample by sample;
- 8-bit results lie within one step of the oracle's, rounded half to even: libraries cut, round half up or
  half to even; our own have to be equal to it where no sum is rounded before, and within half a step and the
  float32 bound elsewhere;
- float32 results of 8-bit pictures are exact where no order of summation may round;
- "interior": where a library does not filter the border, the cells within half a mask of it do not count;
- "replicate": where a library has no zero border, the oracle has the replicated one too.

Where the oracle would take too long, the four edges and a grid of pixels are compared; the first and the
last picture of a batch stand for all.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np

from bench.peers.cells import Cell, mask_of
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.verify.closeness import compare
from engine.verify.verification import Region
from engine.work.filtering import oracle
from engine.work.filtering.oracle import is_exact_class, regions_to_check, rounding_bound
from engine.work.problem import Problem

# 0.3 s: there are some fifty cells, and half of them are compared in part anyhow.
AFFORDABLE_MULTIPLY_ADDS = 60_000_000


@dataclass(frozen=True)
class Verdict:
    """What came of a comparison."""

    passed: bool
    text: str  # For people: how it was compared, or what is wrong
    max_error: float = 0.0  # Largest |result - oracle|


class Oracle:
    """The right results of one cell; `affordable` multiply-adds may be spent on one picture."""

    def __init__(self, cell: Cell, pictures: np.ndarray, affordable: int = AFFORDABLE_MULTIPLY_ADDS) -> None:
        self._cell, self._pictures = cell, pictures
        self._mask = Mask(mask_of(cell).weights)
        self._problem = Problem(
            cell.height, cell.width, cell.channels, cell.dtype, self._mask.shape, self._mask.anchor
        )
        self._regions = regions_to_check(self._problem, 0, affordable)

    @property
    def checked(self) -> str:
        """Which part of a picture is compared, in words."""
        share = sum(region.pixels for region in self._regions) / (self._cell.height * self._cell.width)
        return "every pixel" if share == 1 else f"{share:.1%} of the pixels"

    def verdict(self, results: np.ndarray, border: str, added_error: float = 0.0, steps: int = 1) -> Verdict:
        """Compare results with the oracle's; the other arguments are those of `Ready`."""
        if results.shape != self._pictures.shape:
            return Verdict(
                False, f"not verified: results of shape {results.shape}, not {self._pictures.shape}"
            )
        if border == "copy":
            same = bool(np.array_equal(results, self._pictures))
            return Verdict(same, "equal to the picture" if same else "not verified: not equal to the picture")
        rule = Border.REPLICATE if border == "replicate" else Border.ZERO
        margin = self._cell.mask_side // 2 if border == "interior" else 0
        largest = 0.0
        added = added_error * float(np.abs(self._pictures).max()) if added_error else 0.0
        height, width = self._cell.height, self._cell.width
        for picture, region, expected, magnitudes in self._computed(rule):
            rows, columns = map(np.array, region.ranges)
            kept = np.ix_(
                (rows >= margin) & (rows < height - margin), (columns >= margin) & (columns < width - margin)
            )
            found, right = results[picture][region.slices][kept], expected[kept]
            if not found.size:
                continue
            error, wrong = self._compared(found, right, magnitudes[kept], added, steps)
            largest = max(largest, error)
            if wrong is not None:
                row, column = rows[kept[0][wrong[0], 0]], columns[kept[1][0, wrong[1]]]
                where = f"row {row}, column {column} is {found[wrong]!s}"
                text = f"not verified: {where}, the oracle says {right[wrong]:.9g}"
                return Verdict(False, text, error)
        return Verdict(True, self._text(results.dtype, border, added, steps), largest)

    def _compared(
        self, found: np.ndarray, expected: np.ndarray, magnitudes: np.ndarray, added: float, allowed: int
    ) -> tuple[float, tuple[Any, ...] | None]:
        if found.dtype == np.uint8 and allowed == 0 and not self._is_exact:
            past = np.abs(found - np.clip(expected, 0.0, 255.0)) - 0.5
            past -= rounding_bound(magnitudes, self._problem.taps) + added
            at = np.unravel_index(int(np.argmax(past)), past.shape)
            return float(past.max()) + 0.5, tuple(int(i) for i in at) if past[at] > 0.0 else None
        if found.dtype == np.uint8:
            steps = np.abs(found.astype(np.int64) - np.clip(np.rint(expected), 0, 255).astype(np.int64))
            at = np.unravel_index(int(np.argmax(steps)), steps.shape)
            return float(steps[at]), tuple(int(i) for i in at) if steps[at] > allowed else None
        bound = (
            np.zeros_like(expected)
            if self._is_exact
            else rounding_bound(magnitudes, self._problem.taps) + added
        )
        places: list[tuple[int, ...]] = []

        def place(at: tuple[int, ...]) -> str:
            places.append(at)
            return str(at)

        limits = magnitudes, bound
        judged = compare(found.astype(np.float32, copy=False), expected, lambda: limits, place)
        return judged.max_error, places[0] if judged.wrong_samples else None

    @cached_property
    def _is_exact(self) -> bool:
        """Whether no order of summation may round."""
        return is_exact_class(self._pictures, self._mask, 0.0)

    @cache  # noqa: B019 - there are two borders, and an oracle lives as long as its cell
    def _computed(self, border: Border) -> list[tuple[int, Region, np.ndarray, np.ndarray]]:
        """Return the results of each region of the pictures that stand for all, and what their sums add."""
        found = []
        for number, region in product(sorted({0, self._cell.batch - 1}), self._regions):
            asked = self._pictures[number], self._mask, border, 0.0, region
            found.append((number, region, oracle.correlate(*asked), oracle.correlate(*asked, absolute=True)))
        return found

    def _text(self, dtype: np.dtype, border: str, added: float, steps: int) -> str:
        if dtype != np.uint8:
            how = "within the rounding bound"
        elif steps:
            how = "within one 8-bit step"
        elif self._is_exact:
            how = "equal, rounded half to even"
        else:
            how = "within half an 8-bit step and the rounding bound"
        how += f" and {added:.1g} that the variant states" if added else ""
        where = {"interior": ", the border left out", "replicate": ", border replicated"}.get(border, "")
        return f"{how}, {self.checked}{where}"

"""All that the mask doctor says of a mask: what it is, what it costs, and what it does at borders."""

from dataclasses import dataclass

import numpy as np

from engine.geometry.border import Border
from engine.mask.analysis import Analysis, analyse
from engine.mask.frequency_response import FrequencyResponse, frequency_response
from engine.mask.mask import Mask
from engine.mask.split import split


@dataclass(frozen=True)
class Examination:
    """What is known of a mask: facts, singular values (largest first), its response, and its two factors."""

    mask: Mask
    facts: Analysis
    singular_values: tuple[float, ...]
    response: FrequencyResponse
    factors: tuple[Mask, Mask] | None

    @property
    def multiply_adds(self) -> int:
        """Per sample, of a kernel that takes every cell."""
        return self.mask.taps

    @property
    def separable_multiply_adds(self) -> int | None:
        """Per sample, of a column after a row; None where the mask is not their product."""
        return sum(self.mask.shape) if self.factors is not None else None


def examine(mask: Mask) -> Examination:
    """Return what is known of a mask; of the largest it takes up to 0.2 s."""
    values = np.linalg.svd(mask.weights, compute_uv=False)
    return Examination(mask, analyse(mask), tuple(map(float, values)), frequency_response(mask), split(mask))


def reach(mask: Mask) -> tuple[int, int, int, int]:
    """Return how many cells lie above, below, left and right of the pixel."""
    row, column = mask.anchor
    return row, mask.rows - 1 - row, column, mask.columns - 1 - column


def pixels_at_borders(mask: Mask, height: int, width: int) -> int:
    """Return how many pixels of a picture read cells outside it."""
    above, below, left, right = reach(mask)
    return height * width - max(0, height - above - below) * max(0, width - left - right)


def kept_in_a_corner(mask: Mask, border: Border) -> float | None:
    """Return what is left of an even area in the top left corner, of 1 within; None where all of it is.

    Borders with values from outside the picture (zero, constant as 0) take the rest away.
    """
    if border not in (Border.ZERO, Border.CONSTANT) or abs(mask.total) <= 1e-9 * mask.magnitude:
        return None
    row, column = mask.anchor
    return float(mask.weights[row:, column:].sum()) / mask.total

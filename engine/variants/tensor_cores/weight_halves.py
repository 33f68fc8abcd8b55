"""float32 weights and samples as sums of two float16 numbers, and how products round. Pure NumPy.

A number v of 24 bits, scaled by a power of two, is h + l / 4096 and a rest: h is v rounded to float16, which
has 11 bits, and l is 4096 (v - h) rounded to float16. Three of the four products of two such sums are exact
in float32. Why the constants below bound what is left out and rounded, in units of u = 2^-24 of the sum of
magnitudes: docs/variants/split-float16.md, "Error".
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.mask.mask import Mask
from engine.verify.closeness import UNIT_ROUNDOFF

LOWER_SCALE = 4096.0
"""What the lower parts are multiplied by, so that they are as large as the upper ones."""

SCALED_TO, ROOM_ABOVE, ROOM_BELOW = 14, 1, 27
"""The largest sample of a group of rows is scaled to 2^14 to 2^15. The scale is kept while the largest is not
past 2^15, and no other but 0 below 2^-13: all within float16's normal range, lower parts too."""

LARGEST_EXPONENT = 13
"""The largest weight is scaled to less than 2 to that power, so that no sum of 16 products overflows."""

SMALLEST_SCALED, LARGEST_SCALED = 2.0**-30, 2.0**30
"""Between these the largest weight has to lie: then no unit of a row's sums under- or overflows."""

SPLIT_ROUNDINGS = 2 + 2 + 4
"""Roundings of a product, in u of its magnitude: sample's rest, weight's, and the product of lower parts."""

STEP_ROUNDINGS = 6
"""Roundings of one multiplication on tensor cores, in u of the sum of magnitudes."""


@dataclass(frozen=True, eq=False, slots=True)
class WeightHalves:
    """A mask's weights as upper and lower parts: (upper + lower / 4096) unit is the weight, up to `rest`."""

    upper: np.ndarray  # (rows, columns), float16.
    lower: np.ndarray
    unit: float  # A power of two.
    rest: float  # The largest share of a weight that is left out, in u.


@lru_cache(maxsize=256)
def halves_of(mask: Mask) -> WeightHalves:
    """Return the parts of a mask's weights (rounded to float32 first, as for every variant)."""
    weights = mask.weights32.astype(np.float64)
    largest = float(np.abs(weights).max(initial=0.0))
    exponent = math.frexp(largest)[1] if largest else 0
    scaled = np.ldexp(weights, LARGEST_EXPONENT - exponent)
    upper = scaled.astype(np.float16)
    lower = ((scaled - upper) * LOWER_SCALE).astype(np.float16)
    left = np.abs(scaled - upper - lower / LOWER_SCALE)
    shares = left[scaled != 0] / np.abs(scaled[scaled != 0])
    rest = float(shares.max(initial=0.0)) / UNIT_ROUNDOFF
    return WeightHalves(upper, lower, math.ldexp(1.0, exponent - LARGEST_EXPONENT), rest)


def is_in_range(mask: Mask) -> bool:
    """Return whether the weights' largest magnitude suits the units of the sums; a mask of zeros does."""
    largest = float(np.abs(mask.weights32).max(initial=0.0))
    return largest == 0.0 or SMALLEST_SCALED <= largest <= LARGEST_SCALED


def roundings_of(mask: Mask, steps: int, additions: int) -> float:
    """Return how many u of the sum of magnitudes a result may be off; a direct sum is granted cells + 2.

    A sum takes `steps` multiplications on tensor cores one after another, a result `additions` of such sums,
    two roundings each; the last one adds the offset.
    """
    rest = max(0.0, halves_of(mask).rest - 2)
    return SPLIT_ROUNDINGS + rest + STEP_ROUNDINGS * steps + 2 * additions + 1

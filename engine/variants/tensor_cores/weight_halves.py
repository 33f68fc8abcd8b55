"""float32 weights and samples as sums of two float16 numbers, and how products round. Pure NumPy.

A number v of 24 bits, scaled by a power of two, is h + l / 4096 and a rest: h is v rounded to float16, which
has 11 bits, and l is 4096 (v - h) rounded to float16. While |v| is in float16's normal range, 2^-14 to 2^16,
the rest is at most 2 u |v|, u = 2^-24: v - h is a whole number of at most 12 bits and a sign in units of v's
last place, and l keeps 11 of them. Of the products

    (h + l / 4096) (h' + l' / 4096)  =  h h'  +  (l h' + h l') / 4096  +  l l' / 2^24

the last is left out: at most 4 u |v v'|. All others are float16 times float16: exact in float32.

How tensor cores round their sums NVIDIA does not say. Of Hopper's (and of Ampere's, with a bit less) it was
found that products are lined up with the largest of them and cut two bits past float32's last place, and the
sum is cut to float32; `STEP_ROUNDINGS` u of the sum of magnitudes is no less than what 17 numbers lose so.
Measured on an H200, random masks of 5 x 5 to 17 x 17: at most 4.3 u in all.

Sources: splitting into two lower-precision numbers, Markidis, Der Chien, Laure, Peng and Vetter, "NVIDIA
tensor core programmability, performance & precision" (2018), arXiv:1803.04014; the lower parts scaled, and
added up apart so that their cut does not matter, Ootomo and Yokota, "Recovering single precision accuracy
from tensor cores while surpassing the FP32 theoretical peak performance" (2022), arXiv:2203.03341; how sums
are rounded, Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ Computer
Science 7 (2021), e330.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.mask.mask import Mask
from engine.variants.tensor_cores.fragments import with_zero, words_of
from engine.variants.tensor_cores.split_shape import EIGHT, SplitShape
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
    return WeightHalves(
        upper,
        lower,
        math.ldexp(1.0, exponent - LARGEST_EXPONENT),
        float(shares.max(initial=0.0)) / UNIT_ROUNDOFF,
    )


def is_in_range(mask: Mask) -> bool:
    """Return whether the weights' largest magnitude suits the units of the sums; a mask of zeros does."""
    largest = float(np.abs(mask.weights32).max(initial=0.0))
    return largest == 0.0 or SMALLEST_SCALED <= largest <= LARGEST_SCALED


def roundings_of(mask: Mask, steps: int, additions: int) -> float:
    """Return how many u of the sum of magnitudes a result may be off; a direct sum is granted cells + 2.

    Of `steps` multiplications on tensor cores one after another for one sum, and `additions` of such sums to
    a result, two roundings each; the last one adds the offset.
    """
    rest = max(0.0, halves_of(mask).rest - 2)
    return SPLIT_ROUNDINGS + rest + STEP_ROUNDINGS * steps + 2 * additions + 1


@lru_cache(maxsize=64)
def fragment_columns(shape: SplitShape) -> np.ndarray:
    """Return the mask column of each half of a lane's words (eights, lanes, 2); past the last are zeros.

    Lane (g, t) holds of an eight of the weights' rows those numbered 2 t and 2 t + 1, of column g (PTX ISA
    9.7.14.5, fragments of `mma.m16n8k16` and `mma.m16n8k8` with float16).
    """
    lanes = np.arange(32)
    cells = EIGHT * np.arange(shape.eights)[:, None, None] + (2 * (lanes % 4))[:, None] + np.arange(2)
    columns = cells - (lanes // 4)[:, None] - shape.shift
    return np.where((columns >= 0) & (columns < shape.mask_columns), columns, shape.mask_columns)


def fragments_of(shape: SplitShape, halves: WeightHalves) -> np.ndarray:
    """Return the words of all lanes as loaded: uint32, flat (upper and lower, mask rows, eights, lanes)."""
    parts = with_zero(np.stack([halves.upper, halves.lower]), np.float16)
    return words_of(parts, fragment_columns(shape)).ravel()

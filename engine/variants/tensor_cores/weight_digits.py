"""float32 weights as 8-bit digits whose sums over bytes are exact, and the rounding that is left. Pure NumPy.

All weights of a mask are w = Q 2^low with integers Q, and

    Q = sum over p of 65536^p h_p,   h_p = 256 a + b,   a of -128 .. 127, b of 0 .. 255,

the top h_p a digit of -128 .. 127 alone where that is enough. Sums of one h_p over samples are integers that
32 bits hold up to `MOST_CELLS` cells. They are combined in float32 from the top one down. Weights are rounded
to fewer digits where the bound of a direct sum leaves room, but never where a result could have to be equal
bit for bit. Why `roundings` is the sum of what each step rounds, in units of u = 2^-24 of the sum of
magnitudes: docs/variants/digit-sums.md, "Error".
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import numpy as np

from engine.mask.factors import EXACT_STEPS, step_of
from engine.mask.mask import Mask

MOST_CELLS = 128
MOST_DIGITS = 16
LARGEST_SAMPLE = 255
LARGEST_PART = 2.01
"""Bound of upper digits as a share of a weight, and of a unit as one of the largest: 256 / 127.5 = 2.008."""

SPARE = 1.01
_UNIT_ROUNDOFF = Fraction(1, 1 << 24)
_LARGEST_FLOAT32 = float(np.finfo(np.float32).max)
_BYTE, _PAIR = 1 << 8, 1 << 16

Integers = np.ndarray
"""Python's integers, one per cell."""

Number = TypeVar("Number", int, Integers)


@dataclass(frozen=True, eq=False, slots=True)
class WeightDigits:
    """The digits of a mask's weights."""

    # (digits, rows, columns) int16, the top one first, then pairs: -128 .. 127 and 0 .. 255. An odd number
    # begins with a lone one, -128 .. 127.
    digits: np.ndarray
    # The top digit's, a power of two; each further digit's is 1/256 of the one before.
    unit: float
    # How many times u S the float32 result may be off, before `SPARE`.
    roundings: float

    @property
    def count(self) -> int:
        """Digits of a weight."""
        return len(self.digits)

    @property
    def holds_bound(self) -> bool:
        """Whether results are sure to lie within the bound that a direct sum is granted."""
        cells = self.digits[0].size
        return bool(self.count <= MOST_DIGITS and SPARE * self.roundings <= cells + 2)


def overflows(mask: Mask) -> bool:
    """Return whether the weights are so large that a unit or a sum on the way could be infinite."""
    most = float(np.abs(mask.weights32.astype(np.float64)).sum())
    return LARGEST_SAMPLE * LARGEST_PART * most > _LARGEST_FLOAT32


# Asked by `auto`, by the refusal and by the upload of one and the same mask.
@lru_cache(maxsize=16)
def digits_of(mask: Mask) -> WeightDigits:
    """Return the fewest digits of a mask's float32 weights whose results hold the bound; else all of them."""
    weights = mask.weights32
    step = Fraction(step_of(weights)) if weights.any() else Fraction(1)
    # Python's integers: between the largest and the smallest float32 lie 277 bits.
    whole = np.array([int(Fraction(weight) / step) for weight in weights.ravel().tolist()], object)
    every = _weight_digits(mask, whole, step, Fraction(0))
    if np.abs(whole).sum() < EXACT_STEPS:
        return every
    for count in range(1, min(every.count, MOST_DIGITS + 1)):
        shift = _shift(np.abs(whole).max(), count)
        rounded = _shifted(whole, shift)
        change = _largest_share((rounded << shift) - whole, whole) / _UNIT_ROUNDOFF
        if change <= mask.taps + 2:
            fewer = _weight_digits(mask, rounded, step * 2**shift, change)
            if fewer.holds_bound:
                return fewer
    return every


def _weight_digits(mask: Mask, whole: Integers, step: Fraction, change: Fraction) -> WeightDigits:
    """Return the digits of integers in units of `step`, which are `change` u of the weights off."""
    pairs, left = list[Integers](), whole
    while ((left < -_BYTE // 2) | (left >= _BYTE // 2)).any():
        pairs.insert(0, (left + _PAIR // 2) % _PAIR - _PAIR // 2)
        left = (left - pairs[0]) // _PAIR
    alone = [left] if left.any() or not pairs else []
    digits = [*alone, *(digit for pair in pairs for digit in (pair // _BYTE, pair % _BYTE))]
    shaped = np.array(digits).astype(np.int16).reshape(-1, *mask.shape)
    unit = math.ldexp(float(step), 8 * (len(digits) - 1))
    return WeightDigits(shaped, unit, float(change) + _roundings([*alone, *pairs], whole))


def _shift(largest: int, count: int) -> int:
    """Return how many low bits numbers up to `largest` have to lose to take `count` digits."""
    pairs, alone = divmod(count, 2)
    most = sum((_PAIR // 2 - 1) * _PAIR**number for number in range(pairs))
    most += (_BYTE // 2 - 1) * _PAIR**pairs * alone
    shift = max(0, largest.bit_length() - most.bit_length())
    return shift if _shifted(largest, shift) <= most else shift + 1


def _shifted(number: Number, shift: int) -> Number:
    """Return integers over a power of two, rounded."""
    return (number + (1 << shift >> 1)) >> shift


def _roundings(numbers: list[Integers], whole: Integers) -> float:
    """Return the sum of the r of all steps that may round, and 1 for the last."""
    total, parts = Fraction(1), 0 * whole
    for number, own in enumerate(numbers):
        unit = _PAIR ** (len(numbers) - 1 - number)
        parts = _PAIR * parts + own
        for summed in (own, parts) if number else (own,):
            if LARGEST_SAMPLE * np.abs(summed).sum() > EXACT_STEPS:
                total += _largest_share(summed * unit, whole)
    return float(total)


def _largest_share(parts: Integers, whole: Integers) -> Fraction:
    return max(Fraction(abs(part), abs(one)) for part, one in zip(parts, whole, strict=True) if one)

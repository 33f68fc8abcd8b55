"""float32 weights as 8-bit digits whose sums over bytes are exact, and the rounding that is left. Pure NumPy.

A float32 weight is an integer times a power of two, so all weights of a mask are w = Q 2^low with integers Q,
and

    Q = sum over p of 65536^p h_p,   h_p = 256 a + b,   a of -128 .. 127, b of 0 .. 255,

so that h_p is any number of -32768 .. 32767; the top one is a digit of -128 .. 127 alone where that is
enough. Of n cells, the sum of one h_p over samples of 0 to 255 is an integer below 32768 x 255 x n, which 32
bits hold up to `MOST_CELLS`; a lone digit's is below 2^22. Sums are combined in float32 from the top one
down, in units of the top digit,

    T = fma(float32(D_p), its unit, T),   then   fma(T, the top digit's unit, offset).

Each step rounds once by at most u = 2^-24 of its result. With S = |weights| correlated with the samples, plus
|offset|, as in `engine.tasks.filtering.agreement`, the roundings are

- of float32(D_p): none where sums of |h_p| over samples cannot reach 2^24; else at most r u S, r the largest
  of |h_p 65536^p| / |Q|;
- of the multiply-add of all but the top one: none where sums of |Q from p up| cannot reach 2^24 of p's units,
  because all are whole multiples of that; else r u S, r the largest of |Q from p up| / |Q|: 1 at the end,
  never above `LARGEST_PART`;
- of the last one: u S.

`roundings` is the sum of these. A direct sum of n cells is granted n + 2. What a rounding makes of earlier
errors is a millionth of them; `SPARE` leaves a hundredth for it.

What is granted and not used may be spent on fewer digits: weights are rounded to multiples of a larger power
of two, which adds the largest of |change of w| / (u |w|) to `roundings`, if the sum is still granted. A
random 5 x 5 mask takes 4 digits so, 4 to 6 without. Weights are not changed where a result could have to be
equal bit for bit: sums of multiples of one power of two that stay below 2^24 of it. A picture with a sample
other than 0 has one of at least 1, so that asks for a sum of |Q| below 2^24; and then nothing above rounds,
because no |h_p 65536^p| and no part is larger than |Q| where p = 0, or than 2.01 |Q| elsewhere, where it has
65536 times fewer units.

Nothing is lost below: all are multiples of the last digit's unit, at least 2^-120 of the top one's for
`MOST_DIGITS` digits, and results are multiples of 2^-149. Nothing overflows above if 255 x 2.01 x the sum of
|weights| is a float32: the top digit's unit is at most 2.01 times the largest weight.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from engine.mask.float_step import EXACT_STEPS, step_of
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
    whole = [int(Fraction(weight) / step) for weight in weights.ravel().tolist()]
    every = _split(whole)
    if sum(map(abs, whole)) >= EXACT_STEPS:
        for count in range(1, min(len(every), MOST_DIGITS + 1)):
            shift = _shift(max(map(abs, whole)), count)
            rounded = [_shifted(number, shift) for number in whole]
            change = max(
                Fraction(abs((after << shift) - before), abs(before))
                for after, before in zip(rounded, whole, strict=True)
                if before
            )
            if change > (len(whole) + 2) * _UNIT_ROUNDOFF:
                continue
            digits, change_us = _split(rounded), float(change / _UNIT_ROUNDOFF)
            fewer = _weight_digits(mask, digits, rounded, step * 2**shift, change_us)
            if fewer.holds_bound:
                return fewer
    return _weight_digits(mask, every, whole, step, 0.0)


def _weight_digits(
    mask: Mask, digits: list[list[int]], whole: list[int], step: Fraction, change: float
) -> WeightDigits:
    unit = math.ldexp(float(step), 8 * (len(digits) - 1))
    shaped = np.array(digits, np.int16).reshape(-1, *mask.shape)
    return WeightDigits(shaped, unit, change + _roundings(digits, whole))


def _split(whole: list[int]) -> list[list[int]]:
    """Return the digits of integers, the top ones first."""
    digits: list[list[int]] = []
    left = whole
    while True:
        if all(-_BYTE // 2 <= number < _BYTE // 2 for number in left):
            if any(left) or not digits:
                digits.append(left)
            return digits[::-1]
        pairs = [(number + _PAIR // 2) % _PAIR - _PAIR // 2 for number in left]
        left = [(number - pair) // _PAIR for number, pair in zip(left, pairs, strict=True)]
        digits += [[pair % _BYTE for pair in pairs], [pair // _BYTE for pair in pairs]]


def _shift(largest: int, count: int) -> int:
    """Return how many low bits numbers up to `largest` have to lose to take `count` digits."""
    pairs, alone = divmod(count, 2)
    place: int = _PAIR**pairs
    most = (_PAIR // 2 - 1) * ((place - 1) // (_PAIR - 1))
    if alone:
        most += (_BYTE // 2 - 1) * place
    shift = max(0, largest.bit_length() - most.bit_length())
    return shift if _shifted(largest, shift) <= most else shift + 1


def _shifted(number: int, shift: int) -> int:
    """Return an integer over a power of two, rounded."""
    return (number + (1 << shift >> 1)) >> shift


def _roundings(digits: list[list[int]], whole: list[int]) -> float:
    """Return the sum of the r of all steps that may round, and 1 for the last."""
    numbers, pairs = (digits[:1], digits[1:]) if len(digits) % 2 else ([], digits)
    for upper, lower in zip(pairs[::2], pairs[1::2], strict=True):
        numbers = [*numbers, [_BYTE * a + b for a, b in zip(upper, lower, strict=True)]]
    total, parts = 1.0, [0] * len(whole)
    for number, own in enumerate(numbers):
        place = _PAIR ** (len(numbers) - 1 - number)
        parts = [_PAIR * part + more for part, more in zip(parts, own, strict=True)]
        for summed in (own, parts) if number else (own,):
            if LARGEST_SAMPLE * sum(map(abs, summed)) > EXACT_STEPS:
                shares = (
                    Fraction(abs(part) * place, abs(one))
                    for part, one in zip(summed, whole, strict=True)
                    if one
                )
                total += float(max(shares))
    return total

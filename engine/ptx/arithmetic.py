"""The types of PTX as NumPy's (`.s32` is int32), and floating-point arithmetic as a GPU rounds it.

NumPy rounds to nearest, once, in its own type. What it lacks is `fma`, the other directions of rounding, and
conversions that saturate. They are computed in float64 *rounded to odd*: a result that is not exact gets an
odd last bit, so that rounding it once more, to a type with at least two bits less, in any direction, gives
what rounding the exact value gives. Source: S. Boldo, G. Melquiond, "Emulation of FMA and correctly rounded
sums: proved algorithms using rounding to odd", IEEE Transactions on Computers 57(4), 2008, theorem 1 and
algorithm 5; PTX ISA 9.0, sections 9.7.3 to 9.7.9.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Values = Any
"""A value of each thread: an array, or a NumPy scalar where all threads have the same."""

BOOL, S32, U32, U64 = np.dtype(np.bool_), np.dtype(np.int32), np.dtype(np.uint32), np.dtype(np.uint64)
F16, F32, F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
DTYPES = {
    **{f"{kind}{8 * size}": np.dtype(f"u{size}") for kind in "ub" for size in (1, 2, 4, 8)},
    **{f"s{8 * size}": np.dtype(f"i{size}") for size in (1, 2, 4, 8)},
    "f16": F16,
    "f32": F32,
    "f64": F64,
    "f16x2": U32,
    "pred": BOOL,
}

BITWISE = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}
UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
"""The unsigned type of a size in bytes."""
WIDER = {np.dtype(f"{sign}{size}"): np.dtype(f"{sign}{2 * size}") for sign in "iu" for size in (1, 2, 4)}
"""The type of twice the size, as of the product of `mul.wide`."""


def as_type(values: Values, dtype: np.dtype) -> Values:
    """Return the bits of a register as a type: the same bits, or the low ones for a narrower type."""
    own = values.dtype
    if own is dtype or own == dtype:
        return values
    if own.itemsize == dtype.itemsize:
        return values.view(dtype)
    bits = values.view(UNSIGNED[own.itemsize]) if own.kind != "b" else values
    return bits.astype(UNSIGNED[dtype.itemsize]).view(dtype)


def extended(values: Values, size: int) -> Values:
    """Return values widened to the size of a register, with their sign where they have one."""
    own = values.dtype
    if own.itemsize >= size or own.kind == "b":
        return values
    if own.kind == "f":
        values, own = values.view(UNSIGNED[own.itemsize]), UNSIGNED[own.itemsize]
    return values.astype(np.dtype(f"{own.kind}{size}"))


# The bits of a float64 that a float32 does not have, and those of a value halfway between two float32.
_BELOW_F32, _HALFWAY = np.int64((1 << 29) - 1), np.int64(1 << 28)
CANONICAL_NAN = np.uint32(0x7FFFFFFF).view(np.float32)


def two_sum(a: Values, b: Values) -> tuple[Values, Values]:
    """Return a float64 sum and its error: both together are a + b exactly (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: Values, b: Values) -> tuple[Values, Values]:
    """Return a float64 product and its error: both together are a * b exactly (Dekker)."""

    def high(a: Values) -> Values:
        scaled = np.float64(2.0**27 + 1) * a
        return scaled - (scaled - a)

    product, high_a, high_b = a * b, high(a), high(b)
    low_a, low_b = a - high_a, b - high_b
    return product, ((high_a * high_b - product) + high_a * low_b + low_a * high_b) + low_a * low_b


def to_odd(total: Values, error: Values) -> Values:
    """Return total + error rounded to odd: towards zero, with the last bit set where that is not exact."""
    bits = np.asarray(total).view(np.int64)
    is_inexact = (error != 0) & np.isfinite(total)
    # Rounded away from zero: one back.
    is_beyond = is_inexact & ((error < 0) == (total > 0)) & (total != 0)
    bits = np.where(is_beyond, bits - 1, bits)
    return np.where(is_inexact, bits | 1, bits).view(np.float64)


def fma32(a: Values, b: Values, c: Values) -> Values:
    """Return a * b + c of float32, rounded once to nearest."""
    product = np.multiply(a, b, dtype=np.float64)
    total = product + c
    # Rounding twice differs only where the first result lies halfway between two float32, or has less bits.
    doubtful = np.asarray(total).view(np.int64) & _BELOW_F32 == _HALFWAY
    small = np.abs(total) < 2.0**-125
    if small.any():
        doubtful |= small & (total != 0)
    if doubtful.any():
        total = np.where(doubtful, to_odd(*two_sum(product, c.astype(F64))), total)
    return total.astype(np.float32)


def fma64(a: Values, b: Values, c: Values) -> Values:
    """Return a * b + c of float64, rounded once to nearest (algorithm 5)."""
    high, low = two_product(a, b)
    total, rest = two_sum(c, low)
    first, second = two_sum(high, total)
    rounded = first + to_odd(*two_sum(rest, second))
    # Beyond what splits without overflow, and for what is not finite, the plain formula has to do.
    plain = a * b + c
    rounded = np.where(np.isfinite(rounded), rounded, plain)
    # A product that overflows or vanishes is still no infinity and has its sign.
    is_real = np.isfinite(a) & np.isfinite(b) & (a != 0) & (b != 0)
    rounded = np.where(is_real & np.isinf(c), c, rounded)
    sign = np.copysign(np.copysign(0.0, a), np.sign(a) * np.sign(b))
    return np.where(is_real & (c == 0) & (rounded == 0), sign, rounded)[()]


def fma(a: Values, b: Values, c: Values) -> Values:
    """Return a * b + c, rounded once to nearest."""
    if a.dtype != F16:
        return (fma32 if a.dtype == F32 else fma64)(a, b, c)
    return to_odd(*two_sum(a.astype(F64) * b.astype(F64), c.astype(F64))).astype(F16)[()]


def narrowed(dtype: np.dtype, direction: str, exact: Values) -> Values:
    """Return float64 values, exact or rounded to odd, rounded to a type: rn, rz, rm (down) or rp (up)."""
    nearest = exact.astype(dtype)
    back = nearest.astype(F64)
    return _moved(nearest, back > exact, back < exact, direction)


def _moved(nearest: Values, above: Values, below: Values, direction: str) -> Values:
    if direction in ("rn", "rna"):
        return nearest
    moves = {"rz": np.where(nearest > 0, above, below), "rm": above, "rp": below}[direction]
    towards = nearest.dtype.type({"rz": 0, "rm": -np.inf, "rp": np.inf}[direction])
    return np.where(moves, np.nextafter(nearest, towards), nearest)[()]


def directed(operation: str, direction: str, *operands: Values) -> Values:
    """Return add, sub, mul, div, fma, sqrt or rcp of float32, rounded in a direction."""
    a, *rest = (np.asarray(one, F64) for one in operands)
    if operation == "mul":
        exact = a * rest[0]
    elif operation in ("add", "sub", "fma"):
        first = a * rest[0] if operation == "fma" else a
        last = -rest[0] if operation == "sub" else rest[-1]
        exact = to_odd(*two_sum(first, last))
        if direction == "rm":
            # x - x is -0 when rounding down.
            is_zero = (exact == 0) & (np.signbit(first) | np.signbit(last))
            exact = np.where(is_zero, -0.0, exact)
    elif operation == "sqrt":
        root = np.sqrt(a)
        square, error = two_product(root, root)
        exact = to_odd(root, (a - square) - error)
    else:
        above, below = (np.ones_like(a), a) if operation == "rcp" else (a, rest[0])
        quotient = above / below
        product, error = two_product(quotient, below)
        remainder = ((above - product) - error) * np.sign(below)
        exact = to_odd(quotient, np.where(np.isfinite(remainder), remainder, 0))
    return narrowed(F32, direction, exact)


def reciprocal_product(a: Values, b: Values) -> Values:
    """Return `div.approx`: it multiplies by the reciprocal, which vanishes for the largest divisors."""
    vanished = a * np.copysign(b.dtype.type(0), b)
    return np.where(np.abs(b) > 2.0**126, vanished, a / b)[()]


def flushed(values: Values) -> Values:
    """Return values with zeros of the same sign instead of subnormal numbers of float32 (`.ftz`)."""
    if values.dtype != F32:
        return values
    small = np.abs(values) < 2.0**-126
    return np.where(small, np.copysign(values.dtype.type(0), values), values)[()] if small.any() else values


def saturated(values: Values) -> Values:
    """Return values between 0 and 1, 0 for NaN (`.sat`)."""
    zero, one = values.dtype.type(0), values.dtype.type(1)
    # Adding zero turns -0 into +0.
    return np.where(values > zero, np.minimum(values, one), zero)[()]


def unordered(a: Values, b: Values) -> Values:
    """Return where one of both is NaN."""
    return np.isnan(a) | np.isnan(b)


def _extreme(whole: Any, real: Any, join: Any, a: Values, b: Values) -> Values:
    if a.dtype.kind != "f":
        return whole(a, b)
    own = UNSIGNED[a.dtype.itemsize]
    # Equal numbers differ at most in the sign of a zero.
    same = join(a.view(own), b.view(own)).view(a.dtype)
    return np.where(a == b, same, real(a, b))[()]


# The other one of a NaN; -0 is smaller than +0.
least = partial(_extreme, np.minimum, np.fmin, np.bitwise_or)
greatest = partial(_extreme, np.maximum, np.fmax, np.bitwise_and)


def propagating(choose: Callable[[Values, Values], Values], a: Values, b: Values) -> Values:
    """Return `min.NaN` or `max.NaN`: NaN where one of both is."""
    return np.where(unordered(a, b), CANONICAL_NAN.astype(a.dtype), choose(a, b))[()]


_WHOLE = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}


def converted(dtype: np.dtype, direction: str, values: Values) -> Values:
    """Return values in another type, or whole, rounded once in a direction.

    An integer is the nearest of its type. NaN is 0, in 64 bit and from float64 the top bit alone (PTX ISA,
    `cvt`).
    """
    is_float, is_nearest = values.dtype.kind == "f", direction in ("", "rn")
    if dtype.kind != "f":
        return _to_integer(dtype, direction, values) if is_float else values.astype(dtype)
    if direction in _WHOLE:
        return _WHOLE[direction](values).astype(dtype)
    if (is_nearest or dtype.itemsize >= values.dtype.itemsize) if is_float else is_nearest and dtype != F16:
        return values.astype(dtype)
    if is_float or values.dtype.itemsize < 8:
        return narrowed(dtype, direction or "rn", values.astype(F64))
    # Both halves are float64 exactly.
    half = values.dtype.type(32)
    high, low = values >> half, values & values.dtype.type(0xFFFFFFFF)
    total, error = two_sum(high.astype(F64) * 2.0**32, low.astype(F64))
    if dtype == F64:
        return _moved(total, error < 0, error > 0, direction)
    return narrowed(dtype, direction or "rn", to_odd(total, error))


def _to_integer(dtype: np.dtype, direction: str, values: Values) -> Values:
    info = np.iinfo(dtype)
    whole = _WHOLE.get(direction, np.trunc)(values.astype(F64, copy=False))
    is_nan = np.isnan(whole)
    # The largest integers of 64 bit are no float64: compared as the power of two above them.
    top = np.float64(2.0 ** (info.bits - (info.kind == "i")))
    integers = np.where((whole >= info.min) & (whole < top), whole, 0).astype(dtype)
    integers = np.where(whole >= top, dtype.type(info.max), integers)
    integers = np.where(whole < info.min, dtype.type(info.min), integers)
    if np.any(is_nan):
        wide = info.bits == 64 or values.dtype == F64
        of_nan = np.array(1 << (info.bits - 1), f"u{dtype.itemsize}").view(dtype) if wide else dtype.type(0)
        integers = np.where(is_nan, of_nan, integers)
    return integers[()]


def half_bits(values: Values) -> Values:
    """Return the bits of float16 in 32-bit registers, with the one NaN that a device makes."""
    return np.where(np.isnan(values), np.uint16(0x7FFF), values.view(np.uint16))[()].astype(U32)


def two_halves(direction: str, high: Values, low: Values) -> Values:
    """Return two values as float16 in one register."""
    upper, lower = (half_bits(narrowed(F16, direction or "rn", one.astype(F64))) for one in (high, low))
    return (upper << np.uint32(16)) | lower


# Computed in float64: within the error that `.approx` documents.
APPROXIMATE: dict[str, Callable[[Values], Values]] = {
    "sin": np.sin,
    "cos": np.cos,
    "ex2": np.exp2,
    "lg2": np.log2,
    "tanh": np.tanh,
    "rsqrt": lambda x: 1 / np.sqrt(x),
}

"""The types of PTX as NumPy's: `.s32` is int32, `.b64` uint64, `.pred` bool."""

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

_UNSIGNED = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}
_WIDER = {np.dtype(f"{sign}{size}"): np.dtype(f"{sign}{2 * size}") for sign in "iu" for size in (1, 2, 4)}


def unsigned(dtype: np.dtype) -> np.dtype:
    """Return the unsigned type of the same size."""
    return _UNSIGNED[dtype.itemsize]


def wider(dtype: np.dtype) -> np.dtype:
    """Return the type of twice the size, as of the product of `mul.wide`."""
    return _WIDER[dtype]


def as_type(values: Values, dtype: np.dtype) -> Values:
    """Return the bits of a register as a type: the same bits, or the low ones for a narrower type."""
    own = values.dtype
    if own is dtype or own == dtype:
        return values
    if own.itemsize == dtype.itemsize:
        return values.view(dtype)
    bits = values.view(_UNSIGNED[own.itemsize]) if own.kind != "b" else values
    return bits.astype(_UNSIGNED[dtype.itemsize]).view(dtype)


def extended(values: Values, size: int) -> Values:
    """Return values widened to the size of a register, with their sign where they have one."""
    own = values.dtype
    if own.itemsize >= size or own.kind == "b":
        return values
    if own.kind == "f":
        values, own = values.view(_UNSIGNED[own.itemsize]), _UNSIGNED[own.itemsize]
    return values.astype(np.dtype(f"{own.kind}{size}"))

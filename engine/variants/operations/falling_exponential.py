"""2 to the power of -t in float32 by sums and products alone, for the CPU and for CUDA. No Numba.

With t = n + f, n whole and f from 0 to below 1, it is a polynomial of f, off by less than 2e-8, times 2 to
the power of -n, which is exact. The polynomial rounds at most 8 times. Past `MOST` it is 2 to the power of
-30, which is less than the polynomial is off. No branch, so the compiler makes vectors of it; `math.exp` is a
call on the CPU and rounds otherwise on CUDA.
"""

from typing import Any

import numpy as np

MOST = np.float32(30.0)
# Chebyshev interpolation of 2^-f on 0 to 1, degree 6.
COEFFICIENTS = tuple(
    map(
        np.float32,
        (
            1.0,
            -0.6931470632553101,
            0.24022433161735535,
            -0.05549093335866928,
            0.009579859673976898,
            -0.0012755400966852903,
            0.00010932892473647371,
        ),
    )
)
_P0, _P1, _P2, _P3, _P4, _P5, _P6 = COEFFICIENTS
# The exponent of 1.0 as a float32 has it, and where the bits of an exponent begin.
_BIAS, _MANTISSA = np.float32(127.0), np.float32(2.0**23)


def falling_polynomial(f: Any) -> Any:
    """Return 2 to the power of -f, for f from 0 to 1; a float32 for a float32."""
    return _P0 + f * (_P1 + f * (_P2 + f * (_P3 + f * (_P4 + f * (_P5 + f * _P6)))))


def half_by_bits(whole: Any) -> Any:
    """Return 2 to the power of -n by its bits: of shifts Numba makes 64 bits, half as many in a vector.

    CUDA's compiler knows no view of a number's bits.
    """
    return np.int32((_BIAS - whole) * _MANTISSA).view(np.float32)

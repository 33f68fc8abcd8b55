"""The step of float32 numbers: the largest power of two that divides them; sums of few steps are exact."""

import numpy as np

# Whole numbers below this are float32 numbers exactly, and so are their sums that stay below it.
EXACT_STEPS = 2.0**24


def step_of(numbers: np.ndarray) -> float:
    """Return the largest power of two of which every float32 number is a multiple; infinity if all are 0."""
    mantissas, exponents = np.frexp(np.asarray(numbers, np.float64))
    whole = (np.abs(mantissas) * EXACT_STEPS).astype(np.int64)
    lowest_bits = (whole & -whole)[whole != 0]
    return float(np.min(np.ldexp(lowest_bits.astype(np.float64), exponents[whole != 0] - 24), initial=np.inf))


def may_be_exact(weights: np.ndarray) -> bool:
    """Return whether sums of float32 weights over whole numbers can be exact: promised bit for bit then."""
    return bool(np.abs(weights).sum(dtype=np.float64) < EXACT_STEPS * step_of(weights))

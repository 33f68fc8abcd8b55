"""The step of float32 numbers: the largest power of two that they are whole multiples of. Sums of few steps are exact."""

import numpy as np

EXACT_STEPS = 2.0**24
"""Whole numbers below this, and their sums as long as they stay below it, are float32 numbers exactly."""


def step_of(numbers: np.ndarray) -> float:
    """Return the largest power of two that every number (float32) is a whole multiple of; infinity if all are 0."""
    mantissas, exponents = np.frexp(np.asarray(numbers, np.float64))
    whole = (np.abs(mantissas) * EXACT_STEPS).astype(np.int64)
    lowest_bits = (whole & -whole)[whole != 0]
    return float(np.min(np.ldexp(lowest_bits.astype(np.float64), exponents[whole != 0] - 24), initial=np.inf))

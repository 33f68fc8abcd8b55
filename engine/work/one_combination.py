"""How one sample of two results comes about where a step combines them: NumPy alone, for the window."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.verify.closeness import SMALLEST_SUBNORMAL, UNIT_ROUNDOFF
from engine.work.steps import CombineStep

Float32Array = NDArray[np.float32]


class Combination(NamedTuple):
    """What a step makes of two samples, for each channel."""

    terms: tuple[Float32Array, Float32Array]
    """Each sample as it is added: times its weight, or its square; of the larger the samples themselves."""
    value: Float32Array
    """The result, each multiplication and addition rounded to float32, as on the CPU."""
    bound: NDArray[np.float64]
    """How far another order of the same roundings, such as a fused multiply-add, may be from it."""


def combined(step: CombineStep, first: Float32Array, second: Float32Array) -> Combination:
    """Combine the samples of a pixel."""
    with np.errstate(over="ignore", invalid="ignore"):
        if step.how == "maximum":
            larger = np.maximum(first, second)
            return Combination((first, second), larger, np.zeros(larger.shape))
        if step.weights is None:
            squares = first * first, second * second
            root = np.sqrt(squares[0] + squares[1])
            size = root.astype(np.float64)
            # The square of a smaller length is subnormal, or 0.
            return Combination(squares, root, 5 * UNIT_ROUNDOFF * size + 2.0**-62 * (size > 0))
        one, other = map(np.float32, step.weights)
        terms = one * first, other * second
        size = np.abs(terms[0]).astype(np.float64) + np.abs(terms[1])
        return Combination(terms, terms[0] + terms[1], 4 * UNIT_ROUNDOFF * size + 4 * SMALLEST_SUBNORMAL)

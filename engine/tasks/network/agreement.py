"""How well scores, or a layer's values, agree with the float64 oracle, by the bound through all layers."""

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from engine.tasks.network import oracle
from engine.tasks.network.problem import ForwardPass
from engine.tasks.network.weights import Weights
from engine.verify.closeness import Near, compare
from engine.verify.verification import Findings, Verification

# The oracle takes 12 ms per drawing (44 M multiply-adds, most of them for derivatives) on two cores: 8e9 keep
# a proof near 2 s, and cover 180 drawings.
AFFORDABLE_MULTIPLY_ADDS = 8_000_000_000
# Drawings at once: the derivatives of each take 1 MB.
AT_ONCE = 16
# The first and the last ones are checked whatever the rest costs: a wrong index of the batch is seen there.
EDGES = 32


def drawings_to_check(problem: ForwardPass, seed: int, affordable: int | None = None) -> NDArray[np.intp]:
    """Return which drawings of a batch the oracle computes: all, or both ends and random ones between."""
    affordable = AFFORDABLE_MULTIPLY_ADDS if affordable is None else affordable
    most = max(2 * EDGES, affordable // oracle.multiply_adds_of(problem))
    if problem.batch <= most:
        return np.arange(problem.batch)
    inner = np.arange(EDGES, problem.batch - EDGES)
    chosen = np.random.default_rng(seed).choice(inner, most - 2 * EDGES, replace=False)
    ends = np.arange(EDGES), np.arange(problem.batch - EDGES, problem.batch)
    return np.concatenate([ends[0], np.sort(chosen), ends[1]])


def verify(
    scores: NDArray[np.float32],
    drawings: NDArray[np.float32],
    weights: Weights,
    problem: ForwardPass,
    *,
    seed: int = 0,
    affordable: int | None = None,
    checkpoint: Callable[[float], None] = lambda fraction: None,
    roundings: Callable[[int], int] = lambda terms: terms,
    layer: str = "output",
) -> Verification:
    """Compare scores (batch, classes), or another layer's values (batch, *shape), with the oracle's.

    Parameters
    ----------
    seed : int
        Of the drawings that are checked, where not all can be.
    affordable : int, optional
        Multiply-adds that the oracle may spend; None: those of about 2 s.
    checkpoint : callable of float
        Called with the fraction done; may raise to stop.
    roundings : callable of int -> int
        Of a product in a sum of so many (`NetworkVariant.roundings`).
    layer : str
        The key of the layer that `scores` are the values of.
    """
    chosen = drawings_to_check(problem, seed, affordable)
    found = Findings()
    for first in range(0, len(chosen), AT_ONCE):
        checkpoint(first / len(chosen))
        numbers = chosen[first : first + AT_ONCE]
        wanted = oracle.forward_with_bounds(drawings[numbers], weights, roundings)[layer]
        values = wanted.values.reshape(len(numbers), -1)
        part = scores[numbers].reshape(values.shape)
        # The values near one are those of its drawing.
        closeness = compare(part, values, partial(_limits, wanted), Near((1, values.shape[1])))
        found.add(closeness, part, values, partial(_place, layer, numbers, wanted.values.shape[1:]))
    each = scores[0].size
    how = f"the first {EDGES} and the last {EDGES} drawings, and random ones"
    return found.verification(len(chosen) * each, problem.batch * each, how)


def _place(layer: str, numbers: NDArray[np.intp], shape: tuple[int, ...], at: tuple[int, ...]) -> str:
    indices = np.unravel_index(at[1], shape)
    return f"drawing {numbers[at[0]]}, {layer} {', '.join(map(str, indices))}"


def _limits(wanted: oracle.Exact) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    batch = len(wanted.values)
    return wanted.magnitudes.reshape(batch, -1), wanted.bounds.reshape(batch, -1)

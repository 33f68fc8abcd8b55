"""The oracle: the forward pass in float64 with every layer, the bound that rounding explains, the comparison.

The bound goes through all layers. Let v be a layer's exact values, w the computed ones, and e a bound of
|w - v|. The next layer sums n products of w with exact weights F, in any order and fused or not, so that

    |w' - v'| <= |F| e + gamma_k |F| (|v| + e) + (n + 1) 2^-149,   gamma_k = k u / (1 - k u),   u = 2^-24

with k one more than the roundings that a product goes through: in one long chain its own and n - 1 additions,
fewer where sums are formed of parts, which the variant says; one more pays for the oracle's own float64
(Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.1). An average of four is such a
sum with weights of 1/4, which round nothing. Rectifying makes no error larger.

Magnitudes on every way add up to 0.06 to 0.2 for a score of 7. So the bound of a score is formed by its
derivatives: each value's own rounding, gamma_k |F| (|v| + e), times the magnitude of the score's derivative
by that value, summed over all values of all layers (`_score_bounds`). Where no value changes its sign that is
no approximation: between rectified values the network is linear. The bound is then 0.001 to 0.01.

No line is shared with a variant.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.tasks.network.operands import Weights
from engine.tasks.network.problem import CLASSES, LAYERS, POOL_SIDE, ForwardPass
from engine.verify.closeness import NOTHING, SMALLEST_SUBNORMAL, Near, Verification, compare, relative_bound

Float64Array = NDArray[np.float64]
_RECTIFIED = ("convolution-1", "convolution-2", "hidden")
_AVERAGE = np.full((1, 1, POOL_SIDE, POOL_SIDE), 1.0 / POOL_SIDE**2)
# The oracle takes 12 ms per drawing (44 M multiply-adds, most of them for derivatives) on two cores: 8e9 keep
# a proof near 2 s, and cover 180 drawings.
AFFORDABLE_MULTIPLY_ADDS = 8_000_000_000
# Drawings at once: the derivatives of each take 1 MB.
AT_ONCE = 16
# The first and the last ones are checked whatever the rest costs: a wrong index of the batch is seen there.
EDGES = 32


class Exact(NamedTuple):
    """A layer's exact values of some drawings, the sums of magnitudes behind them, and the bounds."""

    values: Float64Array
    magnitudes: Float64Array
    bounds: Float64Array


def forward_with_bounds(
    drawings: NDArray[np.float32], weights: Weights, roundings: Callable[[int], int] = lambda terms: terms
) -> dict[str, Exact]:
    """Return every layer's values and their bounds, by the keys of `LAYERS`.

    `roundings` are those of a product in a sum of so many, as `NetworkVariant.roundings` gives them.
    """
    layers: dict[str, Exact] = {}
    local: dict[str, Float64Array] = {}
    values = drawings[:, None].astype(np.float64)
    bounds = np.zeros_like(values)
    exact = {name: getattr(weights, name).astype(np.float64) for name in weights.__dataclass_fields__}
    steps = (
        ("convolution-1", exact["convolution_1"], convolved),
        ("pool-1", _AVERAGE, _averaged),
        ("convolution-2", exact["convolution_2"], convolved),
        ("pool-2", _AVERAGE, _averaged),
        ("hidden", exact["hidden"], _connected),
        ("output", exact["output"], _connected),
    )
    for key, filters, rule in steps:
        positive = np.abs(filters)
        terms = filters[0].size if filters.ndim == 4 else len(filters)  # products of each sum
        magnitudes = rule(np.abs(values) + bounds, positive)
        own = relative_bound(roundings(terms) + 1) * magnitudes + (terms + 1) * SMALLEST_SUBNORMAL
        bounds = rule(bounds, positive) + own
        values = rule(values, filters)
        if key in _RECTIFIED:
            # What a value's own rounding adds to its result: nothing below 0, the whole bound near it.
            own = np.where(values < -bounds, 0.0, np.where(values > bounds, own, bounds))
            values = np.maximum(values, 0.0)
        local[key] = own
        layers[key] = Exact(values, magnitudes, bounds)
    tighter = np.minimum(layers["output"].bounds, _score_bounds(layers, local, exact))
    return layers | {"output": layers["output"]._replace(bounds=tighter)}


def _score_bounds(
    layers: dict[str, Exact], local: dict[str, Float64Array], exact: dict[str, Float64Array]
) -> Float64Array:
    """Return the bounds of the scores by the derivatives of each score: (batch, classes).

    A value's own error reaches a score times the derivative, in which the weights on different ways cancel
    out as they do in the scores; the bounds of `forward_with_bounds` add up magnitudes on every way. Values
    so near 0 that rounding may rectify them or not pass nothing on: their whole bound is their own error.
    """
    passes = {key: layers[key].values > layers[key].bounds for key in _RECTIFIED}
    batch, classes = layers["output"].values.shape
    bounds = local["output"] + local["hidden"] @ np.abs(exact["output"])
    # By each average of the second pool: (batch, classes, maps, rows, columns).
    derivatives = (exact["output"].T * passes["hidden"][:, None]) @ exact["hidden"].T
    derivatives = derivatives.reshape(batch, classes, *layers["pool-2"].values.shape[1:])
    own = local["pool-2"] + _averaged(local["convolution-2"], _AVERAGE)
    bounds = bounds + np.einsum("bkmyx,bmyx->bk", np.abs(derivatives), own)
    # By each output of the second convolution that is passed on, then by each average of the first pool.
    spread = derivatives.repeat(POOL_SIDE, axis=3).repeat(POOL_SIDE, axis=4) * _AVERAGE.flat[0]
    spread *= passes["convolution-2"][:, None]
    own = local["pool-1"] + _averaged(local["convolution-1"], _AVERAGE)
    derivatives = np.abs(_turned_back(spread, exact["convolution_2"]))
    score_bounds: Float64Array = bounds + np.einsum("bkcyx,bcyx->bk", derivatives, own)
    return score_bounds


def _turned_back(spread: Float64Array, filters: Float64Array) -> Float64Array:
    """Return derivatives of a convolution's inputs from those of its outputs (batch, k, m, rows, columns)."""
    batch, classes, maps, rows, columns = spread.shape
    _, before, side, _ = filters.shape
    flat = spread.reshape(batch * classes, maps, rows * columns)
    derivatives = np.zeros((batch * classes, before, rows + side - 1, columns + side - 1))
    for p in range(side):
        for q in range(side):
            part = (filters[:, :, p, q].T @ flat).reshape(-1, before, rows, columns)
            derivatives[:, :, p : p + rows, q : q + columns] += part
    return derivatives.reshape(batch, classes, *derivatives.shape[1:])


def convolved(maps: Float64Array, filters: Float64Array) -> Float64Array:
    """Correlate maps (batch, c, rows, columns) with filters (m, c, r, s) where these lie on them whole."""
    rows, columns = filters.shape[2:]
    windows = np.lib.stride_tricks.sliding_window_view(maps, (rows, columns), axis=(2, 3))
    batch, channels, down, across = windows.shape[:4]
    # Rows: a product for each cell of the filters; columns: an output.
    unrolled = windows.transpose(0, 1, 4, 5, 2, 3).reshape(batch, channels * rows * columns, down * across)
    return (filters.reshape(len(filters), -1) @ unrolled).reshape(batch, -1, down, across)


def _averaged(maps: Float64Array, weights: Float64Array) -> Float64Array:
    batch, channels, rows, columns = maps.shape
    squares = maps.reshape(batch, channels, rows // POOL_SIDE, POOL_SIDE, columns // POOL_SIDE, POOL_SIDE)
    averages: Float64Array = np.einsum("bcyixj,ij->bcyx", squares, weights[0, 0])
    return averages


def _connected(values: Float64Array, weights: Float64Array) -> Float64Array:
    return values.reshape(len(values), -1) @ weights


def drawings_to_check(problem: ForwardPass, seed: int, affordable: int | None = None) -> NDArray[np.intp]:
    """Return which drawings of a batch the oracle computes: all, or both ends and random ones between."""
    affordable = AFFORDABLE_MULTIPLY_ADDS if affordable is None else affordable
    # What one drawing costs the oracle: values, magnitudes, bounds; derivatives.
    each = 3 * problem.multiply_adds // problem.batch + CLASSES * LAYERS[2].multiply_adds
    most = max(2 * EDGES, affordable // each)
    if problem.batch <= most:
        return np.arange(problem.batch)
    inner = np.arange(EDGES, problem.batch - EDGES)
    chosen = np.random.default_rng(seed).choice(inner, most - 2 * EDGES, replace=False)
    ends = np.arange(EDGES), np.arange(problem.batch - EDGES, problem.batch)
    return np.concatenate([ends[0], np.sort(chosen), ends[1]])


def verify(
    scores: NDArray[np.float32],
    drawings: NDArray[np.float32], weights: Weights, problem: ForwardPass,
    roundings: Callable[[int], int] = lambda terms: terms,
    *, seed: int = 0, affordable: int | None = None,
    checkpoint: Callable[[float], None] = lambda fraction: None, layer: str = "output",
) -> Verification:  # fmt: skip
    """Compare scores (batch, classes), or the values of another `layer` (batch, *shape), with the oracle's.

    `roundings` are those of a product in a sum of so many (`NetworkVariant.roundings`); the rest is as of
    `engine.run.task.Task.verify`.
    """
    chosen = drawings_to_check(problem, seed, affordable)
    verification = NOTHING
    for first in range(0, len(chosen), AT_ONCE):
        checkpoint(first / len(chosen))
        numbers = chosen[first : first + AT_ONCE]
        wanted = forward_with_bounds(drawings[numbers], weights, roundings)[layer]
        values, magnitudes, bounds = (one.reshape(len(numbers), -1) for one in wanted)
        part = scores[numbers].reshape(values.shape)
        place = partial(_place, layer, numbers, wanted.values.shape[1:])
        # The values near one are those of its drawing.
        near = Near((1, values.shape[1]))
        limits = partial(lambda *both: both, magnitudes, bounds)
        verification = verification.joined(compare(part, values, limits, place, near))
    each = scores[0].size
    how = f"the first {EDGES} and the last {EDGES} drawings, and random ones"
    return verification.of_pixels(len(chosen) * each, problem.batch * each, how)


def _place(layer: str, numbers: NDArray[np.intp], shape: tuple[int, ...], at: tuple[int, ...]) -> str:
    indices = np.unravel_index(at[1], shape)
    return f"drawing {numbers[at[0]]}, {layer} {', '.join(map(str, indices))}"

"""Samples far above all others, which `cpu-fft` does not transform but adds to the results by themselves.

The error of a transform is a part of the largest value that it mixes: for 1e20 among values of 25 it would be
1e9 everywhere. A picture with more than a few such samples is transformed as it is.
"""

import numpy as np
from numpy.typing import NDArray

# An error of 5e-11 of such a sample is that of a rounding to float32 of the others, 6e-8.
FAR_ABOVE = 1024.0
MOST = 256
# The largest sample in root mean squares from which it is looked at more closely: 256 samples of 65,536 equal
# ones have 16. The median of all takes as long as a third of the transform.
_SUSPICIOUS = 16.0


def outliers(samples: np.ndarray) -> NDArray[np.intp]:
    """Return row, column and channel of each sample that is far above the others: (n, 3)."""
    none = np.empty((0, 3), np.intp)
    if samples.dtype.kind != "f":
        return none
    largest, flat = float(max(samples.max(), -samples.min())), samples.reshape(-1)
    with np.errstate(over="ignore"):
        squares = float(np.dot(flat, flat))
    if squares < np.inf and largest * largest * flat.size <= _SUSPICIOUS**2 * squares:
        return none
    sizes = np.abs(samples)
    others = sizes[sizes > 0]
    found = np.argwhere(sizes > FAR_ABOVE * np.median(others)) if others.size else none
    return found if len(found) <= MOST else none


def largest_mixed(samples: np.ndarray) -> float:
    """Return the largest magnitude among the samples that are transformed."""
    places = outliers(samples)
    sizes = np.abs(samples.astype(np.float64))
    sizes[tuple(places.T)] = 0.0
    return float(sizes.max(initial=0.0))


def add_outliers(
    out: np.ndarray,
    image: np.ndarray,
    places: NDArray[np.intp],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> None:
    """Add to results what some samples of a picture make of them.

    `rows` and `columns` are the sources of those in and around the picture, as `transform.sources` has them.
    """
    (high, wide), (height, width) = weights.shape, out.shape[:2]
    for row, column, channel in places:
        value = float(image[row, column, channel])
        for i in np.flatnonzero(rows == row):
            for j in np.flatnonzero(columns == column):
                # The results whose windows have the cell (i, j).
                top, left = max(0, i - high + 1), max(0, j - wide + 1)
                bottom, right = min(i, height - 1), min(j, width - 1)
                part = out[top : bottom + 1, left : right + 1, channel]
                own = weights[i - bottom : i - top + 1, j - right : j - left + 1][::-1, ::-1]
                with np.errstate(over="ignore"):
                    part[...] = (part + value * own).astype(np.float32)

"""The oracle: correlation in float64 by an explicit index map; slow, obvious, no line shared with a variant.

The weights and the offset are taken as the kernels get them, rounded to float32; from there on every product
and sum is float64. Only the border's index rule is shared with the variants, because it *is* the definition
of the border.

    result[r, c] = offset + sum over (m, n) of weights[m, n] * image[r + m - up, c + n - left]

where (up, left) is the anchor.
"""

import numpy as np
from numpy.typing import NDArray

from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.verify.regions import Region

Float64Array = NDArray[np.float64]


def _indices(first: int, last: int, before: int, after: int, length: int, border: Border) -> NDArray[np.intp]:
    """Source index (or -1 for a ghost cell) of every row or column that results first .. last - 1 read."""
    wanted = range(first - before, last + after)
    return np.array([border.rule(index, length) for index in wanted], dtype=np.intp)


def gather(image: np.ndarray, mask: Mask, border: Border, cval: float, region: Region) -> Float64Array:
    """Return the input cells that the results of `region` read, float64, ghost cells filled in with `cval`.

    The shape is (rows + mask rows - 1, columns + mask columns - 1[, C]).
    """
    up, left = mask.anchor
    rows = _indices(region.top, region.bottom, up, mask.rows - 1 - up, image.shape[0], border)
    columns = _indices(region.left, region.right, left, mask.columns - 1 - left, image.shape[1], border)
    cells = image[np.ix_(rows, columns)].astype(np.float64)
    cells[rows < 0] = cval
    cells[:, columns < 0] = cval
    return cells


def correlate(
    image: np.ndarray,
    mask: Mask,
    border: Border = Border.ZERO,
    cval: float = 0.0,
    region: Region | None = None,
) -> Float64Array:
    """Correlate in float64; the result has the shape of the region.

    Parameters
    ----------
    image : ndarray of shape (H, W) or (H, W, C), any real dtype
    mask : Mask
        Its `weights32` and `offset` are used, rounded to float32 as the kernels get them.
    cval : float
        Value of ghost cells for `Border.CONSTANT`, rounded to float32 as the kernels get it.
    region : Region, optional
        The results wanted; None: all of them.
    """
    region = region or Region(0, image.shape[0], 0, image.shape[1])
    cells = gather(image, mask, border, _ghost_value(border, cval), region)
    return _shifted_sum(cells, mask.weights32.astype(np.float64), float(np.float32(mask.offset)), region)


def magnitudes(
    image: np.ndarray,
    mask: Mask,
    border: Border = Border.ZERO,
    cval: float = 0.0,
    region: Region | None = None,
) -> Float64Array:
    """Return |weights| correlated with |image| plus |offset|: the S of the rounding bound.

    Cells that are not finite count as 0: nothing is rounded where they take part. Else as `correlate`.
    """
    region = region or Region(0, image.shape[0], 0, image.shape[1])
    cells = np.abs(gather(image, mask, border, _ghost_value(border, cval), region))
    cells[~np.isfinite(cells)] = 0.0
    return _shifted_sum(
        cells, np.abs(mask.weights32.astype(np.float64)), abs(float(np.float32(mask.offset))), region
    )


def _ghost_value(border: Border, cval: float) -> float:
    return float(np.float32(cval)) if border.takes_value else 0.0


def _shifted_sum(cells: Float64Array, weights: Float64Array, offset: float, region: Region) -> Float64Array:
    height, width = region.bottom - region.top, region.right - region.left
    result = np.full((height, width, *cells.shape[2:]), offset, dtype=np.float64)
    with np.errstate(invalid="ignore"):  # 0 x infinity is NaN, as in the variants
        for row, weights_of_row in enumerate(weights):
            for column, weight in enumerate(weights_of_row):
                result += weight * cells[row : row + height, column : column + width]
    return result

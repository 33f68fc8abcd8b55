"""The oracle: correlation in float64 by an explicit index map; slow, obvious, no line shared with a variant.

The weights and the offset are taken as the kernels get them, rounded to float32; from there on every product
and sum is float64. Only the border's index rule is shared with the variants, because it *is* the definition
of the border.

    result[r, c] = offset + sum over (m, n) of weights[m, n] * image[r + m - up, c + n - left]

where (up, left) is the anchor.
"""

import math

import numpy as np
from numpy.typing import NDArray

from engine.compiled.machine_code import MachineFunction
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.verify.regions import Region

Float64Array = NDArray[np.float64]

_CODE = "engine.work.filtering.oracle_code"
# 0 x infinity is NaN, as in the variants.
_gather, _correlate, _correlate_apart = (
    MachineFunction(_CODE, name, error_model="numpy") for name in ("gather", "correlate", "correlate_apart")
)
# Cells that are gathered at once, so that they stay in a core's second cache.
_CELLS = 1 << 16


def border_sources(wanted: NDArray[np.intp], length: int, border: Border) -> NDArray[np.intp]:
    """Return the row or column that each wanted one is read from, -1 for a ghost cell."""
    sources = wanted.copy()
    for place in zip(*np.nonzero((wanted < 0) | (wanted >= length)), strict=True):
        sources[place] = border.rule(int(wanted[place]), length)
    return sources


def _wanted(results: range, taps: int, before: int) -> NDArray[np.intp]:
    """Return the rows or columns that results read.

    Those of neighbouring results follow one another once; of results with a step each has its own `taps`.
    """
    if results.step == 1:
        return np.arange(results.start - before, results.stop - before + taps - 1)
    return (np.array(results)[:, np.newaxis] - before + np.arange(taps)).reshape(-1)


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
    return _sums(image, mask, border, cval, region, absolute=False)


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
    return _sums(image, mask, border, cval, region, absolute=True)


def correlate_at(
    values: NDArray[np.float64],
    mask: Mask,
    down: NDArray[np.intp],
    across: NDArray[np.intp],
    ghost: float,
    *,
    absolute: bool = False,
) -> Float64Array:
    """Correlate at results whose cells lie in given rows and columns of `values` (H, W, C).

    `down` and `across` are (results, taps), -1 for a ghost cell. With `absolute` as `magnitudes`.
    """
    weights, offset = mask.weights32.astype(np.float64), float(np.float32(mask.offset))
    if absolute:
        weights, offset = np.abs(weights), abs(offset)
    channels = values.shape[2]
    result = np.empty((len(down), len(across) * channels))
    picture = np.ascontiguousarray(values).reshape(len(values), -1)
    rows, columns = (np.ascontiguousarray(one, np.int64).reshape(-1) for one in (down, across))
    _correlate_apart(picture, rows, columns, channels, ghost, absolute, weights, offset, result)
    return result.reshape(len(down), len(across), channels)


def _sums(
    image: np.ndarray, mask: Mask, border: Border, cval: float, region: Region | None, *, absolute: bool
) -> Float64Array:
    region = region or Region(0, image.shape[0], 0, image.shape[1])
    if image.dtype not in (np.uint8, np.uint16, np.float32):
        image = image.astype(np.float64)
    (rows, columns), channels = region.ranges, math.prod(image.shape[2:])
    picture = np.ascontiguousarray(image).reshape(image.shape[0], -1)
    weights, offset = mask.weights32.astype(np.float64), float(np.float32(mask.offset))
    if absolute:
        weights, offset = np.abs(weights), abs(offset)
    ghost = float(np.float32(cval)) if border.takes_value else 0.0
    down, across = (
        border_sources(_wanted(results, taps, before), length, border)
        for results, taps, before, length in zip(
            region.ranges, mask.shape, mask.anchor, image.shape[:2], strict=True
        )
    )
    result = np.empty((len(rows), len(columns) * channels))
    if region.step > 1:
        _correlate_apart(picture, down, across, channels, ghost, absolute, weights, offset, result)
    else:
        # The columns that lie in the picture are neighbours there.
        begin, end = columns.start - mask.anchor[1], columns.start - mask.anchor[1] + across.size
        inside, past_inside = max(0, -begin), across.size - max(0, end - image.shape[1])
        band = max(1, _CELLS // (across.size * channels))
        cells = np.empty((band + mask.rows - 1, across.size * channels))
        for first in range(0, len(rows), band):
            out = result[first : first + band]
            taken = down[first : first + len(out) + mask.rows - 1]
            _gather(picture, taken, across, channels, ghost, absolute, inside, past_inside, cells)
            _correlate(cells, weights, offset, channels, out)
    return result.reshape(len(rows), len(columns), *image.shape[2:])

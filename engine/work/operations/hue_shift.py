"""Hue shift: every colour goes round the colour wheel by an angle; brightness and chroma stay.

With V the highest and C the difference of the highest and the lowest of red, green and blue, and h the hue in
sextants (60 degrees), a channel of the result is V - C max(0, min(k, 4 - k, 1)), k = (n + h + shift) mod 6,
where n is 5 for red, 3 for green and 1 for blue: HSV to RGB without a table of cases.

The bound: h is off by at most 3 roundings of a quotient below 1, and of each sum on the way by one of its
size (5, 11, 16 and 4): 39 u in all, u = 2^-24. The function of k is continuous with slope 1, so a channel is
off by C (39 + 2) u, the rounding of C itself included, and by one rounding of the last difference. 64 u C
and 4 u V cover it.

Source: A. R. Smith, "Color gamut transform pairs", SIGGRAPH 1978: the hexcone of hue, saturation and value.
"""

import numpy as np

from engine.verify.closeness import SMALLEST_SUBNORMAL, UNIT_ROUNDOFF
from engine.work.operations.cells import Floats, OfCells, Range
from engine.work.operations.contract import Operation, Parameter, ResultKind, pixel_alone
from engine.work.operations.desaturate import refuse_all_but_rgb
from engine.work.operations.problem import OperationProblem

OPERATIONS_PER_PIXEL = 32  # of the variants: comparisons, a division, the formula for three channels


def shift_of(problem: OperationProblem) -> np.float32:
    """Return the angle in sextants, 0 to below 6, float32, as the kernels get it."""
    return np.float32(float(problem.parameters["degrees"]) % 360.0 / 60.0)


def _turned(pixels: Floats, highest: Floats, lowest: Floats, problem: OperationProblem) -> Floats:
    """Return the turned colours; a pixel with NaN or infinity becomes NaN in all channels."""
    red, green, blue = np.moveaxis(pixels, 2, 0)
    chroma = highest - lowest
    hue = np.where(
        highest == red,
        (green - blue) / chroma,
        np.where(highest == green, 2 + (blue - red) / chroma, 4 + (red - green) / chroma),
    )
    hue = np.where(chroma == 0, 0.0, hue) + float(shift_of(problem))
    channels = []
    for offset in (5, 3, 1):
        k = (offset + hue) % 6
        channels.append(highest - chroma * np.clip(np.minimum(k, 4 - k), 0, 1))
    turned = np.stack(channels, axis=2)
    turned[~np.isfinite(pixels).all(axis=2)] = np.nan
    return turned


def _of_cells(cells: Range, problem: OperationProblem) -> Range:
    """Return the turned colours: between two colours a channel changes by 7 times the largest difference.

    Within a sextant it is V - C c - (a difference of two channels) with c at most 2, and it has no jumps.
    """
    pixels = cells.value[..., 0, 0]
    highest, lowest = pixels.max(axis=2), pixels.min(axis=2)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        value = _turned(pixels, highest, lowest, problem)
        size = 64 * (highest - lowest) + 4 * (np.abs(highest) + np.abs(lowest))
        bound = (UNIT_ROUNDOFF * size + 4 * SMALLEST_SUBNORMAL) * (1 + 1e-6)
        if cells.low is not cells.value:
            bound += (7.0 + 128 * UNIT_ROUNDOFF) * cells.error[..., 0, 0].max(axis=2)
        bound = bound[..., np.newaxis]
        return Range(value, value - bound, value + bound)


HUE_SHIFT = Operation(
    key="hue-shift",
    title="Hue shift",
    teaches="A thread per pixel turns its colour round the colour wheel: branches by the highest channel "
    "make the threads of a warp diverge.",
    result=ResultKind.PICTURE,
    window=pixel_alone,
    of_cells=OfCells(_of_cells, scales=True),
    parameters=(
        Parameter(
            name="degrees",
            title="Angle",
            explanation="How far round the colour wheel: 120 makes red green, green blue and blue red.",
            default=120.0,
            least=-360.0,
            most=360.0,
            unit="°",
        ),
    ),
    refuse=refuse_all_but_rgb,
    cost=12,
    proof="A bound of 64 u times the chroma and 4 u times the highest channel, u = 2^-24.",
)

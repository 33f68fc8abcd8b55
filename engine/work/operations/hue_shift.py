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
from engine.verify.regions import Region
from engine.work.operations.cells import OfCells, Range
from engine.work.operations.contract import Operation, Parameter, ResultKind, pixel_alone, verified_by
from engine.work.operations.desaturate import refuse_all_but_rgb
from engine.work.operations.problem import OperationProblem

OPERATIONS_PER_PIXEL = 32  # of the variants: comparisons, a division, the formula for three channels


def shift_of(problem: OperationProblem) -> np.float32:
    """Return the angle in sextants, 0 to below 6, float32, as the kernels get it."""
    return np.float32(float(problem.parameters["degrees"]) % 360.0 / 60.0)


def _parts(samples: np.ndarray, region: Region) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pixels = samples[region.slices].astype(np.float64)
    return pixels, pixels.max(axis=2), pixels.min(axis=2)


def wanted(samples: np.ndarray, problem: OperationProblem, region: Region) -> np.ndarray:
    """Return the turned colours, float64; a pixel with NaN or infinity becomes NaN in all channels."""
    pixels, highest, lowest = _parts(samples, region)
    red, green, blue = np.moveaxis(pixels, 2, 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
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


def limits(samples: np.ndarray, problem: OperationProblem, region: Region) -> tuple[np.ndarray, np.ndarray]:
    """Return magnitudes and the bound that the docstring of this module derives."""
    _, highest, lowest = _parts(samples, region)
    with np.errstate(invalid="ignore"):
        chroma, size = highest - lowest, np.abs(highest) + np.abs(lowest)
    bound = UNIT_ROUNDOFF * (64 * chroma + 4 * size) + 4 * SMALLEST_SUBNORMAL
    largest = np.where(np.isfinite(size), size, 0.0)
    return tuple(np.repeat(one[..., np.newaxis], 3, axis=2) for one in (largest, bound))  # type: ignore[return-value]


def _of_cells(cells: Range, problem: OperationProblem) -> Range:
    """Return the turned colours: between two colours a channel changes by 7 times the largest difference.

    Within a sextant it is V - C c - (a difference of two channels) with c at most 2, and it has no jumps.
    """
    pixels, region = cells.value[..., 0, 0], Region(0, len(cells.value), 0, cells.value.shape[1])
    value = wanted(pixels, problem, region)
    error = cells.error[..., 0, 0].max(axis=2, keepdims=True)
    bound = 7.0 * error + limits(pixels, problem, region)[1] * (1 + 1e-6) + 64 * UNIT_ROUNDOFF * error * 2
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
    verify=verified_by(wanted, limits, cost=12),
    proof="A bound of 64 u times the chroma and 4 u times the highest channel, u = 2^-24.",
)

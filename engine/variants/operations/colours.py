"""Colours: desaturate, the grey of each pixel's brightness in all three channels, and hue shift.

Sources: of the weights of brightness ITU-R BT.601 and BT.709, the equations of luminance; of hue, saturation
and value, the hexcone: A. R. Smith, "Color gamut transform pairs", SIGGRAPH 1978.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.compiled.late_names import njit
from engine.device.kernel_factory import kernel_factory
from engine.device.kernel_names import cuda, cuda_result, float32
from engine.device.result_rules import cpu_largest, cpu_result
from engine.geometry.block import Block
from engine.results.problem import Work
from engine.variants.operations.kernels import CpuCode, OperationLaunch, cuda_variant, pixels
from engine.verify.closeness import SMALLEST_SUBNORMAL, UNIT_ROUNDOFF, relative_bound
from engine.work.operations import contract
from engine.work.problem import OperationProblem

WEIGHTS = {
    "rec601": (0.299, 0.587, 0.114),
    "rec709": (0.2126, 0.7152, 0.0722),
    "equal": (1 / 3, 1 / 3, 1 / 3),
}


def work_of(operations: int) -> Callable[[OperationProblem, Block], Work]:
    """Return the work where each sample is read and written once, with so many operations for a pixel."""
    return lambda problem, block: contract.operation_work(
        problem, picture_loads=problem.samples, flops=operations * problem.pixels
    )


def weights_of(problem: OperationProblem) -> np.ndarray:
    """Return the weights of red, green and blue, float32, as the kernels get them."""
    return np.array(WEIGHTS[str(problem.parameters["weights"])], np.float32)


def _grey_of(cells: contract.Range, problem: OperationProblem) -> contract.Range:
    """Return the weighted sum in all three channels: a float32 sum of three products."""
    weights = weights_of(problem).astype(np.float64)

    def grey(part: contract.Floats) -> contract.Floats:
        return np.repeat((part[..., 0, 0] @ weights)[..., np.newaxis], 3, axis=2)

    value, low, high, _ = cells.each(grey)
    size = np.maximum(np.abs(cells.low), np.abs(cells.high))[..., 0, 0] @ weights
    bound = relative_bound(6) * size[..., np.newaxis] + 4 * SMALLEST_SUBNORMAL
    return contract.Range(value, low - bound, high + bound)


@CpuCode
def grey_code():
    """`cpu-desaturate`: the weighted sum of each pixel's channels, on all cores.

    Limit
        Three samples lie side by side, so that vectors have to be put together first.
    """

    def desaturate(image, out, top, bottom, worker, red, green, blue, largest):
        for row in range(top, bottom):
            for pixel in range(image.shape[1] // 3):
                at = 3 * pixel
                grey = red * np.float32(image[row, at]) + green * np.float32(image[row, at + 1])
                result = cpu_result(grey + blue * np.float32(image[row, at + 2]), largest)
                out[row, at] = result
                out[row, at + 1] = result
                out[row, at + 2] = result

    return desaturate


CPU_GREY = grey_code.variant(
    lambda problem, patch: grey_code.bands(
        problem, 4 * problem.width, (*weights_of(problem), cpu_largest(problem.dtype))
    ),
    key="cpu-desaturate",
    idea="Each pixel's brightness, on all cores.",
    work=work_of(5),
)


@kernel_factory
def grey_kernel(dtype: str):
    """`cuda-desaturate`: a thread per pixel.

    Idea
        Thread (row, column) reads red, green and blue of its pixel, adds them up by their weights in float32,
        and writes the brightness to all three channels.
    Who loads what
        Three loads and three stores per thread. The channels lie side by side, so the first load of a warp
        already brings the cache lines of the other two.
    Limit
        5 operations for 6 accesses: memory.

    Source: COSC 407, "CUDA Memories and Performance Revisited", pixel-based operations.
    """
    as_result = cuda_result(dtype)

    @cuda.jit
    def desaturate(image, width, red, green, blue, out):
        column, row = cuda.grid(2)
        if row >= image.shape[0] or column >= width:
            return
        grey = red * float32(image[row, column, 0]) + green * float32(image[row, column, 1])
        grey = as_result(grey + blue * float32(image[row, column, 2]))
        out[row, column, 0] = grey
        out[row, column, 1] = grey
        out[row, column, 2] = grey

    return desaturate


CUDA_GREY = cuda_variant(
    OperationLaunch(
        lambda problem, block: grey_kernel(problem.dtype),
        pixels,
        lambda problem, patch: (problem.width, *weights_of(problem)),
    ),
    work=work_of(5),
    key="cuda-desaturate",
    title="Thread per pixel",
    idea="One thread per pixel: three loads side by side, a weighted sum, three stores.",
)

GREY_PARAMETERS = (
    contract.Parameter("weights", "Weights",
              "How much red, green and blue count: rec601 (0.299, 0.587, 0.114, as in JPEG), rec709 (0.2126, "
              "0.7152, 0.0722, as on screens), or equal.",
              "rec601", choices=tuple(WEIGHTS)),
)  # fmt: skip

DESATURATE = contract.Operation(
    key="desaturate",
    title="Desaturate",
    teaches="A thread per pixel reads three samples and writes one brightness three times: neighbours in a "
    "warp read 96 bytes in a row.",
    window=contract.pixel_alone,
    of_cells=contract.OfCells(_grey_of, scales=True),
    parameters=GREY_PARAMETERS,
    refuse=contract.takes_rgb,
    cost=2,
    proof="The rounding bound of a float32 sum of three products.",
    variants=(CPU_GREY, CUDA_GREY),
)


def shift_of(problem: OperationProblem) -> np.float32:
    """Return the angle in sextants, 0 to below 6, float32, as the kernels get it."""
    return np.float32(float(problem.parameters["degrees"]) % 360.0 / 60.0)


def _turned(cells: contract.Range, problem: OperationProblem) -> contract.Range:
    """Return the turned colours; a pixel with NaN or infinity becomes NaN in all channels.

    With V the highest and C the difference of the highest and the lowest of red, green and blue, and h the
    hue in sextants (60 degrees), a channel of the result is V - C max(0, min(k, 4 - k, 1)), k = (n + h +
    shift) mod 6, where n is 5 for red, 3 for green and 1 for blue: HSV to RGB without a table of cases.

    The bound: h is off by at most 3 roundings of a quotient below 1, and of each sum on the way by one of its
    size (5, 11, 16 and 4): 39 u in all, u = 2^-24. The function of k is continuous with slope 1, so a channel
    is off by C (39 + 2) u, the rounding of C itself included, and by one rounding of the last difference.
    64 u C and 4 u V cover it. Between two colours a channel changes by 7 times the largest difference: within
    a sextant it is V - C c - (a difference of two channels) with c at most 2, and it has no jumps.
    """
    pixels = cells.value[..., 0, 0]
    highest, lowest = pixels.max(axis=2), pixels.min(axis=2)
    red, green, blue = np.moveaxis(pixels, 2, 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        chroma = highest - lowest
        of_green_or_blue = np.where(highest == green, 2 + (blue - red) / chroma, 4 + (red - green) / chroma)
        hue = np.where(highest == red, (green - blue) / chroma, of_green_or_blue)
        hue = np.where(chroma == 0, 0.0, hue) + float(shift_of(problem))
        sextants = [(offset + hue) % 6 for offset in (5, 3, 1)]
        turned = [highest - chroma * np.clip(np.minimum(k, 4 - k), 0, 1) for k in sextants]
        value = np.stack(turned, axis=2)
        value[~np.isfinite(pixels).all(axis=2)] = np.nan
        size = 64 * chroma + 4 * (np.abs(highest) + np.abs(lowest))
        bound = (UNIT_ROUNDOFF * size + 4 * SMALLEST_SUBNORMAL) * (1 + 1e-6)
        if cells.low is not cells.value:
            bound += (7.0 + 128 * UNIT_ROUNDOFF) * cells.error[..., 0, 0].max(axis=2)
        bound = bound[..., np.newaxis]
        return contract.Range(value, value - bound, value + bound)


def chroma_part(offset: Any, hue: Any) -> Any:
    """Return the part of the chroma that a channel of a hue of up to 12 sextants lacks, all float32."""
    k = offset + hue
    if k >= np.float32(6.0):
        k -= np.float32(6.0)
    if k >= np.float32(6.0):
        k -= np.float32(6.0)
    return max(np.float32(0.0), min(k, min(np.float32(4.0) - k, np.float32(1.0))))


@CpuCode
def hue_code():
    """`cpu-hue-shift`: each pixel's colour turned round the colour wheel, on all cores.

    A pixel with NaN or infinity becomes NaN.

    Limit
        A division and three branches for each pixel.
    """
    part = njit(inline="always")(chroma_part)

    def hue_shift(image, out, top, bottom, worker, shift, largest):
        for row in range(top, bottom):
            for pixel in range(image.shape[1] // 3):
                at = 3 * pixel
                red, green = np.float32(image[row, at]), np.float32(image[row, at + 1])
                blue = np.float32(image[row, at + 2])
                highest, lowest = max(red, max(green, blue)), min(red, min(green, blue))
                chroma = highest - lowest
                hue = shift
                if chroma > np.float32(0.0):
                    if highest == red:
                        hue = shift + (green - blue) / chroma
                    elif highest == green:
                        hue = shift + (np.float32(2.0) + (blue - red) / chroma)
                    else:
                        hue = shift + (np.float32(4.0) + (red - green) / chroma)
                strange = (red - red) + (green - green) + (blue - blue)
                for channel, offset in enumerate((5, 3, 1)):
                    result = highest - chroma * part(np.float32(offset), hue) + strange
                    out[row, at + channel] = cpu_result(result, largest)

    return hue_shift


CPU_HUE = hue_code.variant(
    lambda problem, patch: hue_code.bands(
        problem, 20 * problem.width, (shift_of(problem), cpu_largest(problem.dtype))
    ),
    key="cpu-hue-shift",
    idea="Each pixel's colour turned round the colour wheel, on all cores.",
    # Comparisons, a division, the formula for three channels.
    work=work_of(32),
)


@kernel_factory
def hue_kernel(dtype: str):
    """`cuda-hue-shift`: a thread per pixel, with branches.

    Idea
        Thread (row, column) finds the highest and the lowest channel of its pixel, the hue between them, and
        turns it: V - C max(0, min(k, 4 - k, 1)) with k = (n + hue) mod 6 for each channel.
    Who loads what
        As `cuda-desaturate`: three loads and three stores side by side.
    Limit
        Which channel is the highest differs from pixel to pixel: the threads of a warp take different
        branches, one after another (divergence). Memory still takes longer.

    Source: COSC 407, "CUDA Memories and Performance Revisited", pixel-based operations.
    """
    as_result, part = cuda_result(dtype), cuda.jit(device=True, inline="always")(chroma_part)

    @cuda.jit
    def hue_shift(image, width, shift, out):
        column, row = cuda.grid(2)
        if row >= image.shape[0] or column >= width:
            return
        red, green = float32(image[row, column, 0]), float32(image[row, column, 1])
        blue = float32(image[row, column, 2])
        highest, lowest = max(red, max(green, blue)), min(red, min(green, blue))
        chroma = highest - lowest
        hue = shift
        if chroma > float32(0.0):
            if highest == red:
                hue = shift + (green - blue) / chroma
            elif highest == green:
                hue = shift + (float32(2.0) + (blue - red) / chroma)
            else:
                hue = shift + (float32(4.0) + (red - green) / chroma)
        # 0, or NaN where a channel is NaN or infinite.
        strange = (red - red) + (green - green) + (blue - blue)
        for channel in range(3):
            # Rounded once, which is the assembler's choice otherwise.
            result = cuda.fma(-chroma, part(float32(5 - 2 * channel), hue), highest)
            out[row, column, channel] = as_result(result + strange)

    return hue_shift


CUDA_HUE = cuda_variant(
    OperationLaunch(
        lambda problem, block: hue_kernel(problem.dtype),
        pixels,
        lambda problem, patch: (problem.width, shift_of(problem)),
    ),
    # Comparisons, a division, the formula for three channels.
    work=work_of(32),
    key="cuda-hue-shift",
    title="Thread per pixel",
    idea="One thread per pixel, with branches by its highest channel: the threads of a warp diverge.",
)

HUE_PARAMETERS = (
    contract.Parameter("degrees", "Angle",
              "How far round the colour wheel: 120 makes red green, green blue and blue red.",
              120.0, least=-360.0, most=360.0, unit="°"),
)  # fmt: skip

HUE_SHIFT = contract.Operation(
    key="hue-shift",
    title="Hue shift",
    teaches="A thread per pixel turns its colour round the colour wheel: branches by the highest channel "
    "make the threads of a warp diverge.",
    window=contract.pixel_alone,
    of_cells=contract.OfCells(_turned, scales=True),
    parameters=HUE_PARAMETERS,
    refuse=contract.takes_rgb,
    cost=12,
    proof="A bound of 64 u times the chroma and 4 u times the highest channel, u = 2^-24.",
    variants=(CPU_HUE, CUDA_HUE),
)

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

from typing import TYPE_CHECKING, Any

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.result_rules import cpu_largest, cpu_result
from engine.geometry.block import Block
from engine.results.problem import Work
from engine.variants.operations.kernels import CpuCode, Step, cuda_variant, pixels
from engine.verify.closeness import SMALLEST_SUBNORMAL, UNIT_ROUNDOFF
from engine.work.operations import contract
from engine.work.problem import OperationProblem

if TYPE_CHECKING:  # imported by `kernel_factory` and `CpuCode`
    from numba import njit

    from engine.device.numba_cuda import cuda, cuda_result, float32


def shift_of(problem: OperationProblem) -> np.float32:
    """Return the angle in sextants, 0 to below 6, float32, as the kernels get it."""
    return np.float32(float(problem.parameters["degrees"]) % 360.0 / 60.0)


def _turned(
    pixels: contract.Floats, highest: contract.Floats, lowest: contract.Floats, problem: OperationProblem
) -> contract.Floats:
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


def _of_cells(cells: contract.Range, problem: OperationProblem) -> contract.Range:
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
        return contract.Range(value, value - bound, value + bound)


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is read and written once.

    Some 32 operations for a pixel: comparisons, a division, the formula for three channels.
    """
    return contract.operation_work(problem, picture_loads=problem.samples, flops=32 * problem.pixels)


def chroma_part(offset: Any, hue: Any) -> Any:
    """Return the part of the chroma that a channel of a hue of up to 12 sextants lacks, all float32."""
    k = offset + hue
    if k >= np.float32(6.0):
        k -= np.float32(6.0)
    if k >= np.float32(6.0):
        k -= np.float32(6.0)
    return max(np.float32(0.0), min(k, min(np.float32(4.0) - k, np.float32(1.0))))


@CpuCode
def cpu_code():
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


CPU = cpu_code.variant(
    lambda problem, patch: cpu_code.bands(
        problem, 20 * problem.width, (shift_of(problem), cpu_largest(problem.dtype))
    ),
    key="cpu-hue-shift",
    idea="Each pixel's colour turned round the colour wheel, on all cores.",
    work=work,
)


@kernel_factory
def kernel(dtype: str):
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


CUDA = cuda_variant(
    Step(
        lambda problem, block: kernel(problem.dtype),
        pixels,
        lambda problem, patch: (problem.width, shift_of(problem)),
    ),
    work=work,
    key="cuda-hue-shift",
    title="Thread per pixel",
    idea="One thread per pixel, with branches by its highest channel: the threads of a warp diverge.",
)

PARAMETERS = (
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
    of_cells=contract.OfCells(_of_cells, scales=True),
    parameters=PARAMETERS,
    refuse=contract.takes_rgb,
    cost=12,
    proof="A bound of 64 u times the chroma and 4 u times the highest channel, u = 2^-24.",
    variants=(CPU, CUDA),
)

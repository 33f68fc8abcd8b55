"""`cuda-hue-shift`: a thread per pixel, with branches.

Idea
    Thread (row, column) finds the highest and the lowest channel of its pixel, the hue between them, and
    turns it: V - C max(0, min(k, 4 - k, 1)) with k = (n + hue) mod 6 for each channel.
Who loads what
    As `cuda-desaturate`: three loads and three stores side by side.
Limit
    Which channel is the highest differs from pixel to pixel: the threads of a warp take different branches,
    one after another (divergence). Memory still takes longer.

Source: COSC 407, "CUDA Memories and Performance Revisited", pixel-based operations.
"""

from typing import TYPE_CHECKING

from engine.device.kernel_factory import kernel_factory
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.grid import Step, cuda_variant, pixels
from engine.work.operations.hue_shift import OPERATIONS_PER_PIXEL, shift_of
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.cuda_rules import cuda_result
    from engine.device.numba_cuda import cuda, float32


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: three loads, some 32 operations and three stores for each pixel."""
    return operation_work(problem, picture_loads=problem.samples, flops=OPERATIONS_PER_PIXEL * problem.pixels)


@kernel_factory
def kernel(dtype: str):
    """Return the kernel for a type of samples."""
    as_result = cuda_result(dtype)

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
            k = float32(5 - 2 * channel) + hue
            if k >= float32(6.0):
                k -= float32(6.0)
            if k >= float32(6.0):
                k -= float32(6.0)
            part = max(float32(0.0), min(k, min(float32(4.0) - k, float32(1.0))))
            out[row, column, channel] = as_result(highest - chroma * part + strange)

    return hue_shift


VARIANT = cuda_variant(
    Step(
        lambda problem, block: kernel(problem.dtype),
        pixels,
        lambda problem, patch: (problem.width, shift_of(problem)),
    ),
    work=work,
    key="cuda-hue-shift",
    title="Thread per pixel",
    operation="hue-shift",
    idea="One thread per pixel, with branches by its highest channel: the threads of a warp diverge.",
)

"""A copy of the picture as a variant, so that the effective bandwidth is verified and timed like a kernel.

It is not a filter and not in the registry. Source: COSC 407, "Measuring Performance: Bandwidth (BW)", the
matrix copy.
"""

from functools import lru_cache

from engine.device.launches import DeviceKind, Operand, Pass
from engine.device.numba_cuda import cuda, float32
from engine.geometry.block import Block, Limits, Refusal
from engine.mask.mask import Mask
from engine.results.problem import Work
from engine.variants.passes import filter_pass, one_launch, prepare_passes, refuse_launch
from engine.work.filtering.variants import Variant, filter_work
from engine.work.problem import Problem


def _work(problem: Problem, block: Block) -> Work:
    """Return the work: each cell is read once and written once."""
    return filter_work(problem, picture_loads=problem.samples, multiply_adds=0)


def _unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    if mask.shape != (1, 1) or mask.weights[0, 0] != 1 or mask.offset:
        return Refusal("mask-not-1x1", "A copy has the mask of one cell of weight 1")
    return refuse_launch(problem, mask, block, limits)


@lru_cache
def _kernel():
    @cuda.jit
    def copy_cells(image, width, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row < image.shape[0] and column < width:
            out[row, column, channel] = float32(image[row, column, channel])

    return copy_cells


def _passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
    (launch,) = one_launch(problem, block)
    return (filter_pass(_kernel(), problem, launch, (Operand.IMAGE, problem.width, Operand.OUT)),)


COPY = Variant(
    key="copy",
    title="Matrix copy",
    device=DeviceKind.CUDA,
    idea="Each thread reads one cell and writes it.",
    default_block=Block(32, 8),
    plan=one_launch,
    work=_work,
    prepare=prepare_passes(_passes),
    unsupported=_unsupported,
    passes=_passes,
)

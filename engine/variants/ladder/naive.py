"""`naive`: one thread a result, everything in global memory.

Idea
    Thread (row, column) walks over the mask and reads each input cell and each weight from global memory.
Who loads what
    Every thread loads all of its taps itself. Neighbours in a warp read neighbouring cells (coalesced), and the
    same cells are asked for again by the threads around: only L1 and L2 know.
Limit
    One load of a cell and one of a weight for each multiply-add: 2 operations for 8 bytes asked of global memory.

Sources: CENG443, "2D Convolution Kernel" (convolution_2D_basic_kernel); Drexel ECEC-622, assignment 3,
ConvolutionKernel. Theirs sum in int and double; here each mask row has a float32 partial sum.
"""

from functools import lru_cache

from engine.device.cuda_kernels import filter_arguments, filter_signature, float32, prepare_passes
from engine.device.index_rules import cuda_rule
from engine.device.kernel_cache import kept_on_disk
from engine.device.launches import DeviceKind, Launch, Pass
from engine.device.numba_cuda import cuda
from engine.device.result_rules import cuda_result
from engine.geometry.block import Block, Limits
from engine.geometry.block_rules import Refusal
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.work import filter_work, loads_by_taps
from engine.tasks.work import Work
from engine.variants.contract import Variant
from engine.variants.ladder.geometry import one_launch, refuse_launch


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return one launch, a thread a result, no shared memory."""
    return one_launch(problem, block)


def work(problem: Problem, block: Block) -> Work:
    """Return the work: a cell (ghost cells cost no load) and a weight from global memory for each tap."""
    return filter_work(problem, picture_loads=loads_by_taps(problem), weight_loads=problem.multiply_adds)


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the block or the grid is illegal, or None."""
    return refuse_launch(problem, block, limits)


@lru_cache
@kept_on_disk
def kernel(border: Border, result_dtype: str):
    """Return the kernel for a border and a type of result; the size of picture and mask is known at run time."""
    rule, as_result = cuda_rule(border), cuda_result(result_dtype)

    @cuda.jit
    def correlate_naive(image, weights, width, anchor_row, anchor_column, ghost_value, offset, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        if row >= height or column >= width:
            return
        total = float32(0.0)
        for m in range(weights.shape[0]):
            source_row = rule(row + m - anchor_row, height)
            partial = float32(0.0)
            for n in range(weights.shape[1]):
                source_column = rule(column + n - anchor_column, width)
                value = ghost_value
                if source_row >= 0 and source_column >= 0:
                    value = float32(image[source_row, source_column, channel])
                partial += value * weights[m, n]
            total += partial
        out[row, column, channel] = as_result(total + offset)

    return correlate_naive


def passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
    """Return the one pass."""
    (launch,) = plan(problem, block)
    function = kernel(problem.border, problem.result_dtype)
    signature, arguments = filter_signature(problem), filter_arguments(problem, mask)
    return (Pass("correlate_naive", function, signature, launch, arguments),)


VARIANT = Variant(
    key="naive",
    title="Naive",
    device=DeviceKind.CUDA,
    idea="One thread a result; every thread reads all its cells and weights from global memory.",
    default_block=Block(32, 8),
    plan=plan,
    work=work,
    prepare=prepare_passes(passes),
    unsupported=unsupported,
    passes=passes,
    integer_output=True,
)

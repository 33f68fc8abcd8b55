"""`constant`: as `naive`, but the mask lies in constant memory.

Idea
    Every thread of a warp reads the same weight at the same time: what constant memory and its own small
    cache are made for, one broadcast for all of them. The picture stays in global memory.
Who loads what
    Every thread loads all of its taps itself from global memory, as in `naive`, and its weights from constant
    memory.
What it saves
    Against `naive`: the weight's load from global memory, half of all of its loads.
Limit
    Numba has no `cudaMemcpyToSymbol`: `cuda.const.array_like` bakes the weights into the compiled kernel, so
    each edit of the mask compiles anew (0.2 s to PTX). Constant memory has 64 KB; the largest mask here, 63 x
    63, takes 15,876 bytes of them.

    Constant memory is not always constant memory. Where the compiler knows the index it puts the weight
    itself into the instruction, as an immediate, and where it knows every index it leaves the array out. Left
    alone it unrolls some small masks and not others, depending on the border. Here the source decides, so
    that the plan can say it: a mask of at most 3 x 3 becomes immediates and takes no constant memory at all
    (loops of known length around next to nothing, which are unrolled always); a larger one takes 4 bytes per
    weight (the lengths of the loops are arguments, so that no index is known).

Sources: CENG443, "Constant Memory", "Constant Memory Usage"; Drexel ECEC-622, assignment 3, the optimised
kernel (kernel_c), whose mask lies there.
"""

from functools import lru_cache

import numpy as np

from engine.device.cuda_passes import filter_arguments
from engine.device.index_rules import cuda_rule
from engine.device.launches import Launch, Pass
from engine.geometry.block import Block
from engine.geometry.border import Border
from engine.mask.mask import Mask
from engine.tasks.filtering.problem import Problem
from engine.tasks.filtering.work import filter_work, loads_by_taps
from engine.tasks.work import Work
from engine.variants.ladder.geometry import one_launch
from engine.variants.ladder.teaching import teaching_variant

IMMEDIATE_SIDE = 3
"""Rows and columns up to which a mask becomes immediates."""


def becomes_immediates(mask_shape: tuple[int, int]) -> bool:
    """Return whether the weights of such a mask become numbers in the code instead of an array."""
    return max(mask_shape) <= IMMEDIATE_SIDE


def constant_bytes(mask_shape: tuple[int, int]) -> int:
    """Return the bytes of constant memory that the weights of such a mask take."""
    return 0 if becomes_immediates(mask_shape) else mask_shape[0] * mask_shape[1] * 4


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return one launch, one thread per result, no shared memory."""
    (launch,) = one_launch(problem, block)
    return (launch._replace(constant_bytes=constant_bytes(problem.mask_shape)),)


def work(problem: Problem, block: Block) -> Work:
    """Return the work: for each tap a cell from global memory (ghost cells cost no load) and a weight.

    Weights count as constant loads, as in the source, even where the compiler makes them immediates.
    """
    return filter_work(problem, picture_loads=loads_by_taps(problem), constant_loads=problem.multiply_adds)


# One kernel per mask, so one for each edit, of which the last few are wanted again (undo, compare).
@lru_cache(maxsize=32)
def kernel(border: Border, mask_shape: tuple[int, int], weight_bytes: bytes):
    """Return the kernel for a border and the float32 weights of a mask, row by row."""
    weights32 = np.frombuffer(weight_bytes, np.float32).reshape(mask_shape)
    make = kernel_with_immediates if becomes_immediates(mask_shape) else kernel_with_array
    return make(border, weights32)


def kernel_with_array(border: Border, weights32: np.ndarray):
    """Return the kernel that reads its weights from constant memory: that of `naive` but for this."""
    global cuda  # among a kernel's globals the simulator looks for it
    from engine.device.cuda_kernels import float32
    from engine.device.numba_cuda import cuda

    rule = cuda_rule(border)

    @cuda.jit
    def correlate_constant(
        image, mask_rows, mask_columns, width, anchor_row, anchor_column, ghost_value, offset, out
    ):
        weights = cuda.const.array_like(weights32)
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        if row >= height or column >= width:
            return
        total = float32(0.0)
        # Lengths that are known only at run time keep the compiler from unrolling, and the weights in their
        # array.
        for m in range(mask_rows):
            source_row = rule(row + m - anchor_row, height)
            partial = float32(0.0)
            for n in range(mask_columns):
                source_column = rule(column + n - anchor_column, width)
                value = ghost_value
                if source_row >= 0 and source_column >= 0:
                    value = float32(image[source_row, source_column, channel])
                partial += value * weights[m, n]
            total += partial
        out[row, column, channel] = total + offset

    return correlate_constant


def kernel_with_immediates(border: Border, weights32: np.ndarray):
    """Return the kernel of masks up to 3 x 3, all of whose loops are unrolled."""
    global cuda  # among a kernel's globals the simulator looks for it
    from engine.device.cuda_kernels import float32
    from engine.device.numba_cuda import cuda

    rule = cuda_rule(border)
    MASK_ROWS, MASK_COLUMNS = weights32.shape

    @cuda.jit
    def correlate_constant(
        image, mask_rows, mask_columns, width, anchor_row, anchor_column, ghost_value, offset, out
    ):
        weights = cuda.const.array_like(weights32)
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        height = image.shape[0]
        if row >= height or column >= width:
            return
        # The border's rule stands before the loops: with it inside they are unrolled for some borders only.
        first_row = rule(row - anchor_row, height)
        second_row = rule(row + 1 - anchor_row, height)
        third_row = rule(row + 2 - anchor_row, height)
        first_column = rule(column - anchor_column, width)
        second_column = rule(column + 1 - anchor_column, width)
        third_column = rule(column + 2 - anchor_column, width)
        total = float32(0.0)
        for m in range(MASK_ROWS):
            source_row = first_row if m == 0 else second_row if m == 1 else third_row
            partial = float32(0.0)
            for n in range(MASK_COLUMNS):
                source_column = first_column if n == 0 else second_column if n == 1 else third_column
                value = ghost_value
                if source_row >= 0 and source_column >= 0:
                    value = float32(image[source_row, source_column, channel])
                partial += value * weights[m, n]
            total += partial
        out[row, column, channel] = total + offset

    return correlate_constant


def passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
    """Return the one pass; its mask is no argument, but part of its kernel."""
    from numba import types

    from engine.device.cuda_kernels import filter_signature

    (launch,) = plan(problem, block)
    function = kernel(problem.border, mask.shape, mask.weights32.tobytes())
    image, _, *others = filter_signature(problem)
    signature = (image, types.int64, types.int64, *others)
    picture, _, *values = filter_arguments(problem, mask)
    return (Pass("correlate_constant", function, signature, launch, (picture, *mask.shape, *values)),)


VARIANT = teaching_variant(
    passes,
    key="constant",
    title="Constant memory",
    idea="As naive, but the weights come from constant memory, one broadcast for all threads of a warp.",
    plan=plan,
    work=work,
    remark="Numba bakes the weights into the compiled kernel: each edit of the mask compiles it anew. A "
    "mask of at most 3 x 3 becomes immediates in the code and takes no constant memory at all; larger ones "
    "take 4 bytes per weight of the 64 KB that there are.",
)

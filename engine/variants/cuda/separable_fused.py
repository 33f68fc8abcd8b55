"""`separable-fused`: rows and columns in one kernel; what the first pass gives never leaves the multiprocessor.

Idea
    A mask that is a column times a row is applied along the rows and then along the columns, as by `separable-l0`; but at
    once: a row that has been filtered along itself is added to all results that have it under their mask.
Who loads what
    Masks of few rows: each warp marches down a strip of 128 samples and copies its rows ahead of itself into shared memory;
    the sums of the results that wait for further rows are registers (`fused_strips.py`). Of more rows these would leave
    room for few warps: there, and with integers, a block filters a tile along the rows, keeps that in shared memory, and
    filters it down (`fused_tiles.py`). The factors lie in constant memory that is written when a mask is prepared.
What it saves
    Against the two-pass variants: the scratch picture in global memory, written once and read at least once. Against
    `register-blocked`: rows + columns multiply-adds a result instead of rows x columns.
Limit
    Memory up to about 15 x 15. The rows that the mask hangs over a strip or a tile are filtered again by the next one: 12
    beside 64 of a mask of 13 rows, 30 beside 32 of one of 31 (4096 x 4096).

Source: the fused passes of V. Podlozhnyuk, "Image Convolution with CUDA" (NVIDIA, 2007), section "Separable
convolution", kept in shared memory; sums that wait in registers as in P. Micikevicius, "3D Finite Difference Computation
on GPUs using CUDA" (GPGPU-2, 2009), section 3. The rounding is that of `engine/variants/cuda/two_passes.py`.
"""

import numpy as np

from engine.block import Block, Limits
from engine.block_rules import Refusal
from engine.device.cuda_kernels import prepare_passes
from engine.errors import UnsupportedVariant
from engine.mask.factors import factor
from engine.mask.mask import Mask
from engine.problem import Problem
from engine.variants.contract import DeviceKind, Launch, Pass, Variant
from engine.variants.cuda import fused_strips, fused_tiles
from engine.variants.cuda.geometry import refuse_rows
from engine.variants.cuda.two_passes import refuse_mask
from engine.work import Work

MAX_SIDE = 63


# H200, 4096 x 4096: strips take 41.2 us with 3 rows and 48.5 with 13, tiles 44.7 and 50.5; with 15 strips take 53.1, tiles
# 51.6. RGB with 15: 170 and 190. Integers, which no thread copies ahead, are slower in strips (5 rows: 45.9 and 32.4).
MOST_ROWS_IN_STRIPS = (13, 15)
"""Mask rows up to which strips are faster: of pictures of one channel, and of more."""


def in_strips(problem: Problem) -> bool:
    """Return whether each warp marches down a strip; else each block filters a tile."""
    return problem.itemsize == 4 and problem.mask_shape[0] <= MOST_ROWS_IN_STRIPS[problem.channels > 1]


def plan(problem: Problem, block: Block) -> tuple[Launch, ...]:
    """Return one launch; the block is the variant's own, 32 threads across."""
    return (fused_strips.launch_of(problem, 1) if in_strips(problem) else fused_tiles.launch_of(problem),)


def work(problem: Problem, block: Block) -> Work:
    """Return the work, with what is filtered more than once."""
    return fused_strips.work_of(problem, 1) if in_strips(problem) else fused_tiles.work_of(problem)


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask is no product or too large, or shared memory or the grid too small; None if all is well."""
    rows, columns = problem.mask_shape
    if max(rows, columns) > MAX_SIDE:
        return Refusal(
            f"A mask of {rows} x {columns} is longer than shared memory allows; it may have up to {MAX_SIDE} rows and "
            "columns. Use separable-l1 or separable-l0."
        )
    refusal = refuse_mask(mask)
    if refusal is not None:
        return refusal
    (launch,) = plan(problem, block)
    most = min(limits.shared_bytes, fused_tiles.SHARED_BYTES)
    if launch.shared_bytes > most:
        return Refusal(
            f"A mask of {rows} x {columns} on {problem.channels} channels needs {launch.shared_bytes:,} bytes of shared "
            f"memory for its rows; a block has {most:,}. Use separable-l1, or fewer channels."
        )
    # A strip is as high as the picture needs.
    return (
        None
        if in_strips(problem)
        else refuse_rows(problem, launch, fused_tiles.shape_of(problem).down.out_rows)
    )


def passes(problem: Problem, mask: Mask, block: Block) -> tuple[Pass, ...]:
    """Return the one pass.

    Raises
    ------
    UnsupportedVariant
        The mask is not one column times one row.
    """
    refusal = refuse_mask(mask)
    if refusal is not None:
        raise UnsupportedVariant("The mask cannot be applied in two passes", refusal.reason)
    if not in_strips(problem):
        return (fused_tiles.pass_of(problem, mask),)
    factors = factor(mask)
    column, row = np.asarray(factors.column, np.float32), np.asarray(factors.row, np.float32)
    return (fused_strips.pass_of(problem, column[:, np.newaxis], row[np.newaxis], mask.offset),)


VARIANT = Variant(
    key="separable-fused",
    title="Separable, fused",
    device=DeviceKind.CUDA,
    idea="Rows and columns in one kernel: what the first pass gives stays in registers, or in shared memory.",
    default_block=Block(32, fused_strips.WARPS),
    plan=plan,
    work=work,
    prepare=prepare_passes(passes),
    unsupported=unsupported,
    passes=passes,
    uses_block=False,
    quantises=True,
)

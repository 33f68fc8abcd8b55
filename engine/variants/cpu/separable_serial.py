"""`cpu-separable-serial`: one thread, the textbook loops in two passes. The lab's baseline.

Idea
    A mask that is one column times one row is applied along the picture's rows, then down the columns of
    these sums, as the GPU levels L0, L1 and L2 do it: rows + columns multiply-adds per result. No tiles,
    threads, fast-math or vectors by hand, on purpose; as fast as the same loops in C with `gcc -O2`
    (`cpu-serial`).
What it saves
    Against `cpu-serial`: 17 x 17 needs 34 instead of 289 multiply-adds. A speed-up of L0 over two-dimensional
    loops would be of the algorithm, not of the GPU.
Limit
    Masks of rank 1. One multiply-add at a time, as in `cpu-serial`; the sums between the passes are a whole
    float32 picture that goes to memory and comes back.

What two passes may replace, and why the result keeps the bound of the direct sum: docs/decisions/0003. Python
looks for Ctrl+C between compiled calls, so long loops are called for a few rows at a time.

Source: G. R. Roberts, Jr., "CUDA: Convolution", 3 Methodology: "The same algorithm is used in the serial
implementation."
"""

from functools import partial

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.result_rules import cpu_largest
from engine.geometry.block import Block, Limits, Refusal
from engine.mask.mask import Mask
from engine.results.problem import LoopWork, Work
from engine.run.variant import ON_CPU
from engine.variants.cpu.edges import Halo
from engine.variants.cpu.textbook_loops import TextbookLoops
from engine.variants.mask_classes import (
    RANK_1,
    ghost_row_value,
    line_of_taps,
    loads_along,
    order_of_factors,
    refuse_mask,
    required_factors,
    two_pass_work,
)
from engine.work.filtering.problem import Problem
from engine.work.filtering.variants import Variant

ALONG_ROWS, DOWN_COLUMNS = (
    MachineFunction("engine.variants.cpu.separable_serial_code", name)
    for name in ("along_rows_serial", "down_columns_serial")
)
INSTEAD = "cpu-serial and cpu-parallel take every mask"


def work(problem: Problem, block: Block) -> Work:
    """Return the work: each tap loads a cell, or a sum of the first pass, and a weight."""
    return two_pass_work(problem, *loads_along(problem, block, line_of_taps))


def unsupported(problem: Problem, mask: Mask, block: Block, limits: Limits) -> Refusal | None:
    """Return why the mask is not one column times one row, or None."""
    return refuse_mask(mask, INSTEAD)


def prepare(problem: Problem, mask: Mask, block: Block) -> TextbookLoops:
    """Return compiled loops; raise UnsupportedVariant for a mask that is not one column times one row."""
    factors, halo = required_factors(mask, INSTEAD), Halo(problem)
    along = (
        np.array(factors.row)[np.newaxis],
        *(halo.before, halo.outside_samples, problem.channels),
        np.float32(problem.ghost_value),
    )
    down = (
        np.array(factors.column),
        *(problem.anchor[0], halo.outside_rows),
        ghost_row_value(problem, factors),
        np.float32(mask.offset),
        cpu_largest(problem.result_dtype),
    )
    loops = LoopWork.of_sum(problem.dtype, mask.columns), LoopWork.of_sum("float32", mask.rows)
    passes = (ALONG_ROWS, along), (DOWN_COLUMNS, down)
    return TextbookLoops(problem, max(mask.shape), passes, loops).compiled()


VARIANT = Variant(
    **ON_CPU,
    key="cpu-separable-serial",
    title="CPU, one thread, two passes",
    idea="The textbook loops on one thread, as fast as in C (gcc -O2), along the rows, then down the "
    "columns: the baseline of separable kernels.",
    work=work,
    prepare=prepare,
    sum_order=partial(order_of_factors, is_fused=False),
    unsupported=unsupported,
    integer_output=True,
    **RANK_1,
)

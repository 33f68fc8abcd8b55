"""`cpu-dct`: blocks of 8 x 8 pixels one after another, on all cores.

Idea
    A core takes some blocks of a row of blocks, cell by cell side by side: all arithmetic is along lines of
    many blocks, in vectors. Columns are transformed first, then rows; the coefficients are quantised, and the
    same is done backwards.
What it saves
    Two sums of 8 products for a coefficient instead of one of 64.
Limit
    32 multiply-adds for each sample: arithmetic.
"""

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.bands import Bands, cpu_variant
from engine.variants.operations.dct_tables import WHOLE, filled_shape, samples_of, tables
from engine.work.operations.compress import SIDE
from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

BLOCKS = 32
"""At once: both buffers of a colour picture are 48 KB."""
FUNCTION = MachineFunction("engine.variants.operations.dct_code", "transform", error_model="numpy")


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is loaded once, 32 multiply-adds; tables stay in the first cache."""
    samples = samples_of(problem)
    return operation_work(problem, picture_loads=samples, flops=64 * samples)


def prepare(problem: OperationProblem, constant: Patch | None) -> Bands:
    """Return the loops, compiled; a band's rows are rows of blocks."""
    rows, columns = filled_shape(problem)
    cosines, steps, middle = tables(problem)
    arguments = (problem.channels, cosines.reshape(-1), steps.reshape(-1), middle, WHOLE)
    lanes = min(BLOCKS, columns // SIDE) * problem.channels
    return Bands(
        problem,
        FUNCTION,
        SIDE * columns * problem.channels * 4,
        lambda workers: (*arguments, np.zeros((2 * workers, SIDE * SIDE, lanes), np.float32)),
        rows=rows // SIDE,
    )


VARIANT = cpu_variant(
    prepare,
    key="cpu-dct",
    title="CPU, all cores",
    operation="compress",
    idea="Columns, then rows of 8 × 8 blocks, many blocks side by side in vectors, on all cores.",
    work=work,
)

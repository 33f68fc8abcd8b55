"""`cpu-dct`: blocks of 8 x 8 pixels one after another, on all cores.

Idea
    A core takes rows of blocks. Columns are transformed first, eight at once in a vector, then rows; the
    coefficients are quantised, and the same is done backwards.
What it saves
    Two sums of 8 products for a coefficient instead of one of 64.
Limit
    32 multiply-adds for each sample: arithmetic.
"""

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.geometry.block import Block
from engine.results.work import Work
from engine.tasks.operation.compress import SIDE
from engine.tasks.operation.contract import Patch
from engine.tasks.operation.problem import OperationProblem
from engine.tasks.operation.work import operation_work
from engine.variants.operations.bands import Bands, cpu_variant
from engine.variants.operations.dct_tables import WHOLE, filled_shape, samples_of, tables

FUNCTION = MachineFunction("engine.variants.operations.dct_code", "transform", error_model="numpy")


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is loaded once, 32 multiply-adds; tables stay in the first cache."""
    samples = samples_of(problem)
    return operation_work(problem, picture_loads=samples, flops=64 * samples)


def prepare(problem: OperationProblem, constant: Patch | None) -> Bands:
    """Return the loops, compiled; a band's rows are rows of blocks."""
    rows, columns = filled_shape(problem)
    arguments = (problem.channels, *tables(problem), WHOLE)
    return Bands(
        problem,
        FUNCTION,
        SIDE * columns * problem.channels * 16,
        lambda workers: (*arguments, np.zeros((2 * workers, SIDE, SIDE), np.float32)),
        rows=rows // SIDE,
    )


VARIANT = cpu_variant(
    prepare,
    key="cpu-dct",
    title="CPU, all cores",
    operation="compress",
    idea="Columns, then rows of each 8 × 8 block, eight cosines at once in a vector, on all cores.",
    work=work,
)

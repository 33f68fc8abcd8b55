"""`cpu-threshold`: each sample compared with the level, on all cores.

Limit
    Memory: each sample is read once and written once.
"""

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.bands import Bands, cpu_variant
from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem
from engine.work.operations.threshold import level_of
from engine.work.operations.work import operation_work

FUNCTION = MachineFunction("engine.variants.operations.pixels_code", "threshold", error_model="numpy")


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: a load, a comparison and a store for each sample."""
    return operation_work(problem, picture_loads=problem.samples, flops=problem.samples)


def prepare(problem: OperationProblem, constant: Patch | None) -> Bands:
    """Return the bands, compiled."""
    arguments = level_of(problem), np.float32(problem.full_scale)
    return Bands(problem, FUNCTION, problem.width * problem.channels, lambda workers: arguments)


VARIANT = cpu_variant(
    prepare,
    key="cpu-threshold",
    title="CPU, all cores",
    operation="threshold",
    idea="Each sample compared with the level, in vectors, on all cores.",
    work=work,
)

"""`cpu-negative`: white less each sample, on all cores; the compiler makes vectors of the loop.

Limit
    Memory: each sample is read once and written once.
"""

from typing import Any

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.bands import Bands, cpu_variant
from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

FUNCTION = MachineFunction("engine.variants.operations.pixels_code", "negative", error_model="numpy")


def white_of(problem: OperationProblem) -> Any:
    """Return white in the type of the difference."""
    return np.float32(1.0) if problem.is_float else int(problem.full_scale)


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: a load, a subtraction and a store for each sample."""
    return operation_work(problem, picture_loads=problem.samples, flops=problem.samples)


def prepare(problem: OperationProblem, constant: Patch | None) -> Bands:
    """Return the bands, compiled."""
    return Bands(problem, FUNCTION, problem.width * problem.channels, lambda workers: (white_of(problem),))


VARIANT = cpu_variant(
    prepare,
    key="cpu-negative",
    title="CPU, all cores",
    operation="negative",
    idea="White less each sample, in vectors, on all cores.",
    work=work,
)

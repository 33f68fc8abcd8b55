"""`cpu-bilateral`: cell by cell of the disc, whole rows at once in vectors, on all cores.

Idea
    Each row is copied once to a line for each channel, its ends repeated. For one cell of the disc after
    another the distances, weights and sums of all columns are formed: loops without a branch, the
    exponential (`falling_exponential.py`) included, so the compiler makes vectors of them.
Limit
    Some 20 operations for a cell of the disc and a pixel: arithmetic.
"""

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.result_rules import cpu_largest
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.bands import Bands, cpu_variant
from engine.work.operations.bilateral import disc_of, operations_of, steepness_of
from engine.work.operations.contract import Patch
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

FUNCTION = MachineFunction(
    "engine.variants.operations.bilateral_code",
    "bilateral",
    error_model="numpy",
    # A product and a sum round once: never more than the bound allows.
    fastmath={"contract": True},
)


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is loaded once for each row of the window, the rest is in a cache."""
    return operation_work(
        problem,
        picture_loads=problem.whole("size") * problem.samples,
        flops=operations_of(problem) * problem.pixels,
    )


def prepare(problem: OperationProblem, constant: Patch | None) -> Bands:
    """Return the bands with lines for each worker, compiled."""
    size, channels, width = problem.whole("size"), problem.channels, problem.width
    disc, steepness = disc_of(problem.parameters).astype(np.float32), steepness_of(problem)

    def arguments(workers: int) -> tuple[object, ...]:
        planes = np.zeros((workers, size, channels, width + size - 1), np.float32)
        sums = np.zeros((workers, 2 + channels, width), np.float32)
        return channels, disc, steepness, planes, sums, cpu_largest(problem.dtype)

    return Bands(problem, FUNCTION, operations_of(problem) * width // 16, arguments)


VARIANT = cpu_variant(
    prepare,
    key="cpu-bilateral",
    title="CPU, all cores",
    operation="bilateral",
    idea="Distances, exponentials, sums of whole rows, cell by cell of the disc, in vectors, on all cores.",
    work=work,
)

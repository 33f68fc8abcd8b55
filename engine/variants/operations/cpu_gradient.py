"""`cpu-gradient`: both derivatives of neighbouring samples in vectors, on all cores.

Idea
    A core takes three rows and forms both derivatives of whole rows; the length follows at once, so that
    neither derivative is ever stored.
What it saves
    Against two masks and their length: three passes over memory become one.
Limit
    Memory for 8 bit, the root for float32.
"""

import numpy as np

from engine.compiled.machine_code import MachineFunction
from engine.device.result_rules import cpu_largest
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.bands import Bands, cpu_variant
from engine.work.operations.contract import Patch
from engine.work.operations.gradient_magnitude import weights_of
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

FUNCTION = MachineFunction("engine.variants.operations.gradient_code", "magnitude", error_model="numpy")
OPERATIONS = 17  # for a sample: 3 differences and 5 of sums and products for each derivative, a length


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: three rows for each row, the rest is in a cache."""
    return operation_work(problem, picture_loads=3 * problem.samples, flops=OPERATIONS * problem.samples)


def prepare(problem: OperationProblem, constant: Patch | None) -> Bands:
    """Return the bands with two lines for each worker, compiled."""
    side, middle = map(np.float32, weights_of(problem))
    length, channels = (problem.width + 2) * problem.channels, problem.channels
    largest = cpu_largest(problem.dtype)

    def arguments(workers: int) -> tuple[object, ...]:
        return channels, side, middle, np.zeros((workers, 2, length), np.float32), largest

    return Bands(problem, FUNCTION, 8 * problem.width * problem.channels, arguments)


VARIANT = cpu_variant(
    prepare,
    key="cpu-gradient",
    title="CPU, all cores",
    operation="gradient-magnitude",
    idea="Sums and differences down columns, then along the row, and the length, in vectors, on all cores.",
    work=work,
)

"""`cpu-hue-shift`: each pixel's colour turned round the colour wheel, on all cores.

Limit
    A division and three branches for each pixel.
"""

from engine.compiled.machine_code import MachineFunction
from engine.device.result_rules import cpu_largest
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.bands import Bands, cpu_variant
from engine.work.operations.contract import Patch
from engine.work.operations.hue_shift import OPERATIONS_PER_PIXEL, shift_of
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

FUNCTION = MachineFunction("engine.variants.operations.pixels_code", "hue_shift", error_model="numpy")


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is read and written once; some 32 operations for a pixel."""
    return operation_work(problem, picture_loads=problem.samples, flops=OPERATIONS_PER_PIXEL * problem.pixels)


def prepare(problem: OperationProblem, constant: Patch | None) -> Bands:
    """Return the bands, compiled."""
    arguments = (shift_of(problem), cpu_largest(problem.dtype))
    return Bands(problem, FUNCTION, 20 * problem.width, lambda workers: arguments)


VARIANT = cpu_variant(
    prepare,
    key="cpu-hue-shift",
    title="CPU, all cores",
    operation="hue-shift",
    idea="Each pixel's colour turned round the colour wheel, on all cores.",
    work=work,
)

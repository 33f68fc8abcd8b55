"""`cpu-desaturate`: the weighted sum of each pixel's channels, on all cores.

Limit
    Three samples lie side by side, so that vectors have to be put together first.
"""

from engine.compiled.machine_code import MachineFunction
from engine.device.result_rules import cpu_largest
from engine.geometry.block import Block
from engine.results.work import Work
from engine.variants.operations.bands import Bands, cpu_variant
from engine.work.operations.contract import Patch
from engine.work.operations.desaturate import weights_of
from engine.work.operations.problem import OperationProblem
from engine.work.operations.work import operation_work

FUNCTION = MachineFunction("engine.variants.operations.pixels_code", "desaturate", error_model="numpy")


def work(problem: OperationProblem, block: Block) -> Work:
    """Return the work: each sample is read and written once; 5 operations for a pixel."""
    return operation_work(problem, picture_loads=problem.samples, flops=5 * problem.pixels)


def prepare(problem: OperationProblem, constant: Patch | None) -> Bands:
    """Return the bands, compiled."""
    arguments = (*weights_of(problem), cpu_largest(problem.dtype))
    return Bands(problem, FUNCTION, 4 * problem.width, lambda workers: arguments)


VARIANT = cpu_variant(
    prepare,
    key="cpu-desaturate",
    title="CPU, all cores",
    operation="desaturate",
    idea="Each pixel's brightness, on all cores.",
    work=work,
)

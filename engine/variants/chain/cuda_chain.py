"""`cuda-chain`: the launches of all steps one after the other; what lies between stays on the device.

Idea
    A step is the passes of its own variant, with its input in the picture's place and what the next step
    reads in the result's. So the picture is copied to the device once, and the last result back.
Who loads what
    As each step's variant says. Samples are converted, scaled and combined by a thread each.
Limit
    Each step reads and writes a whole picture in the device's memory.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.device.kernel_factory import kernel_factory
from engine.device.launches import Between, DeviceKind, Launch, Operand, Pass
from engine.geometry.block import Block
from engine.variants.passes import Types, made_pass, prepare_passes
from engine.work.planned import ChainVariant, Plan, PlannedStep, refuse_step
from engine.work.problem import ChainProblem
from engine.work.steps import CombineStep

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda, float32

BLOCK = Block(32, 8)
Place = Operand | Between


@kernel_factory
def scaled_kernel():
    """Return the kernel that writes samples times a factor."""

    @cuda.jit
    def scaled(image, width, factor, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        out[row, column, channel] = float32(image[row, column, channel]) * factor

    return scaled


@kernel_factory
def combine_kernel(how: str):
    """Return the kernel that makes one picture of two."""
    IS_SUM, IS_MAXIMUM = how == "sum", how == "maximum"

    @cuda.jit
    def combine(image, other, width, of_image, of_other, out):
        column, row = cuda.grid(2)
        channel = cuda.blockIdx.z
        if row >= image.shape[0] or column >= width:
            return
        x, y = float32(image[row, column, channel]), float32(other[row, column, channel])
        if IS_SUM:
            result = of_image * x + of_other * y
        elif IS_MAXIMUM:
            result = y if y > x or y != y else x
        else:
            result = float32(math.sqrt(x * x + y * y))
        out[row, column, channel] = result

    return combine


def passes(problem: ChainProblem, plan: Plan, block: Block) -> tuple[Pass, ...]:
    """Return the launches of every step; those of one are its part of the whole."""
    places: dict[int, Place] = {-1: Operand.IMAGE}
    found: list[Pass] = []
    for at, planned in enumerate(plan):
        is_last = at == len(plan) - 1
        places[at] = Operand.OUT if is_last else _between(problem, f"step {at}", planned.writes)
        inputs = [places[one] for one in planned.inputs]
        of_step = _passes_of(planned, at, problem, inputs, places[at])
        found += (one._replace(part=planned.step.id) for one in of_step)
    return tuple(found)


def _between(problem: ChainProblem, name: str, dtype: str = "float32") -> Between:
    return Between(name, (problem.height, problem.width, problem.channels), dtype)


def _passes_of(
    planned: PlannedStep, at: int, problem: ChainProblem, inputs: list[Place], out: Place
) -> Iterator[Pass]:
    step = planned.step
    if isinstance(step, CombineStep):
        weights = step.weights
        how = "maximum" if step.how == "maximum" else "magnitude" if weights is None else "sum"
        factors = tuple(map(np.float32, weights or (1.0, 1.0)))
        arguments = (inputs[0], inputs[1], problem.width, *factors, out)
        yield _thread_per_sample(combine_kernel(how), problem, arguments)
        return
    source, target = inputs[0], out
    if planned.white != 1.0 or planned.given != (planned.reads,):
        source = _between(problem, f"input of {at}")
        factor = np.float32(1.0 / planned.white)
        yield _thread_per_sample(scaled_kernel(), problem, (inputs[0], problem.width, factor, source))
    if planned.white != 1.0:
        target = _between(problem, f"result of {at}")
    variant: Any = planned.variant
    own = planned.block or variant.default_block
    for one in variant.passes(planned.problem, planned.mask, own):
        yield one._replace(
            arguments=tuple(_placed(value, at, source, target, problem) for value in one.arguments)
        )
    if planned.white != 1.0:
        factor = np.float32(planned.white)
        yield _thread_per_sample(scaled_kernel(), problem, (target, problem.width, factor, out))


def _placed(value: object, at: int, source: Place, target: Place, problem: ChainProblem) -> Any:
    """Return an argument of a step's pass among those of all steps."""
    if value is Operand.IMAGE:
        return source
    if value is Operand.OUT:
        return target
    if value is Operand.SCRATCH:
        return _between(problem, "scratch")
    return value._replace(name=f"{at}: {value.name}") if isinstance(value, Between) else value


def _thread_per_sample(kernel: Any, problem: ChainProblem, arguments: tuple[Any, ...]) -> Pass:
    types: Types = {Operand.IMAGE: (problem.dtype, 3), Operand.OUT: (problem.result_dtype, 3)}
    launch = Launch.of_threads(problem.height, problem.width, problem.channels, BLOCK)
    return made_pass(kernel, launch, arguments, types)


VARIANT = ChainVariant(
    key="cuda-chain",
    title="CUDA, results stay there",
    device=DeviceKind.CUDA,
    idea="The kernels of all steps one after the other; what lies between never leaves the device.",
    prepare=prepare_passes(passes),
    passes=passes,
    unsupported=refuse_step,
    work=lambda problem, block: None,
)

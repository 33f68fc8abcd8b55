"""The steps of a chain on the CPU, each ready to be launched on arrays of its own."""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.device.anti_aliasing import reused_result
from engine.variants.operations.kernels import CpuCode, on_all_cores
from engine.work.picture_problem import PictureProblem
from engine.work.planned import PlannedStep
from engine.work.steps import CombineStep

if TYPE_CHECKING:
    from engine.variants.operations.bands import Bands

Launch = Callable[[Sequence[np.ndarray], np.ndarray], None]
"""Computes the result of a step from its inputs, all (H, W, C)."""


@CpuCode
def scaled_code():
    """Write samples times a factor, float32."""

    def scaled(image, out, top, bottom, worker, factor):
        for row in range(top, bottom):
            for sample in range(image.shape[1]):
                out[row, sample] = np.float32(image[row, sample]) * factor

    return scaled


@CpuCode
def combining_code(how):
    """Write the weighted sum of two pictures, the root of the sum of their squares, or the larger of two."""

    def combined(image, out, top, bottom, worker, other, of_image, of_other):
        for row in range(top, bottom):
            for sample in range(image.shape[1]):
                x, y = image[row, sample], other[row, sample]
                if how == "sum":
                    out[row, sample] = of_image * x + of_other * y
                elif how == "magnitude":
                    out[row, sample] = math.sqrt(x * x + y * y)
                else:
                    # NaN where one is: nothing is larger than NaN, and it equals nothing.
                    larger = y if y > x else x
                    out[row, sample] = larger if y == y else y

    return combined


def _times(problem: PictureProblem, dtype: str, factor: float) -> "Bands":
    """Return what multiplies a picture of a type, to float32."""
    own: Any = problem.of_type(dtype)
    return on_all_cores(
        own, scaled_code, problem.width * problem.channels, (np.float32(factor),), dtype="float32"
    )


def converted(problem: PictureProblem, dtype: str) -> Callable[[np.ndarray, np.ndarray], None]:
    """Return what makes a picture of a type float32."""
    return _times(problem, dtype, 1.0).launch


# A preview follows each edit: what did not change is ready.
@lru_cache(maxsize=128)
def step_launch(planned: PlannedStep, problem: PictureProblem) -> Launch:
    """Return a step, compiled; its inputs are of the type that it reads."""
    step = planned.step
    if isinstance(step, CombineStep):
        how = "maximum" if step.how == "maximum" else "magnitude" if step.weights is None else "sum"
        factors = tuple(map(np.float32, step.weights or (1.0, 1.0)))
        floats: Any = problem.of_type("float32")
        combine = on_all_cores(
            floats,
            combining_code,
            problem.width * problem.channels,
            (np.empty((1, 1), np.float32), *factors),
            (how,),
            dtype="float32",
        )

        def combined(inputs: Sequence[np.ndarray], out: np.ndarray) -> None:
            other = inputs[1].reshape(len(inputs[1]), -1)
            combine.launch(inputs[0], out, arguments=(other, *factors))

        return combined
    variant: Any = planned.variant
    prepared = variant.prepare(planned.problem, planned.mask, planned.block or variant.default_block)
    if planned.white == 1.0:
        return lambda inputs, out: prepared.launch(inputs[0], out)
    down = _times(problem, "float32", 1.0 / planned.white)
    up = _times(problem, "float32", planned.white)

    def scaled(inputs: Sequence[np.ndarray], out: np.ndarray) -> None:
        between = reused_result(out, out.shape, np.float32)
        down.launch(inputs[0], between)
        prepared.launch(between, out)
        up.launch(out, out)

    return scaled

"""The types of the arguments of kernels that take a picture."""

import numpy as np
from numba import types
from numba.np.numpy_support import from_dtype

from engine.device.launches import Kernel, Launch, Operand, Pass
from engine.tasks.filtering.problem import Problem


def image_type(problem: Problem) -> types.Type:
    """Return the type of the picture as an argument of a kernel."""
    return types.Array(from_dtype(np.dtype(problem.dtype)), 3, "C")


def result_type(problem: Problem) -> types.Type:
    """Return the type of the result as an argument of a kernel."""
    return types.Array(from_dtype(np.dtype(problem.result_dtype)), 3, "C")


def filter_signature(problem: Problem) -> tuple[types.Type, ...]:
    """Return the argument types of a filter kernel, those of `filter_arguments`."""
    weights = types.Array(types.float32, 2, "C")
    numbers = (types.int64, types.int64, types.int64, types.float32, types.float32)
    return (image_type(problem), weights, *numbers, result_type(problem))


def filter_pass(
    name: str, function: Kernel, problem: Problem, launch: Launch, arguments: tuple[object, ...]
) -> Pass:
    """Return the pass of a filter kernel; the types of its arguments follow from these."""

    def kind(argument: object) -> types.Type:
        if isinstance(argument, np.ndarray):
            return types.Array(from_dtype(argument.dtype), argument.ndim, "C")
        return types.float32 if isinstance(argument, np.float32) else types.int64

    operands = {Operand.IMAGE: image_type(problem), Operand.OUT: result_type(problem)}
    signature = tuple(operands[a] if isinstance(a, Operand) else kind(a) for a in arguments)
    return Pass(name, function, signature, launch, arguments)

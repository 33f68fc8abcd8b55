"""The types of the arguments of kernels that take a picture, and their passes."""

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


def filter_pass(
    function: Kernel,
    problem: Problem,
    launch: Launch,
    arguments: tuple[object, ...],
    constant: tuple[str, np.ndarray] | None = None,
) -> Pass:
    """Return the pass of a filter kernel, under its own name; its types follow from the arguments."""
    from engine.device.cuda_kernels import SCRATCH

    operands = {
        Operand.IMAGE: image_type(problem),
        Operand.OUT: result_type(problem),
        Operand.SCRATCH: SCRATCH,
    }

    def kind(argument: object) -> types.Type:
        if isinstance(argument, Operand):
            return operands[argument]
        if isinstance(argument, np.ndarray):
            return types.Array(from_dtype(argument.dtype), argument.ndim, "C")
        return types.float32 if isinstance(argument, np.float32) else types.int64

    signature = tuple(map(kind, arguments))
    return Pass(function.py_func.__name__, function, signature, launch, arguments, constant)

"""The types of the arguments of kernels, and the passes of those that take a picture."""

from typing import Any

import numpy as np

from engine.device.launches import Between, Kernel, Launch, Operand, Pass
from engine.work.filtering.problem import Problem


def type_of(dtype: Any, axes: int = 0) -> Any:
    """Return the Numba type of a number, or of a dense array of so many axes, as an argument of a kernel."""
    # The variants are listed without Numba: the first pass loads it.
    import numba.np.numpy_support

    number = numba.np.numpy_support.from_dtype(np.dtype(dtype))
    return numba.types.Array(number, axes, "C") if axes else number


def argument_type(argument: object) -> Any:
    """Return the Numba type of an array, of values between passes, or of a number."""
    if isinstance(argument, np.ndarray | Between):
        return type_of(argument.dtype, len(argument.shape))
    return type_of(np.float32 if isinstance(argument, np.float32) else np.int64)


def filter_pass(
    function: Kernel,
    problem: Problem,
    launch: Launch,
    arguments: tuple[object, ...],
    constant: tuple[str, np.ndarray] | None = None,
) -> Pass:
    """Return the pass of a filter kernel, under its own name; its types follow from the arguments."""
    dtypes = {Operand.IMAGE: problem.dtype, Operand.OUT: problem.result_dtype, Operand.SCRATCH: "float32"}
    signature = tuple(
        type_of(dtypes[argument], 3) if isinstance(argument, Operand) else argument_type(argument)
        for argument in arguments
    )
    return Pass(function.py_func.__name__, function, signature, launch, arguments, constant)

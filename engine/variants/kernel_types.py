"""The types of the arguments of kernels, and passes made of a kernel, its launch and its arguments."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.device.launches import Between, Kernel, Launch, Operand, Pass, Placeholder
from engine.work.filtering.problem import Problem


def type_of(dtype: Any, axes: int = 0) -> Any:
    """Return the Numba type of a number, or of a dense array of so many axes, as an argument of a kernel."""
    # The variants are listed without Numba: the first pass loads it.
    import numba.np.numpy_support

    number = numba.np.numpy_support.from_dtype(np.dtype(dtype))
    return numba.types.Array(number, axes, "C") if axes else number


def argument_type(argument: object) -> object:
    """Return the Numba type of an array, of values between passes, or of a number."""
    if isinstance(argument, np.ndarray | Between):
        return type_of(argument.dtype, len(argument.shape))
    return type_of(np.float32 if isinstance(argument, np.float32) else np.int64)


Types = Mapping[Placeholder, tuple[str, int]]
"""The type of the numbers, and how many axes it has, of each array that is there when a pass is launched."""


def made_pass(
    kernel: Kernel,
    launch: Launch,
    arguments: tuple[object, ...],
    types: Types,
    constant: tuple[str, np.ndarray] | None = None,
    name: str = "",
) -> Pass:
    """Return the pass of a kernel, under its own name or another; its types follow from the arguments."""
    signature = tuple(
        type_of(*types[one]) if isinstance(one, Placeholder) else argument_type(one) for one in arguments
    )
    return Pass(name or kernel.py_func.__name__, kernel, signature, launch, arguments, constant)


def filter_pass(
    kernel: Kernel,
    problem: Problem,
    launch: Launch,
    arguments: tuple[object, ...],
    constant: tuple[str, np.ndarray] | None = None,
) -> Pass:
    """Return the pass of a filter kernel."""
    dtypes = {Operand.IMAGE: problem.dtype, Operand.OUT: problem.result_dtype, Operand.SCRATCH: "float32"}
    return made_pass(kernel, launch, arguments, {one: (dtype, 3) for one, dtype in dtypes.items()}, constant)

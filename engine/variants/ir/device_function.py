"""Functions that kernels call: an emitter, compiled for the device."""

from collections.abc import Callable
from typing import Any, Protocol, cast

from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.llvm import definition

SHARED_ALIGNMENT = 16
"""Bytes that arrays in shared memory are aligned to, for copies of 16."""


class DeviceFunction(Protocol):
    """What kernels call for what an emitter makes."""

    emit: Callable[..., object]
    returns: object

    def __call__(self, *arguments: object) -> Any:
        """Return what was made for these arguments."""


def device_function(returns: types.Type, emit: Callable[..., object]) -> DeviceFunction:
    """Return the function that a kernel calls for what an emitter makes.

    Parameters
    ----------
    returns : Numba type
        Of the result: void, a number, or tuples of them.
    emit : callable of (code, arguments ...) -> result
        The emitter. `code` is `CudaCode`; arguments are values, lists of them for tuples, and arrays.

    Returns
    -------
    callable
        Its `emit` and `returns` are those above.
    """
    function: Any = intrinsic(definition(returns, emit, CudaCode))
    function.emit, function.returns = emit, returns
    return cast(DeviceFunction, function)


def zero_accumulators(count: int) -> DeviceFunction:
    """Return the function `zeros()` of the sums before the first input row or product."""
    return device_function(types.UniTuple(types.float32, count), lambda code: [code.f32(0.0)] * count)


def waiter(pending: int) -> DeviceFunction:
    """Return the function `wait()`: this thread's copies have arrived, but for `pending` groups."""
    return device_function(types.void, lambda code: code.wait_for_groups(pending))


def closer() -> DeviceFunction:
    """Return the function `close()`: it makes a group of the copies since the last one, or an empty one."""
    return device_function(types.void, lambda code: code.close_group())

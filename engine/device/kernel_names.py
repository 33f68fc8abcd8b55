"""What CUDA kernels are written with: `cuda` and types, which are late, and decorators. No Numba in here."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from engine.compiled.late_names import late
from engine.device.launches import registers_for
from engine.device.result_rules import largest_of, rounding_to
from engine.geometry.border import Border

cuda, float32, float64, int32, int64, types, uint8 = late(
    "engine.device.numba_cuda", "cuda", "float32", "float64", "int32", "int64", "types", "uint8"
)


def jit_for(threads: int) -> Callable[[Callable[..., None]], object]:
    """Return the decorator of a kernel that needs many registers, for blocks of `threads` threads.

    Without a limit `tiled` could not be launched with blocks of 1024 threads. With one the compiler schedules
    differently (4096 x 4096, 5 x 5, zero border, H200: 0.60 instead of 0.37 ms), so smaller blocks have none.
    """
    return jit_within(registers_for(threads))


def jit_within(registers: int | None) -> Callable[[Callable[..., None]], object]:
    """Return the decorator of a kernel with at most `registers` registers per thread; None: no limit."""
    return cuda.jit if registers is None else cuda.jit(max_registers=registers)


def jit_with_constant(name: str, count: int, **limits: object) -> Callable[[Callable[..., None]], object]:
    """Return the decorator of a kernel that reads `count` float32 in constant memory under a name.

    `limits` are `max_registers` or `launch_bounds` of `cuda.jit`. PTX beside the kernel defines the array:
    one of its own module, which no kernel writes, optimisation at link time would treat as constant.
    """
    array = f".visible .const .align 16 .b8 {name}[{4 * count}];"
    ptx = f".version 6.3\n.target sm_75\n.address_size 64\n{array}\n"
    return cuda.jit(link=[cuda.PTXSource(ptx.encode())], **limits)


@lru_cache
def cuda_rule(border: Border) -> Callable[..., Any]:
    """Return the border's index rule."""
    return cuda.jit(device=True, inline="always")(border.rule)


@lru_cache
def cuda_result(result_dtype: str) -> Callable[..., object]:
    """Return the function from a sum to what is stored."""
    rule = _as_it_is if result_dtype == "float32" else rounding_to(largest_of(result_dtype))
    return cuda.jit(device=True, inline="always")(rule)


def _as_it_is(value: object) -> object:
    return value

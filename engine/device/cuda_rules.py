"""The rules of borders and of results as CUDA device functions: choices of the compilation, no branches."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from engine.device.numba_cuda import cuda
from engine.device.result_rules import largest_of, rounding_to
from engine.geometry.border import Border


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

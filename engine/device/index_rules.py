"""The index rules of borders: the functions of `engine.geometry.border`, compiled for CPU and CUDA."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.device.kernel_factory import kernel_factory
from engine.geometry.border import Border, IndexRule

if TYPE_CHECKING:  # imported by `kernel_factory`
    from engine.device.numba_cuda import cuda


def cpu_rules() -> tuple[IndexRule, ...]:
    """Return the rules of all borders, each once, in the order of their codes."""
    return tuple(dict.fromkeys(border.rule for border in Border))


def cpu_code(border: Border) -> int:
    """Return the number by which compiled CPU code knows a border."""
    return cpu_rules().index(border.rule)


@kernel_factory
def cuda_rule(border: Border) -> Callable[..., Any]:
    """Return the border's rule as a CUDA device function: a compile-time choice, no branch in the kernel."""
    return cuda.jit(device=True, inline="always")(border.rule)

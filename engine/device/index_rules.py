"""The index rules of borders: the functions of `engine.geometry.border`, compiled for CPU and CUDA."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from numba import njit

from engine.device.numba_cuda import cuda
from engine.geometry.border import Border, IndexRule


def cpu_rules() -> tuple[IndexRule, ...]:
    """Return the rules of all borders, each once, in the order of their codes."""
    return tuple(dict.fromkeys(border.rule for border in Border))


def cpu_code(border: Border) -> int:
    """Return the number by which compiled CPU code knows a border."""
    return cpu_rules().index(border.rule)


def chosen_by_code(rules: tuple[IndexRule, ...]) -> Callable[[int, int, int], int]:
    """Return the compiled choice among rules by a code: one compilation serves every border."""
    # A chain of comparisons, the last rule first: each one is compiled with what comes after it.
    after: Any = None
    for code, rule in reversed(list(enumerate(rules))):
        after = _link(code, njit(nogil=True, inline="always")(rule), after)
    chain = after

    @njit(nogil=True)
    def source_index(index: int, length: int, code: int) -> int:
        if 0 <= index < length:
            return index
        return chain(index, length, code)

    return source_index


def _link(own_code: int, rule: Any, after: Any) -> Any:
    if after is None:
        return njit(nogil=True, inline="always")(lambda index, length, code: rule(index, length))

    @njit(nogil=True, inline="always")
    def link(index: int, length: int, code: int) -> int:
        if code == own_code:
            return rule(index, length)
        return after(index, length, code)

    return link


source_index = chosen_by_code(cpu_rules())
"""Of (index, length, code): the index inside whose value is at `index`, or -1 for a ghost cell."""


@lru_cache
def cuda_rule(border: Border) -> Callable[..., Any]:
    """Return the border's rule as a CUDA device function: a compile-time choice, no branch in the kernel."""
    return cuda.jit(device=True, inline="always")(border.rule)

"""Names that a module imports only when something of it is compiled. No Numba in here.

Numba takes a second to import, its CUDA target half a second more, and a module of variants is also read by
what only lists them. So such a module names what its compiled code is written with (`cuda`, `njit`,
emitters) under `if TYPE_CHECKING:`, and the first of its functions that is compiled imports that.
"""

import ast
import dis
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any


@functools.cache
def import_names(name: str, only: frozenset[str] | None = None) -> None:
    """Import into a module, once, what it imports under `if TYPE_CHECKING:`; `only` what has such names."""
    module = sys.modules[name]
    for step in ast.parse(inspect.getsource(module)).body:
        if isinstance(step, ast.If) and ast.unparse(step.test) == "TYPE_CHECKING":
            for one in step.body:
                if isinstance(one, ast.ImportFrom) and only is not None:
                    one.names = [found for found in one.names if found.name in only]
                    if not one.names:
                        continue
                exec(compile(ast.Module([one], []), str(module.__file__), "exec"), vars(module))


def with_names(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function; what it names of its module is imported there."""
    import_names(function.__module__, frozenset(_names_in(function.__code__)))
    return function


def _names_in(code: CodeType) -> Iterator[str]:
    yield from (str(one.argval) for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL")
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _names_in(one)


class LateFunction:
    """What `late_njit` makes of a function: to Numba it looks as what `njit` makes."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func, self._options = function, options

    def __call__(self, *arguments: Any) -> Any:
        """Do as Python does."""
        return self.py_func(*arguments)

    @functools.cached_property
    def targetoptions(self) -> dict[str, Any]:
        """The options; Numba looks here whether to write the function's body in the place of a call."""
        with_names(self.py_func)
        return self._options

    @functools.cached_property
    def _dispatcher(self) -> Any:
        # Whoever asks has Numba.
        from numba import njit

        return njit(**self.targetoptions)(self.py_func)

    @property
    def _numba_type_(self) -> object:
        return self._dispatcher._numba_type_


def late_njit(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a function that compiled functions call: it is Numba's `njit` where these are compiled."""
    return lambda function: LateFunction(function, options)

"""Names that a module imports at its top, and that load Numba only where something is compiled.

Numba takes a second to import, its CUDA target half a second more, and a module of variants is also read by
what only lists them. So what compiled code is written with (`cuda`, `njit`, what emitters make) is late: an
object stands for it. Python reads through it (`types.float32`, `cuda.jit`); Numba does not, so `with_names`
puts the thing itself in its place before a function that names it is compiled.
"""

import dis
import functools
import sys
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any


class Late:
    """Stands for what `make` returns, with its attributes."""

    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make

    @functools.cached_property
    def itself(self) -> Any:
        """What it stands for."""
        return self._make()

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.itself, name)


class LateFunction(Late):
    """Stands for what `make` makes of a Python function, its `py_func`."""

    def __init__(self, function: Callable[..., object], make: Callable[..., object]) -> None:
        super().__init__(lambda: make(with_names(function)))
        self.py_func = function

    def __call__(self, *arguments: object) -> Any:
        """Do as Python does."""
        return self.py_func(*arguments)


def late(module: str, *names: str, **options: object) -> list[Any]:
    """Return a `Late` for each name of a module; options are passed on when what it names is called."""

    def imported(name: str) -> Any:
        attribute = getattr(__import__(module, fromlist=[name]), name)
        return functools.partial(attribute, **options) if options else attribute

    return [Late(functools.partial(imported, name)) for name in names]


def with_names(function: Callable[..., Any], *, of_module: bool = False) -> Callable[..., Any]:
    """Return a function; what it names, or all that its module names, is no longer late."""
    names = vars(sys.modules[function.__module__])
    for name in [*names] if of_module else _names_in(function.__code__):
        if isinstance(named := names.get(name), Late):
            names[name] = named.itself
    return function


def _names_in(code: CodeType) -> Iterator[str]:
    yield from (str(one.argval) for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL")
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _names_in(one)


types, extending = late("numba", "types", "extending")
# Only compiled code calls what is compiled with it: the code with which Python would call a function took 10
# to 20 % of the time of compiling an operation.
(njit,) = late("numba", "njit", no_cpython_wrapper=True, no_cfunc_wrapper=True)
(cgutils,) = late("numba.core", "cgutils")
(numpy_support,) = late("numba.np", "numpy_support")


def late_njit(**options: object) -> Callable[[Callable[..., object]], LateFunction]:
    """Decorate a function that compiled functions call: it is Numba's `njit` where these are compiled."""
    return lambda function: LateFunction(function, lambda plain: njit.itself(**options)(plain))


def late_intrinsic(typed: Callable[..., object]) -> LateFunction:
    """Decorate what types and emits the code of a function: it is Numba's `intrinsic` where it is called."""
    return LateFunction(typed, lambda plain: extending.intrinsic(plain))

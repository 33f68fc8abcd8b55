"""`kernel_factory`: the decorator of functions that make CUDA kernels. No Numba in here.

Numba's CUDA target takes half a second to import, and a module of variants is also read by what only lists
them. So such a module names what its kernels are written with (`cuda`, `float32`, emitters) under
`if TYPE_CHECKING:`, and its first kernel imports that.
"""

import ast
import dataclasses
import functools
import inspect
import sys
import weakref
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

from engine.device.launches import Kernel

Factory = TypeVar("Factory", bound=Callable[..., Any])

MOST_KERNELS = 64
# Each kernel's factory and the arguments, as plain values.
_origins: "weakref.WeakKeyDictionary[Kernel, list[Any]]" = weakref.WeakKeyDictionary()


def kernel_factory(factory: Factory) -> Factory:
    """Decorate a factory of kernels or device functions: made once, their code kept on disk.

    The factory's arguments and the sources of the engine alone must decide the kernel. The arguments are
    numbers, texts, members of an enumeration, and tuples and data classes of such.
    """

    @functools.lru_cache(maxsize=MOST_KERNELS)
    @functools.wraps(factory)
    def made(*arguments: Any, **named: Any) -> Any:
        import_names(factory.__module__)
        kernel = factory(*arguments, **named)
        name = f"{factory.__module__}.{factory.__qualname__}"
        _origins[kernel] = [name, _plain(arguments), _plain(named)]
        return kernel

    return made  # type: ignore[return-value]


@functools.cache
@functools.cache
def import_names(name: str) -> None:
    """Import into a module, once, what it imports under `if TYPE_CHECKING:`."""
    module = sys.modules[name]
    for step in ast.parse(inspect.getsource(module)).body:
        if isinstance(step, ast.If) and ast.unparse(step.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(step.body, []), str(module.__file__), "exec"), vars(module))


def origin_of(kernel: Kernel) -> list[Any] | None:
    """Return a kernel's factory and arguments as plain values; None for one of another origin."""
    return _origins.get(kernel)


def _plain(value: Any) -> Any:
    """Return an argument as plain data, different for different arguments.

    Raises TypeError for a value that does not mean the same in the next process.
    """
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, Enum):
        return [type(value).__name__, value.name]
    if isinstance(value, tuple):
        return ["tuple", *(_plain(item) for item in value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return [type(value).__name__, fields]
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    raise TypeError(f"a kernel made from {value!r} cannot be kept on disk")

"""`kernel_factory`: the decorator of functions that make CUDA kernels. No Numba in here.

What kernels are written with their module imports late (`late_names`).
"""

import functools
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from engine.compiled.late_names import import_names
from engine.device.launches import Kernel

Factory = TypeVar("Factory", bound=Callable[..., Any])

MOST_KERNELS = 64
# Each kernel's factory and the arguments, as text.
_origins: "weakref.WeakKeyDictionary[Kernel, list[str]]" = weakref.WeakKeyDictionary()


def kernel_factory(factory: Factory) -> Factory:
    """Decorate a factory of kernels or device functions: made once, their code kept on disk.

    The factory's arguments and the sources of the engine alone must decide the kernel. The arguments are
    numbers, texts, members of an enumeration, and tuples and data classes of such.
    """

    @functools.lru_cache(maxsize=MOST_KERNELS)
    @functools.wraps(factory)
    def made(*arguments: object, **named: object) -> object:
        import_names(factory.__module__)
        kernel = factory(*arguments, **named)
        name = f"{factory.__module__}.{factory.__qualname__}"
        _origins[kernel] = [name, _text_of(arguments), _text_of(named)]
        return kernel

    return made  # type: ignore[return-value]


def note_origin(made: Kernel, kernel: Kernel, *arguments: object) -> None:
    """Note that a kernel is made of another one by these arguments: its code is kept as that one's is."""
    if (origin := origin_of(kernel)) is not None:
        _origins[made] = [*origin, _text_of(arguments)]


def origin_of(kernel: Kernel) -> list[str] | None:
    """Return a kernel's factory and arguments as text; None for one of another origin."""
    return _origins.get(kernel)


def _text_of(arguments: object) -> str:
    """Return arguments as text, different for different ones; TypeError where another process has another."""
    text = repr(arguments)
    if " at 0x" in text:
        raise TypeError(f"a kernel made from {text} cannot be kept on disk")
    return text

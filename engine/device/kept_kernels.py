"""`kept_on_disk`: the decorator of kernel factories. No Numba in here."""

import dataclasses
import functools
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

from engine.device.cuda_presence import SIMULATED, missing

Factory = TypeVar("Factory", bound=Callable[..., Any])


def kept_on_disk(factory: Factory) -> Factory:
    """Decorate a kernel factory so that its kernels are kept on disk once they are compiled.

    The factory's arguments and the sources of the engine alone must decide the kernel. The arguments are
    numbers, texts, members of an enumeration, and tuples and data classes of such.
    """

    @functools.wraps(factory)
    def made(*arguments: Any, **named: Any) -> Any:
        kernel = factory(*arguments, **named)
        if not SIMULATED and not missing:
            from engine.device.kernel_cache import KernelCache

            name = f"{factory.__module__}.{factory.__qualname__}"
            kernel._cache = KernelCache([name, _plain(arguments), _plain(named)], kernel.targetoptions)
        return kernel

    return made  # type: ignore[return-value]


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

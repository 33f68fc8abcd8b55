"""A task of Dask whose content only the worker that does it opens.

Dask is an extra (`haloscope[cluster]`): nothing of it is imported unless it is used.
"""

import importlib.util
import os
import pickle
import sys
from collections.abc import Callable
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from engine.errors import EngineError

PACKAGE = __name__.rpartition(".")[0]
"""`engine`, or `haloscope` where it is installed."""
SAME = "Install the same there, or start the worker in the folder of the same clone."
"""What helps a worker that has no Haloscope, or another one."""


def loaded(module: str, what: str) -> Any:
    """Return a module of the extra; an `EngineError` says that `what` needs it where it is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise EngineError(f"{what} needs Dask", "pip install 'haloscope[cluster]'") from None


@lru_cache(maxsize=16)
def opened(data: bytes) -> Callable[..., object]:
    """Return what a task holds, once for all tasks with the same: a mask's factors are computed once, too."""
    function: Callable[..., object] = pickle.loads(data)
    return function


def sealed(function: Callable[..., object], *arguments: object) -> Callable[..., object]:
    """Return a function that calls this one with these arguments first, then with its own.

    The scheduler, which unpickles the tasks that it passes on, finds nothing but bytes in it and needs no
    Haloscope. `dask worker` does not look for modules in the folder where it is started, as `python` does: so
    a clone is looked for there.
    """
    data: bytes = loaded("cloudpickle", "A task of Dask").dumps(partial(function, *arguments))
    package, remedy = PACKAGE, SAME

    # A function within another one is pickled with its code. Dask looks for the name `block_id`.
    def call(*more: object, block_id: tuple[int, ...] | None = None, **named: object) -> object:
        if importlib.util.find_spec(package) is None:
            if not os.path.isfile(os.path.join(os.getcwd(), package, "cluster.py")):
                raise RuntimeError(f"A worker of the cluster has no Haloscope. {remedy}")
            sys.path.append(os.getcwd())
        placed = {} if block_id is None else {"block_id": block_id}
        function = importlib.import_module(f"{package}.dask_task").opened(data)
        return function(*more, **placed, **named)

    call.__name__ = getattr(function, "__name__", call.__name__)
    # Else Dask pickles it to tell it from others: half of the time that an array's tasks are made in.
    vars(call)["__dask_tokenize__"] = partial(bytes, data)
    return call

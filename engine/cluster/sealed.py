"""Functions that only the worker that calls them opens: a scheduler may have no Haloscope.

A scheduler unpickles the tasks that it is sent. A function within another one is pickled with its code, so
that it finds there nothing but bytes.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from engine.cluster import machine_facts
from engine.cluster.extra import loaded


def sealed(function: Callable[..., Any], *given: Any) -> Callable[..., Any]:
    """Return a function that calls this one with what is given, and with what it is called with after it."""
    cloudpickle = loaded("cloudpickle", "A task of Dask")
    cloudpickle.register_pickle_by_value(machine_facts)
    data: bytes = cloudpickle.dumps(partial(function, *given))
    package, find_clone = __name__.partition(".cluster")[0], machine_facts.find_clone

    # Dask looks for the name `block_id`.
    def call(*more: Any, block_id: tuple[int, ...] | None = None) -> Any:
        import pickle

        find_clone(package)
        opened = pickle.loads(data)
        return opened(*more) if block_id is None else opened(*more, block_id=block_id)

    call.__name__ = getattr(function, "__name__", call.__name__)
    return call

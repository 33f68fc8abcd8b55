"""The libraries of the extra `cluster`, loaded when something of it is asked for."""

from importlib import import_module
from typing import Any

from engine.errors import EngineError


def loaded(module: str, what: str) -> Any:
    """Return a module of the extra; an `EngineError` says that `what` needs it where it is not installed."""
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise EngineError(f"{what} needs Dask", "pip install 'haloscope[cluster]'") from None

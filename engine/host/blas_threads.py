"""The threads of NumPy's BLAS: a process that multiplies no matrices starts without them. No NumPy in here.

They start when NumPy is imported, and take 25 ms of two cores, while the window and the engine start.
"""

import os
from collections.abc import Mapping

_VARIABLE = "OPENBLAS_NUM_THREADS"
_ours: list[str] = []


def start_without() -> None:
    """Start no such threads in this process; what a person has chosen stays. Before NumPy is imported."""
    if _VARIABLE not in os.environ:
        os.environ[_VARIABLE] = "1"
        _ours.append(_VARIABLE)


def as_chosen(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a child that multiplies matrices, as this process was given it."""
    return {name: value for name, value in environment.items() if name not in _ours}

"""Settings of a process at its start: no threads of BLAS, no garbage collection, no warnings of NumPy's.

The threads of BLAS start when NumPy is imported, and take 25 ms of two cores, while the window and the
engine start: a process that multiplies no matrices starts without them. No NumPy in here.
"""

import gc
import os
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_VARIABLE = "OPENBLAS_NUM_THREADS"
_ours: list[str] = []


def start_no_blas_threads() -> None:
    """Keep BLAS to one thread, unless the environment says otherwise. Call it before NumPy is imported."""
    if _VARIABLE not in os.environ:
        os.environ[_VARIABLE] = "1"
        _ours.append(_VARIABLE)


def with_blas_threads(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment without that limit, for a child that multiplies matrices."""
    return {name: value for name, value in environment.items() if name not in _ours}


_lock = threading.Lock()
_blocks = 0
_was_enabled = True


@contextmanager
def no_collection() -> Iterator[None]:
    """Collect no garbage until the end of the block, and of those of other threads that overlap it."""
    global _blocks, _was_enabled
    with _lock:
        if not _blocks:
            _was_enabled = gc.isenabled()
        _blocks += 1
        gc.disable()
    try:
        yield
    finally:
        with _lock:
            _blocks -= 1
            if not _blocks and _was_enabled:
                gc.enable()


# "invalid value encountered in dot", "All-NaN slice encountered", "Mean of empty slice"
_OF_NUMBERS = r".* encountered|Mean of empty slice|Degrees of freedom"


def leave_out_float_warnings() -> None:
    """Print no warnings of float arithmetic from now on. Called at the start of a process of the window."""
    warnings.filterwarnings("ignore", _OF_NUMBERS, RuntimeWarning)

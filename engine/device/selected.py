"""Whether the calling thread prepares variants for the interpreter, and who hears how far a launch is.

A device is selected by a thread, as CUDA's are: what `prepare` makes next is for the one selected last. No
Numba in here.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_thread = threading.local()

Report = Callable[[float], None]


def interprets() -> bool:
    """Return whether the thread has selected the interpreter."""
    return getattr(_thread, "interprets", False)


def select_interpreter(wanted: bool) -> None:
    """Let the thread prepare for the interpreter, or for a device."""
    _thread.interprets = wanted


@contextmanager
def interpreter_selected(wanted: bool = True) -> Iterator[None]:
    """Do that for the while."""
    before = interprets()
    _thread.interprets = wanted
    try:
        yield
    finally:
        _thread.interprets = before


@contextmanager
def heard_by(report: Report) -> Iterator[None]:
    """Let launches of the thread within report the share that is done; what it raises ends them."""
    before = getattr(_thread, "report", None)
    _thread.report = report
    try:
        yield
    finally:
        _thread.report = before


def report_share(done: float) -> None:
    """Report how far a launch is, where somebody hears it."""
    report = getattr(_thread, "report", None)
    if report is not None:
        report(done)

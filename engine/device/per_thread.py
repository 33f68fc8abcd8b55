"""What a thread has chosen for what it calls: the interpreter, a number of cores, who hears how far it is.

A device is selected by a thread, as CUDA's are: what `prepare` makes next is for the one selected last. No
Numba in here.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


class ThreadChoice(Generic[T]):
    """A value that each thread chooses for itself; `usual` until it does."""

    def __init__(self, usual: T) -> None:
        # Asking takes 0.1 us; an attribute that a `threading.local` does not have takes 2.
        self._chosen = ContextVar("chosen", default=usual)

    def __call__(self) -> T:
        """Return the thread's choice."""
        return self._chosen.get()

    def choose(self, value: T) -> None:
        """Choose from now on."""
        self._chosen.set(value)

    @contextmanager
    def within(self, value: T) -> Iterator[None]:
        """Choose for the while."""
        before = self._chosen.set(value)
        try:
            yield
        finally:
            self._chosen.reset(before)


interprets = ThreadChoice(False)
"""Whether variants are prepared for the interpreter."""

report_share = ThreadChoice[Callable[[float], None]](lambda done: None)
"""Who hears the share of a launch that is done; what it raises ends the launch."""

"""What a thread has chosen for what it calls, and what a process makes once. No Numba in here.

A thread chooses the interpreter, a number of cores, who hears how far it is. A device is selected by a
thread, as CUDA's are: what `prepare` makes next is for the one selected last.
"""

import os
import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import update_wrapper
from typing import Generic, TypeVar

from engine.process import cores

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


Made = TypeVar("Made")


class OncePerProcess(Generic[Made]):
    """Calls a function once in each process with the same arguments, and returns what it made every time.

    Devices, threads, what talks to them. A forked child has its own: it has a copy of the pool that its
    parent kept, and none of its threads, for which it would wait for ever.

    One thread at a time: Numba takes the driver for ready as soon as one thread begins to start it, and a
    second one would get CUDA_ERROR_NOT_INITIALIZED.
    """

    def __init__(self, make: Callable[..., Made]) -> None:
        update_wrapper(self, make)
        self._make = make
        self._begin_anew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_anew)

    def __call__(self, *arguments: Hashable) -> Made:
        """Return it, made by the first call with such arguments."""
        with self._making:
            if arguments not in self._made:
                self._made[arguments] = self._make(*arguments)
            return self._made[arguments]

    def _begin_anew(self) -> None:
        # Another thread of the parent may have held the old lock.
        self._making = threading.Lock()
        self._made: dict[tuple[Hashable, ...], Made] = {}


most_launch_cores = ThreadChoice[int | None](None)
"""How many cores launches may use that the thread prepares, as others have work of their own; None: all."""
launches_on = most_launch_cores.within


def launch_cores() -> int:
    """Return the cores that a launch of this thread may use."""
    most = most_launch_cores()
    return cores() if most is None else min(cores(), most)

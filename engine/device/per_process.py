"""What is made once in a process and kept: devices, threads, what talks to them. A forked child has its own.

A child has a copy of the pool that its parent kept, and none of its threads: it would wait for them for ever.
"""

import os
import threading
from collections.abc import Callable, Hashable
from functools import update_wrapper
from typing import Generic, TypeVar

T = TypeVar("T")


class OncePerProcess(Generic[T]):
    """Calls a function once in each process with the same arguments, and returns what it made every time.

    One thread at a time: Numba takes the driver for ready as soon as one thread begins to start it, and a
    second one would get CUDA_ERROR_NOT_INITIALIZED.
    """

    def __init__(self, make: Callable[..., T]) -> None:
        update_wrapper(self, make)
        self._make = make
        self._begin_anew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_anew)

    def __call__(self, *arguments: Hashable) -> T:
        """Return it, made by the first call with such arguments."""
        with self._making:
            if arguments not in self._made:
                self._made[arguments] = self._make(*arguments)
            return self._made[arguments]

    def _begin_anew(self) -> None:
        # Another thread of the parent may have held the old lock.
        self._making = threading.Lock()
        self._made: dict[tuple[Hashable, ...], T] = {}

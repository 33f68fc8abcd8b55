"""What is made once in a process and kept: threads, and what talks to them. A forked child makes its own.

A child has a copy of the pool that its parent kept, and none of its threads: it would wait for them for ever.
"""

import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class OncePerProcess(Generic[T]):
    """Calls a function once in each process, from any thread, and returns what it made every time."""

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._begin_anew()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._begin_anew)

    def __call__(self) -> T:
        """Return it, made by the first call."""
        with self._making:
            if not self._made:
                self._made.append(self._make())
            return self._made[0]

    def _begin_anew(self) -> None:
        # Another thread of the parent may have held the old lock.
        self._making = threading.Lock()
        self._made: list[T] = []

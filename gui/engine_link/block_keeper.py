"""Counts who still needs a block of shared memory, and gives it back when nobody does. GUI thread only."""

from collections import Counter
from collections.abc import Callable, Iterable


class BlockKeeper:
    """Reference counts of blocks by name.

    A picture is needed by the state that shows it and by every request that has not been answered; a result by the
    state and by a save that goes on.

    Parameters
    ----------
    release : callable
        Called with the names of blocks that nobody needs any more.
    """

    def __init__(self, release: Callable[..., None]) -> None:
        self._release = release
        self._users: Counter[str] = Counter()

    def hold(self, names: Iterable[str]) -> None:
        """One user more for each of these blocks."""
        self._users.update(names)

    def drop(self, names: Iterable[str]) -> None:
        """One user less; what has none is given back."""
        free = []
        for name in names:
            self._users[name] -= 1
            if self._users[name] <= 0:
                del self._users[name]
                free.append(name)
        if free:
            self._release(*free)

    def discard(self, names: Iterable[str]) -> None:
        """Give back what nobody began to use."""
        free = [name for name in names if not self._users[name]]
        if free:
            self._release(*free)

"""Counts the users of each segment of shared memory; gives it back when there is none. GUI thread only."""

from collections import Counter
from collections.abc import Callable, Iterable


class SegmentKeeper:
    """Reference counts of segments by name; `release` is called with the names that nobody uses any more.

    A picture is used by the state that shows it and by every request that has not been answered; a result by
    the state and by a save that goes on.
    """

    def __init__(self, release: Callable[..., None]) -> None:
        self._release = release
        self._users: Counter[str] = Counter()

    def hold(self, names: Iterable[str]) -> None:
        """Count one user more for each of these segments."""
        self._users.update(names)

    def drop(self, names: Iterable[str]) -> None:
        """Count one user less; what has none is given back."""
        names = tuple(names)
        self._users.subtract(names)
        self.discard(names)

    def discard(self, names: Iterable[str]) -> None:
        """Give back what has no user."""
        free = [name for name in names if self._users[name] <= 0]
        for name in free:
            del self._users[name]
        if free:
            self._release(*free)

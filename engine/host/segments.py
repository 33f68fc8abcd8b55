"""Blocks of shared memory that hosts have handed over, and those that a host left behind. Called on: any thread."""

import itertools
import threading

from engine.host import shared
from engine.host.link import HostLink
from engine.host.segment_names import host_prefix, new_prefix, number_of

# Where blocks cannot be listed they are counted: a host has at most two in its hands that it has not handed over yet,
# and three spare ones; the rest is room for surprises.
_NOT_HANDED_OVER = 8


class HandedSegments:
    """The client's book of the blocks that are looked at, each with the host that made it.

    A block that is given back belongs to its maker again, who uses it for another result. What a host owned when it
    ended is removed: the names of its blocks begin as it was told, so even those of a killed one can be found.

    Attributes
    ----------
    prefix : str
        How the names of all blocks of this client begin.
    """

    def __init__(self) -> None:
        self.prefix = new_prefix()
        self._hosts = itertools.count(1)
        self._lock = threading.Lock()
        self._maker: dict[str, HostLink] = {}
        self._newest: dict[HostLink, int] = {}

    def prefix_of_next_host(self) -> str:
        """Return how the names of the blocks of another host are to begin."""
        return host_prefix(self.prefix, next(self._hosts))

    def hand_over(self, names: tuple[str, ...], maker: HostLink) -> None:
        """Note that a host has handed blocks over."""
        with self._lock:
            self._maker.update(dict.fromkeys(names, maker))
            numbers = [number_of(name) for name in names]
            self._newest[maker] = max(self._newest.get(maker, 0), *numbers, 0)

    def give_back(self, names: tuple[str, ...], living: list[HostLink]) -> tuple[str, ...]:
        """Note that blocks are looked at no longer; remove those whose maker is gone.

        Returns
        -------
        tuple of str
            Those that were handed over. A name that was not, or that was given back before, may be one that its
            maker has in use again: it is detached here, and nothing else.
        """
        shared.forget(*names)
        with self._lock:
            makers = {name: self._maker.pop(name) for name in names if name in self._maker}
        shared.unlink(*(name for name, maker in makers.items() if maker not in living))
        return tuple(makers)

    def maker_ended(self, maker: HostLink) -> None:
        """Remove what a host owned when it ended; what is still looked at stays."""
        with self._lock:
            last = self._newest.pop(maker, 0) + _NOT_HANDED_OVER
            looked_at = set(self._maker)
        left = shared.left_by(maker.options.blocks, last)
        shared.unlink(*(name for name in left if name not in looked_at))

    def remove_all(self) -> None:
        """Remove every block that is still looked at."""
        with self._lock:
            names = list(self._maker)
            self._maker.clear()
        shared.unlink(*names)

"""Segments of shared memory that hosts handed over, or left behind. Called on: any thread."""

import itertools
import threading

from engine.host import shared
from engine.host.link import HostLink

# Where segments cannot be listed they are counted: a host has at most two that it has not handed over yet,
# and three spare ones; the rest is a reserve.
_NOT_HANDED_OVER = 8


class HandedSegments:
    """The segments that the client uses, each with the host that made it.

    A released segment belongs to its maker again, which reuses it. What a host owned when it ended is
    removed: the names of all segments of this client's hosts begin with `prefix`, so those of a killed host
    are found too.
    """

    def __init__(self) -> None:
        self.prefix = shared.new_prefix()
        self._hosts = itertools.count(1)
        self._lock = threading.Lock()
        self._maker: dict[str, HostLink] = {}
        self._newest: dict[HostLink, int] = {}

    def prefix_of_next_host(self) -> str:
        """Return the prefix of the next host's segment names."""
        return shared.name_of(self.prefix, next(self._hosts))

    def hand_over(self, names: tuple[str, ...], maker: HostLink) -> None:
        """Note that a host has handed segments over."""
        with self._lock:
            self._maker.update(dict.fromkeys(names, maker))
            numbers = [int(name.rpartition("-")[2]) for name in names]
            self._newest[maker] = max(self._newest.get(maker, 0), *numbers, 0)

    def give_back(self, names: tuple[str, ...], living: list[HostLink]) -> tuple[str, ...]:
        """Release segments; remove those whose maker has ended, and return those that were handed over.

        A name that was not, or that was released before, may be in use by its maker again: it is only
        detached here.
        """
        shared.forget(*names)
        with self._lock:
            makers = {name: self._maker.pop(name) for name in names if name in self._maker}
        shared.unlink(*(name for name, maker in makers.items() if maker not in living))
        return tuple(makers)

    def maker_ended(self, maker: HostLink) -> None:
        """Remove what a host owned when it ended; what is still used stays."""
        with self._lock:
            last = self._newest.pop(maker, 0) + _NOT_HANDED_OVER
            in_use = set(self._maker)
        left = shared.left_by(maker.options.segment_prefix, last)
        shared.unlink(*(name for name in left if name not in in_use))

    def remove_all(self) -> None:
        """Remove every segment that is still used."""
        with self._lock:
            names = list(self._maker)
            self._maker.clear()
        shared.unlink(*names)

"""Who wrote and read which part of memory since the last barrier: races, and reads of what nobody wrote.

Two accesses of one place by different threads, one of them a write, race unless a barrier lies between: of
the block for threads of one block, of the warp (`bar.warp.sync`) for threads of one warp. For other blocks
there is none. The order in which the interpreter happens to run them does not matter. Atomic accesses do not
race with each other. A place is as long as the shortest access that the kernel makes.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
Who = NDArray[np.int64]
Flags = NDArray[np.bool_]
# A block has at most 1024 threads; a moment is (barriers passed, thread).
_THREAD_BITS = 11
_THREADS = (1 << _THREAD_BITS) - 1


class Access(NamedTuple):
    """Threads that access places, one place each: who they are and how many barriers lie behind them.

    `threads` are numbers within their block, plus one; `warp_moments` the barriers of their warps.
    """

    number: int  # of the instruction
    places: Places
    threads: Who
    owners: Who  # the block, for memory that blocks share
    moment: int
    warp_moments: Who | None

    @property
    def stamps(self) -> Who:
        """When and by which thread of a block."""
        return (self.moment << _THREAD_BITS) + self.threads

    def some(self, chosen: Flags) -> "Access":
        """Return some of these accesses."""
        warps = None if self.warp_moments is None else self.warp_moments[chosen]
        places, threads, owners = (one[chosen] for one in (self.places, self.threads, self.owners))
        return self._replace(places=places, threads=threads, owners=owners, warp_moments=warps)


# What a race, or another fault, is told with: its kind, the accesses at fault (as a choice among those of the
# `Access`), the instruction before, and the thread and block of that.
Report = Callable[[str, Flags, int, int, int], None]


class Hazards:
    """The state of one segment of memory.

    Parameters
    ----------
    places : int
        How many places it has.
    is_written : bool
        Whether its contents count as written before the launch.
    knows_warps : bool
        Whether barriers of warps are counted.
    among_blocks : bool
        Whether several blocks share it.
    tracks_reads : bool
        Whether reads are noted beside writes.
    """

    def __init__(
        self, places: int, is_written: bool, knows_warps: bool, *, among_blocks: bool, tracks_reads: bool
    ) -> None:
        self.written = None if is_written else np.zeros(places, bool)
        self.tracks_reads = tracks_reads
        self._places, self._all_written = places, is_written
        self._writer, self._reader, self._other_reader = (
            _History(places, knows_warps, among_blocks) for _ in range(3)
        )
        # Places that an atomic access wrote last, and those that a copy is under way to.
        self._was_atomic: Flags | None = None
        self._pending: Flags | None = None

    def begin_interval(self) -> None:
        """Note that threads have passed a barrier."""
        if self.written is not None and not self._all_written:
            self._all_written = bool(self.written.all())

    def _check_written(self, places: Places, report: Report) -> None:
        if not self._all_written and self.written is not None:
            missing = ~self.written[places]
            if missing.any():
                report("unwritten", missing, -1, 0, 0)

    def read(self, access: Access, report: Report) -> None:
        """Note a read."""
        places = access.places
        self._check_written(places, report)
        if self._pending is not None:
            self._writer.tell("async", self._pending[places], access, report)
        self._writer.check(access, report)
        if not self.tracks_reads:
            return
        others = self._reader.others(access)
        if others is not None and others.any():
            self._other_reader.copy(self._reader, places[others])
        self._reader.put(access)
        losers = self._reader.lost(access)
        if losers.any():
            self._other_reader.put(access.some(losers))

    def write(self, access: Access, report: Report, *, atomic: bool = False, reads: bool = False) -> None:
        """Note a write, an atomic one, or one that also `reads`."""
        places = access.places
        if reads:
            self._check_written(places, report)
        self._writer.check(access, report, self._was_atomic if atomic else None)
        self._reader.check(access, report)
        self._other_reader.check(access, report)
        self._writer.put(access)
        if not atomic:
            self._writer.tell("race", self._writer.lost(access), access, report)
        elif self._was_atomic is None:
            self._was_atomic = np.zeros(self._places, bool)
        if self._was_atomic is not None:
            self._was_atomic[places] = atomic
        if self.written is not None:
            self.written[places] = True

    def begin_copies(self, access: Access, report: Report) -> None:
        """Note copies that are under way: a write whose values nobody may read yet."""
        self.write(access, report)
        if self._pending is None:
            self._pending = np.zeros(self._places, bool)
        self._pending[access.places] = True

    def end_copies(self, access: Access) -> None:
        """Note that the threads that began copies have waited for them."""
        assert self._pending is not None
        self._pending[access.places] = False
        # The values came at the latest now.
        self._writer.put(access)

    def writer_at(self, place: int) -> tuple[int, int, int] | None:
        """Return the thread, the block and the instruction that last wrote a place."""
        writer = self._writer
        return (*writer.who(place), int(writer.number[place])) if writer.stamp[place] else None


class _History:
    """The last access of each place: when, by which thread, by which instruction."""

    def __init__(self, places: int, knows_warps: bool, among_blocks: bool) -> None:
        self._newest = -1
        # Zeros take memory only where they are touched.
        self.stamp = np.zeros(places, np.int64)
        self.number = np.zeros(places, np.int32)
        self._warp_moment = np.zeros(places, np.int32) if knows_warps else None
        self._owner = np.zeros(places, np.int32) if among_blocks else None

    def put(self, access: Access) -> None:
        """Note an access."""
        places = access.places
        self._newest = max(self._newest, access.moment)
        self.stamp[places] = access.stamps
        self.number[places] = access.number
        if self._warp_moment is not None and access.warp_moments is not None:
            self._warp_moment[places] = access.warp_moments
        if self._owner is not None:
            self._owner[places] = access.owners

    def copy(self, other: "_History", places: Places) -> None:
        """Note the last access that another history has."""
        self._newest = max(self._newest, other._newest)
        for own, others in (
            (self.stamp, other.stamp),
            (self.number, other.number),
            (self._warp_moment, other._warp_moment),
            (self._owner, other._owner),
        ):
            if own is not None and others is not None:
                own[places] = others[places]

    def lost(self, access: Access) -> Flags:
        """Return which of the accesses that were just noted another one of the same instruction replaced."""
        found: Flags = self.stamp[access.places] != access.stamps
        if self._owner is not None:
            found |= self._owner[access.places] != access.owners
        return found

    def others(self, access: Access) -> Flags | None:
        """Return which places another thread accessed last, in the same interval; None: none."""
        if self._newest < (0 if self._owner is not None else access.moment):
            return None
        stamps = self.stamp[access.places]
        found: Flags = (stamps >= (access.moment << _THREAD_BITS)) & (stamps != access.stamps)
        if self._owner is not None:
            found = (stamps > 0) & (found | (self._owner[access.places] != access.owners))
        return found

    def check(self, access: Access, report: Report, except_atomic: Flags | None = None) -> None:
        """Report places that another thread accessed with no barrier between."""
        bad = self.others(access)
        if bad is None or not bad.any():
            return
        places = access.places
        if self._warp_moment is not None and access.warp_moments is not None:
            threads = (self.stamp[places] & _THREADS) - 1
            same_warp = threads >> 5 == (access.threads - 1) >> 5
            if self._owner is not None:
                same_warp &= self._owner[places] == access.owners
            bad &= ~(same_warp & (self._warp_moment[places] < access.warp_moments))
        if except_atomic is not None:
            bad &= ~except_atomic[places]
        self.tell("race", bad, access, report)

    def tell(self, kind: str, bad: Flags, access: Access, report: Report) -> None:
        """Report accesses at fault: once for each instruction that the others came from."""
        if bad.any():
            numbers = self.number[access.places]
            for number in np.unique(numbers[bad]):
                chosen = bad & (numbers == number)
                report(kind, chosen, int(number), *self.who(access.places[chosen.argmax()]))

    def who(self, place: int) -> tuple[int, int]:
        """Return the thread of the last access, and its block: -1 where blocks do not share the memory."""
        return int(self.stamp[place] & _THREADS) - 1, -1 if self._owner is None else int(self._owner[place])

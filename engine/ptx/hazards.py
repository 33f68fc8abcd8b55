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
_ORDINARY, _ATOMIC = 0, 1


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
    """

    def __init__(self, places: int, *, is_written: bool, knows_warps: bool, among_blocks: bool) -> None:
        self.count = places
        self.written = None if is_written else np.zeros(places, bool)
        self._all_written = is_written
        self._among_blocks, self._knows_warps = among_blocks, knows_warps
        self._writer = _History(places, knows_warps, among_blocks)
        self._reader = _History(places, knows_warps, among_blocks)
        self._other_reader = _History(places, knows_warps, among_blocks)
        self._was_atomic: Flags | None = None
        self._pending: Flags | None = None
        self.tracks_reads = True

    def begin_interval(self) -> None:
        """Note that threads have passed a barrier."""
        if self.written is not None and not self._all_written:
            self._all_written = bool(self.written.all())

    def read(self, access: Access, report: Report) -> None:
        """Note a read."""
        places = access.places
        if not self._all_written and self.written is not None:
            missing = ~self.written[places]
            if missing.any():
                report("unwritten", missing, -1, 0, 0)
        if self._pending is not None:
            early = self._pending[places]
            if early.any():
                self._tell("async", early, self._writer, access, report)
        self._check(self._writer, access, report)
        if not self.tracks_reads:
            return
        others = self._reader.others(access)
        if others is not None and others.any():
            chosen = np.flatnonzero(others)
            self._other_reader.copy(self._reader, places[chosen])
        self._reader.put(access)
        losers = self._reader.lost(access)
        if losers.any():
            self._other_reader.put(_chosen(access, np.flatnonzero(losers)))

    def write(self, access: Access, report: Report, *, atomic: bool = False, reads: bool = False) -> None:
        """Note a write, an atomic one, or one that also `reads`."""
        places = access.places
        if reads and not self._all_written and self.written is not None:
            missing = ~self.written[places]
            if missing.any():
                report("unwritten", missing, -1, 0, 0)
        except_atomic = self._was_atomic if atomic else None
        self._check(self._writer, access, report, except_atomic)
        self._check(self._reader, access, report)
        self._check(self._other_reader, access, report)
        self._writer.put(access)
        if not atomic:
            losers = self._writer.lost(access)
            if losers.any():
                self._tell("race", losers, self._writer, access, report)
        if atomic and self._was_atomic is None:
            self._was_atomic = np.zeros(self.count, bool)
        if self._was_atomic is not None:
            self._was_atomic[places] = atomic
        if self.written is not None:
            self.written[places] = True

    def begin_copies(self, access: Access, report: Report) -> None:
        """Note copies that are under way: a write whose values nobody may read yet."""
        self.write(access, report)
        if self._pending is None:
            self._pending = np.zeros(self.count, bool)
        self._pending[access.places] = True

    def end_copies(self, access: Access) -> None:
        """Note that the threads that began copies have waited for them."""
        assert self._pending is not None
        self._pending[access.places] = False
        # The values came at the latest now.
        self._writer.put(access)

    def writer_at(self, place: int) -> tuple[int, int, int] | None:
        """Return the thread, the block and the instruction that last wrote a place."""
        if not self._writer.is_there or not self._writer.stamp[place]:
            return None
        writer = self._writer
        return writer.thread_at(place), writer.block_at(place), int(writer.number[place])

    def _check(
        self,
        history: "_History",
        access: Access,
        report: Report,
        except_atomic: Flags | None = None,
    ) -> None:
        bad = history.unordered(access)
        if bad is None or not bad.any():
            return
        if except_atomic is not None:
            bad &= ~except_atomic[access.places]
            if not bad.any():
                return
        self._tell("race", bad, history, access, report)

    @staticmethod
    def _tell(kind: str, bad: Flags, history: "_History", access: Access, report: Report) -> None:
        # One report for each instruction that the others came from.
        numbers = history.number[access.places]
        for number in np.unique(numbers[bad]):
            chosen = bad & (numbers == number)
            place = access.places[np.flatnonzero(chosen)[0]]
            report(kind, chosen, int(number), history.thread_at(place), history.block_at(place))


class _History:
    """The last access of each place: when, by which thread, by which instruction."""

    def __init__(self, places: int, knows_warps: bool, among_blocks: bool) -> None:
        self._places, self._knows_warps, self._among_blocks = places, knows_warps, among_blocks
        self._newest = -1
        self.is_there = False

    def _allocate(self) -> None:
        if not self.is_there:
            self.is_there = True
            self.stamp = np.zeros(self._places, np.int64)
            self.number = np.zeros(self._places, np.int32)
            if self._knows_warps:
                self.warp_moment = np.zeros(self._places, np.int32)
            if self._among_blocks:
                self.owner = np.zeros(self._places, np.int32)

    def put(self, access: Access) -> None:
        """Note an access."""
        self._allocate()
        places = access.places
        self._newest = max(self._newest, access.moment)
        self.stamp[places] = (access.moment << _THREAD_BITS) + access.threads
        self.number[places] = access.number
        if access.warp_moments is not None:
            self.warp_moment[places] = access.warp_moments
        if self._among_blocks:
            self.owner[places] = access.owners

    def copy(self, other: "_History", places: Places) -> None:
        """Note the last access that another history has."""
        self._allocate()
        self._newest = max(self._newest, other._newest)
        self.stamp[places] = other.stamp[places]
        self.number[places] = other.number[places]
        if self._knows_warps:
            self.warp_moment[places] = other.warp_moment[places]
        if self._among_blocks:
            self.owner[places] = other.owner[places]

    def lost(self, access: Access) -> Flags:
        """Return which of the accesses that were just noted another one of the same instruction replaced."""
        found: Flags = self.stamp[access.places] != (access.moment << _THREAD_BITS) + access.threads
        if self._among_blocks:
            found |= self.owner[access.places] != access.owners
        return found

    def others(self, access: Access) -> Flags | None:
        """Return which places another thread accessed last, in the same interval."""
        if not self.is_there or (self._newest < access.moment and not self._among_blocks):
            return None
        stamps = self.stamp[access.places]
        mine = (access.moment << _THREAD_BITS) + access.threads
        if self._among_blocks:
            same = self.owner[access.places] == access.owners
            recent = (stamps >> _THREAD_BITS) >= access.moment
            among: Flags = (stamps > 0) & np.where(same, recent & (stamps != mine), True)
            return among
        found: Flags = (stamps > (access.moment << _THREAD_BITS)) & (stamps != mine)
        return found

    def unordered(self, access: Access) -> Flags | None:
        """Return which places another thread accessed with no barrier between."""
        found = self.others(access)
        if found is None or access.warp_moments is None or not found.any():
            return found
        threads = (self.stamp[access.places] & ((1 << _THREAD_BITS) - 1)) - 1
        same_warp = threads >> 5 == (access.threads - 1) >> 5
        if self._among_blocks:
            same_warp &= self.owner[access.places] == access.owners
        ordered: Flags = same_warp & (self.warp_moment[access.places] < access.warp_moments)
        return found & ~ordered

    def thread_at(self, place: int) -> int:
        """Return the thread of the last access within its block."""
        return int(self.stamp[place] & ((1 << _THREAD_BITS) - 1)) - 1

    def block_at(self, place: int) -> int:
        """Return the block of the last access; -1 where blocks do not share the memory."""
        return int(self.owner[place]) if self._among_blocks else -1


def _chosen(access: Access, at: NDArray[np.intp]) -> Access:
    warps = None if access.warp_moments is None else access.warp_moments[at]
    return access._replace(
        places=access.places[at], threads=access.threads[at], owners=access.owners[at], warp_moments=warps
    )

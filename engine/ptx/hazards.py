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

from engine.ptx.active import WARP, Numbers

Flags = NDArray[np.bool_]
# A stamp has the number of the block, the barriers passed, and the number of the thread plus one.
ONE_MOMENT, ONE_BLOCK = 1 << 11, 1 << 37
_MOST_BLOCKS = (1 << 26) - 1


class Access(NamedTuple):
    """Threads that access places, one place each.

    `stamps` say who they are and how many barriers lie behind them, `warp_moments` how many of their warps.
    """

    number: int  # of the instruction
    places: Numbers
    stamps: Numbers
    moment: int
    warp_moments: Numbers | None

    def some(self, chosen: Flags) -> "Access":
        """Return some of these accesses."""
        warps = None if self.warp_moments is None else self.warp_moments[chosen]
        return self._replace(places=self.places[chosen], stamps=self.stamps[chosen], warp_moments=warps)


def stamps_of(moment: int, blocks: Numbers, threads: Numbers) -> Numbers:
    """Return when and who: threads by their number within a block."""
    return (blocks & _MOST_BLOCKS) * ONE_BLOCK + moment * ONE_MOMENT + threads + 1


Report = Callable[[str, Flags, int, int, int], None]
"""Called with the kind of a fault, which accesses are at fault, and the instruction, the thread and the block
that came before: -1 where there was none, or blocks do not share the memory."""


class Hazards:
    """The state of one segment of memory.

    Parameters
    ----------
    places : int
        How many places it has.
    is_written : bool
        Whether its contents count as written before the launch.
    among_blocks : bool
        Whether several blocks share it.
    tracks_reads : bool
        Whether reads are noted beside writes.
    """

    def __init__(self, places: int, is_written: bool, *, among_blocks: bool, tracks_reads: bool) -> None:
        self._tracks_reads = tracks_reads
        self._places, self._all_written = places, is_written
        self._writer, self._reader, self._other_reader = (_History(places, among_blocks) for _ in range(3))
        # Places that an atomic access wrote last, and those that a copy is under way to.
        self._was_atomic: Flags | None = None
        self._pending: Flags | None = None

    def begin_interval(self) -> None:
        """Note that threads have passed a barrier."""
        if not self._all_written:
            self._all_written = bool(self._writer.was_accessed(slice(self._places)).all())

    def note(self, effect: str, access: Access, report: Report) -> None:
        """Note what a `Request` does, and report what is wrong with it."""
        if effect in ("read", "update") and not self._all_written:
            missing = ~self._writer.was_accessed(access.places)
            if missing.any():
                report("unwritten", missing, -1, -1, -1)
        if effect == "read":
            self._read(access, report)
        elif effect == "arrive" and self._pending is not None:
            self._pending[access.places] = False
            # The values came at the latest now.
            self._writer.put(access)
        else:
            self._write(access, report, atomic=effect in ("update", "swap"))
            if effect == "copy":
                if self._pending is None:
                    self._pending = np.zeros(self._places, bool)
                self._pending[access.places] = True

    def _read(self, access: Access, report: Report) -> None:
        if self._pending is not None:
            self._writer.faults("async", self._pending[access.places], access, report)
        self._writer.races(access, report)
        if not self._tracks_reads:
            return
        others = self._reader.others(access)
        if others is not None and others.any():
            self._other_reader.copy(self._reader, access.places[others])
        self._reader.put(access)
        losers = self._reader.lost(access)
        if losers.any():
            self._other_reader.put(access.some(losers))

    def _write(self, access: Access, report: Report, *, atomic: bool) -> None:
        self._writer.races(access, report, self._was_atomic if atomic else None)
        self._reader.races(access, report)
        self._other_reader.races(access, report)
        self._writer.put(access)
        if not atomic:
            self._writer.faults("race", self._writer.lost(access), access, report)
        elif self._was_atomic is None:
            self._was_atomic = np.zeros(self._places, bool)
        if self._was_atomic is not None:
            self._was_atomic[access.places] = atomic

    def writer_at(self, place: int) -> tuple[int, int, int] | None:
        """Return the thread, the block and the instruction that last wrote a place."""
        writer = self._writer
        is_known = writer.was_accessed(np.array([place]))[0]
        return (*writer.who(place), int(writer.number[place])) if is_known else None


class _History:
    """The last access of each place: when, by which thread, by which instruction."""

    def __init__(self, places: int, among_blocks: bool) -> None:
        self._newest, self._places, self._among_blocks = -1, places, among_blocks
        # Most arrays are only read, or only written: no memory before the first access.
        self.stamp, self.number = np.zeros(0, np.int64), np.zeros(0, np.int32)
        self._warp_moment: NDArray[np.int32] | None = None

    def _begin(self, moment: int, knows_warps: bool) -> None:
        if self._newest < 0:
            self.stamp, self.number = np.zeros(self._places, np.int64), np.zeros(self._places, np.int32)
            self._warp_moment = np.zeros(self._places, np.int32) if knows_warps else None
        self._newest = max(self._newest, moment)

    def put(self, access: Access) -> None:
        """Note an access."""
        self._begin(access.moment, access.warp_moments is not None)
        self.stamp[access.places] = access.stamps
        self.number[access.places] = access.number
        if access.warp_moments is not None and self._warp_moment is not None:
            self._warp_moment[access.places] = access.warp_moments

    def copy(self, other: "_History", places: Numbers) -> None:
        """Note the last access that another history has."""
        self._begin(other._newest, other._warp_moment is not None)
        self.stamp[places], self.number[places] = other.stamp[places], other.number[places]
        if other._warp_moment is not None and self._warp_moment is not None:
            self._warp_moment[places] = other._warp_moment[places]

    def was_accessed(self, places: Numbers | slice) -> Flags:
        """Return which places were accessed."""
        if self._newest < 0:
            return np.zeros(self._places, bool)[places]
        found: Flags = self.stamp[places] > 0
        return found

    def lost(self, access: Access) -> Flags:
        """Return which of the accesses that were just noted another one of the same instruction replaced."""
        found: Flags = self.stamp[access.places] != access.stamps
        return found

    def others(self, access: Access) -> Flags | None:
        """Return which places another thread accessed last, in the same interval; None: none."""
        if self._newest < (0 if self._among_blocks else access.moment):
            return None
        stamps = self.stamp[access.places]
        unlike = stamps ^ access.stamps
        found: Flags = (unlike != 0) & (unlike < ONE_MOMENT) | (unlike >= ONE_BLOCK)
        return found & (stamps > 0)

    def races(self, access: Access, report: Report, except_atomic: Flags | None = None) -> None:
        """Report places that another thread accessed with no barrier between."""
        bad = self.others(access)
        if bad is None or not bad.any():
            return
        places = access.places
        if self._warp_moment is not None and access.warp_moments is not None:
            same_warp = (self.stamp[places] - 1) ^ (access.stamps - 1) < WARP
            bad &= ~(same_warp & (self._warp_moment[places] < access.warp_moments))
        if except_atomic is not None:
            bad &= ~except_atomic[places]
        self.faults("race", bad, access, report)

    def faults(self, kind: str, bad: Flags, access: Access, report: Report) -> None:
        """Report accesses at fault: once for each instruction that the others came from."""
        if bad.any():
            numbers = self.number[access.places]
            for number in np.unique(numbers[bad]):
                chosen = bad & (numbers == number)
                report(kind, chosen, int(number), *self.who(access.places[chosen.argmax()]))

    def who(self, place: int) -> tuple[int, int]:
        """Return the thread of the last access, and its block: -1 where blocks do not share the memory."""
        stamp = int(self.stamp[place])
        return stamp % ONE_MOMENT - 1, stamp // ONE_BLOCK if self._among_blocks else -1

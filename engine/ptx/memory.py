"""Memory of a launch: arrays in global and constant memory, shared memory of blocks, local of threads.

Addresses are 64-bit numbers as on a device. Each array lies in 2^40 addresses of its own, so that a wrong
index never meets another array; windows above stand for shared and local memory where a generic address
points there. No address is used before it is checked.

`Hazards` knows who wrote and read which place since the last barrier. Two accesses of one place by different
threads, one of them a write, race unless a barrier lies between: of the block for threads of one block, of
the warp (`bar.warp.sync`) for threads of one warp. For other blocks there is none. The order in which the
interpreter happens to run them does not matter. Atomic accesses do not race with each other. A place is as
long as the shortest access that the kernel makes.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.ptx.arithmetic import Values
from engine.ptx.module import Instruction, PtxError

WARP = 32
WARP_SHIFT = 5
Numbers = NDArray[np.int64]


class Active:
    """Threads that are at one place, by their slots in rising order, where a block has a row of these.

    A slot is a thread's number within its block, in the block's row of slots, whole warps long.
    """

    def __init__(self, slots: Numbers, row: int) -> None:
        self.slots, self.row = slots, row
        self.count = len(slots)
        # By the logarithm of how many slots go together.
        self._starts: dict[int, Numbers] = {}

    def some(self, chosen: Numbers) -> "Active":
        """Return those at these places among them."""
        return Active(self.slots[chosen], self.row)

    @cached_property
    def blocks(self) -> Numbers:
        """The number of each thread's block."""
        return self.slots // self.row

    @cached_property
    def warp_numbers(self) -> Numbers:
        """The number of each warp among all that run."""
        return self.slots[self.starts(WARP_SHIFT)] >> WARP_SHIFT

    @cached_property
    def threads_of_warps(self) -> Numbers:
        """How many of them each warp has."""
        return np.diff(np.append(self.starts(WARP_SHIFT), self.count))

    def starts(self, shift: int) -> Numbers:
        """Return the places where the threads of another 2^shift slots begin."""
        if shift not in self._starts:
            of = self.slots >> shift
            self._starts[shift] = np.flatnonzero(np.concatenate(([True], of[1:] != of[:-1])))
        return self._starts[shift]


Flags = NDArray[np.bool_]
# A stamp has the number of the block, the barriers passed, and the number of the thread plus one.
ONE_MOMENT, ONE_BLOCK, MOST_BLOCKS = 1 << 11, 1 << 37, (1 << 26) - 1


class Marks(NamedTuple):
    """What threads leave at places: who they are and which barriers lie behind them (`stamps`, `warps`)."""

    number: int | np.ndarray  # of the instruction
    places: Numbers
    stamps: Numbers
    moment: int
    warps: Numbers | None  # how many barriers of its warp each thread has passed, where there are any

    def some(self, chosen: Flags | Numbers) -> "Marks":
        """Return some of them."""
        warps = None if self.warps is None else self.warps[chosen]
        return self._replace(places=self.places[chosen], stamps=self.stamps[chosen], warps=warps)


class Fault(NamedTuple):
    """What is wrong with an access, and who came before: -1 if no thread did, or blocks share no memory."""

    kind: str
    bad: Flags  # which accesses are at fault
    number: int = -1  # of the instruction that came before
    thread: int = -1
    block: int = -1


class Hazards:
    """The state of one segment of memory, of so many places.

    Its contents may count as written before, several blocks may share it, and reads may be noted too.
    """

    def __init__(self, places: int, is_written: bool, *, among_blocks: bool, tracks_reads: bool) -> None:
        self._places, self._all_written, self._tracks_reads = places, is_written, tracks_reads
        # A second reader is another thread than the first.
        self._writer, self._reader, self._other_reader = (_History(places, among_blocks) for _ in range(3))
        self._was_atomic: Flags | None = None  # places that an atomic access wrote last
        # Of places that a copy is under way to the number of its group, from 1 on, and its slot.
        self._pending: Numbers | None = None

    def begin_interval(self) -> None:
        """Note that threads have passed a barrier."""
        if not self._all_written:
            self._all_written = bool(self._writer.was_accessed(slice(self._places)).all())

    def note(self, effect: str, marks: Marks) -> list[Fault]:
        """Note what an access does, and return what is wrong with it."""
        writer, reader, faults = self._writer, self._reader, list[Fault]()
        if effect in ("read", "update") and not self._all_written:
            missing = ~writer.was_accessed(marks.places)
            if missing.any():
                faults.append(Fault("unwritten", missing))
        if effect == "read":
            if self._pending is not None:
                faults += writer.faults("async", self._pending[marks.places] > 0, marks)
            faults += writer.races(marks)
            if self._tracks_reads:
                others = reader.others(marks)
                reader.put(marks if others is None else marks.some(~others))
                if (lost := reader.lost(marks)).any():
                    self._other_reader.put(marks.some(lost))
            return faults
        is_atomic = effect in ("update", "swap")
        faults += writer.races(marks, self._was_atomic if is_atomic else None)
        faults += [*reader.races(marks), *self._other_reader.races(marks)]
        writer.put(marks)
        if not is_atomic:
            faults += writer.faults("race", writer.lost(marks), marks)
        elif self._was_atomic is None:
            self._was_atomic = np.zeros(self._places, bool)
        if self._was_atomic is not None:
            self._was_atomic[marks.places] = is_atomic
        return faults

    def begin_copies(self, places: Numbers, groups: Numbers, slots: Numbers) -> None:
        """Note that copies of threads in some slots are under way."""
        if self._pending is None:
            self._pending, self._copiers = np.zeros(self._places, np.int64), np.zeros(self._places, np.int64)
        self._pending[places], self._copiers[places] = groups + 1, slots

    def end_copies(self, closed: Numbers, marks: Marks) -> None:
        """Note that of each slot so many groups of copies have come; it has the marks of all slots."""
        if self._pending is not None:
            at = np.flatnonzero(self._pending)
            at = at[self._pending[at] <= closed[self._copiers[at]]]
            self._pending[at] = 0
            # The values came at the latest now.
            own = marks.some(self._copiers[at])
            self._writer.put(own._replace(number=self._writer.number[at], places=at))

    def writer_at(self, place: int) -> tuple[int, int, int] | None:
        """Return the thread, the block and the instruction that last wrote a place."""
        if not self._writer.was_accessed(slice(place, place + 1))[0]:
            return None
        return *self._writer.who(place), int(self._writer.number[place])


class _History:
    """The last access of each place: when, by which thread, by which instruction."""

    def __init__(self, places: int, among_blocks: bool) -> None:
        self._newest, self._places, self._among_blocks = -1, places, among_blocks
        # Most arrays are only read, or only written: no memory before the first access.
        self.stamp, self.number = np.zeros(0, np.int64), np.zeros(0, np.int32)

    def put(self, marks: Marks) -> None:
        if self._newest < 0:
            self.stamp, self.number = np.zeros(self._places, np.int64), np.zeros(self._places, np.int32)
            self._warps = np.zeros(self._places if marks.warps is not None else 0, np.int32)
        self._newest = max(self._newest, marks.moment)
        self.stamp[marks.places] = marks.stamps
        self.number[marks.places] = marks.number
        if marks.warps is not None:
            self._warps[marks.places] = marks.warps

    def was_accessed(self, places: Numbers | slice) -> Flags:
        if self._newest < 0:
            return np.zeros(self._places, bool)[places]
        accessed: Flags = self.stamp[places] > 0
        return accessed

    def lost(self, marks: Marks) -> Flags:
        """Return which accesses are not the last ones of their places."""
        lost: Flags = self.stamp[marks.places] != marks.stamps
        return lost

    def others(self, marks: Marks) -> Flags | None:
        """Return which places another thread accessed last, in the same interval; None: none."""
        if self._newest < (0 if self._among_blocks else marks.moment):
            return None
        stamps = self.stamp[marks.places]
        unlike = stamps ^ marks.stamps
        others: Flags = (unlike != 0) & (unlike < ONE_MOMENT) | (unlike >= ONE_BLOCK)
        return others & (stamps > 0)

    def races(self, marks: Marks, except_atomic: Flags | None = None) -> list[Fault]:
        """Return the places that another thread accessed with no barrier between."""
        bad = self.others(marks)
        if bad is None or not bad.any():
            return []
        if marks.warps is not None:
            same_warp = (self.stamp[marks.places] - 1) ^ (marks.stamps - 1) < WARP
            bad &= ~(same_warp & (self._warps[marks.places] < marks.warps))
        if except_atomic is not None:
            bad &= ~except_atomic[marks.places]
        return self.faults("race", bad, marks)

    def faults(self, kind: str, bad: Flags, marks: Marks) -> list[Fault]:
        """Return accesses at fault: once for each instruction that the others came from."""
        if not bad.any():
            return []
        numbers, faults = self.number[marks.places], []
        for number in np.unique(numbers[bad]):
            chosen = bad & (numbers == number)
            faults.append(Fault(kind, chosen, int(number), *self.who(marks.places[chosen.argmax()])))
        return faults

    def who(self, place: int) -> tuple[int, int]:
        """Return the thread of the last access, and its block: -1 where blocks do not share the memory."""
        stamp = int(self.stamp[place])
        return stamp % ONE_MOMENT - 1, stamp // ONE_BLOCK if self._among_blocks else -1


ARRAY_SHIFT = 40
SHARED_WINDOW, LOCAL_WINDOW = 1 << 60, 1 << 61
# What a load outside of every array gives, byte by byte: NaN as a float32.
OUTSIDE_BYTE = 0xFF


@dataclass(eq=False)
class Array:
    """An array that a kernel is launched with, which reads and writes it in place.

    `is_output` says whether its contents count as not written before the kernel writes them; `around` is
    contiguous memory that the values are a part of, and that the kernel may reach into.
    """

    name: str  # what findings call it
    values: np.ndarray  # contiguous
    is_output: bool = False
    around: np.ndarray | None = None

    def __post_init__(self) -> None:
        if not self.values.flags.c_contiguous:
            raise ValueError(f"{self.name} is not contiguous")


@dataclass(eq=False)
class Segment:
    """A stretch of memory: an array, or the shared or local memory of all blocks or threads that run."""

    name: str
    space: str  # "global", "const", "shared" or "local"
    data: np.ndarray  # uint8
    base: int
    owner_bytes: int  # of one block or thread
    stride: int = 0  # how far their parts lie apart
    granule: int = 0  # the places that `hazards` knows are 2 to this bytes long
    hazards: Hazards | None = None
    array: np.ndarray | None = None  # with its own type, of one that the kernel is launched with

    def view(self, dtype: np.dtype) -> np.ndarray:
        """Return its bytes as values of a type; what is left over at its end is not seen."""
        return self.data[: len(self.data) // dtype.itemsize * dtype.itemsize].view(dtype)

    def watch(self, place_bytes: int, *, is_written: bool = False, tracks_reads: bool = True) -> None:
        """Check accesses to it from now on, in places of so many bytes."""
        self.granule, places = place_bytes.bit_length() - 1, len(self.data) // place_bytes
        is_global = self.space == "global"
        self.hazards = Hazards(places, is_written, among_blocks=is_global, tracks_reads=tracks_reads)

    def contains(self, offsets: Values, size: int) -> Values:
        """Return which offsets, as uint64, lie within with `size` bytes behind them."""
        last = self.owner_bytes - size
        return offsets <= np.uint64(last) if last >= 0 else np.zeros(np.shape(offsets), bool)


class Access(NamedTuple):
    """An access of threads that are at one place to one segment of memory."""

    instruction: Instruction
    effect: str  # "read", "write", "copy", "update" or, without a look at what was there, "swap"
    size: int  # in bytes, of each thread
    segment: Segment
    offsets: Values  # within the memory of each thread's owner, uint64
    flat: Values  # within the segment's data, int64
    active: Active
    at: NDArray[np.intp] | None  # which of the threads that are together these are; None: all


def refuse_more(size: int, most: int, what: str) -> None:
    """Refuse a launch that takes more than a device has."""
    if size > most:
        raise PtxError("the launch", f"it has {size:,} bytes {what}; {most:,} are possible")

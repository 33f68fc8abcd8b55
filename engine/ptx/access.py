"""The machine that a kernel runs on: its memory, where each access goes, what is checked and counted."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.ptx.active import WARP, Active
from engine.ptx.counts import Counts
from engine.ptx.findings import Finding, Findings, Index3
from engine.ptx.hazards import Access, Hazards
from engine.ptx.kernel import KernelFacts
from engine.ptx.layout import Layout
from engine.ptx.memory import (
    LOCAL_WINDOW,
    OUTSIDE_BYTE,
    SHARED_WINDOW,
    Array,
    Place,
    Segment,
)
from engine.ptx.module import Instruction
from engine.ptx.pending_copies import PendingCopies
from engine.ptx.special import Chunk, special_of
from engine.ptx.types import Values

_U64 = np.dtype(np.uint64)
_SLOT_BYTES = 16


class Machine:
    """Memory and state of a launch, a chunk of its blocks at a time."""

    def __init__(
        self,
        kernel: KernelFacts,
        grid: Index3,
        block: Index3,
        arguments: Sequence[Any],
        constants: Mapping[str, np.ndarray],
        dynamic_shared: int,
        checks: bool,
        counted: bool,
        weights: Sequence[float] | None,
        tracked: set[str],
    ) -> None:
        self.kernel, self.grid, self.block = kernel, grid, block
        self.checks, self.counted = checks, counted
        self.findings, self.counts = Findings(), Counts(kernel.instructions, weights)
        self.moment = 1
        self.needs_reads_of: set[str] = set()
        self.layout = Layout(kernel, arguments, constants, dynamic_shared, checks, tracked)
        self.memory, self.parameters = self.layout.memory, self.layout.parameters
        self.shared_bytes, self.local_bytes = self.layout.shared_bytes, self.layout.local_bytes
        self.row, self.blocks = WARP, np.zeros((1, 3), np.int64)
        self.shared: Segment | None = None
        self.local: Segment | None = None
        self.warp_moments = np.zeros(1, np.int64)
        self.copies: PendingCopies | None = None

    def writer_of(self, array: Array, index: int) -> tuple[Index3, Index3, Instruction] | None:
        """Return the thread, block and instruction that last wrote a value; None where nobody did."""
        segment = self.layout.segment_of(array)
        place = index * array.values.itemsize >> segment.granule
        writer = None if segment.hazards is None else segment.hazards.writer_at(place)
        if writer is None:
            return None
        thread, block, number = writer
        across, down, _ = self.grid
        where = block % across, block // across % down, block // (across * down)
        return self._thread_at(thread), where, self.kernel.instructions[number]

    # Chunks and barriers.

    def begin_chunk(self, blocks: list[Index3], row: int) -> None:
        """Make shared and local memory for some blocks; `row` is how many slots of threads each has."""
        self.row, self.blocks = row, np.array(blocks, np.int64).reshape(-1, 3)
        across, down, _ = self.grid
        self._block_numbers = self.blocks @ np.array([1, across, across * down])
        count = len(blocks)
        self.counts.begin_chunk(count, row)
        self._special: dict[str, Values] = {}
        self._chunk = Chunk(
            self.blocks, row, self.grid, self.block, self.layout.dynamic_shared, self.shared_bytes
        )
        self.moment += 1
        self.shared = self._segment("shared", self.shared_bytes, count, SHARED_WINDOW)
        self.local = self._segment("local", self.local_bytes, count * row, LOCAL_WINDOW)
        self.warp_moments = np.zeros(count * row // WARP, np.int64)
        self.copies = None

    def end_chunk(self) -> None:
        """Add up what is counted by blocks."""
        self.counts.end_chunk()

    def _segment(self, space: str, size: int, owners: int, window: int) -> Segment | None:
        if not size:
            return None
        stride = -(-size // _SLOT_BYTES) * _SLOT_BYTES
        data = np.full(stride * owners, OUTSIDE_BYTE, np.uint8)
        granule = (self.kernel.shared_granule if space == "shared" else 1).bit_length() - 1
        segment = Segment(f"{space} memory", space, data, window, size, stride, granule)
        if self.checks:
            segment.hazards = Hazards(
                len(data) >> segment.granule,
                is_written=False,
                knows_warps=self.kernel.knows_warps and space == "shared",
                among_blocks=False,
            )
            segment.hazards.tracks_reads = space == "shared"
        return segment

    # Special registers.

    def special(self, name: str, active: Active) -> Values:
        """Return a special register of threads."""
        found = self._special.get(name)
        if found is None:
            found = self._special[name] = special_of(self._chunk, name)
        return found if found.ndim == 0 else found[active.slots]

    # Where accesses go.

    def places(
        self, space: str, addresses: Values, size: int, active: Active, instruction: Instruction
    ) -> list[Place]:
        """Return where threads' accesses of `size` bytes go; what is not allowed is reported and left out."""
        if space == "shared":
            return self._within(self.shared, addresses, size, active, instruction, None)
        if space == "local":
            return self._within(self.local, addresses, size, active, instruction, None)
        first = int(addresses if addresses.ndim == 0 else addresses[0])
        segment = self._segment_at(first)
        if segment is not None:
            offsets = addresses - np.uint64(segment.base)
            if offsets.ndim == 0:
                return self._within(segment, offsets, size, active, instruction, None)
            room = segment.owner_bytes - size
            if room >= 0 and int(offsets.max()) <= room:
                return [self._place(segment, offsets, size, active, None, instruction)]
        return self._sorted_out(addresses, size, active, instruction)

    def _segment_at(self, address: int) -> Segment | None:
        if address < SHARED_WINDOW:
            return self.memory.at(address)
        return self.shared if address < LOCAL_WINDOW else self.local

    def _sorted_out(
        self, addresses: Values, size: int, active: Active, instruction: Instruction
    ) -> list[Place]:
        """Do the same for addresses of several arrays, or of none."""
        if addresses.ndim == 0:
            addresses = np.full(active.count, addresses)
        numbers = (addresses + np.uint64(1 << 39)) >> np.uint64(40)
        found = []
        for number in np.unique(numbers):
            chosen = np.flatnonzero(numbers == number)
            segment = self._segment_at(int(addresses[chosen[0]]))
            part = active.some(chosen)
            base = np.uint64(segment.base if segment is not None else 0)
            found += self._within(segment, addresses[chosen] - base, size, part, instruction, chosen)
        return found

    def _within(
        self,
        segment: Segment | None,
        offsets: Values,
        size: int,
        active: Active,
        instruction: Instruction,
        chosen: NDArray[np.intp] | None,
    ) -> list[Place]:
        verb = (
            "writes"
            if instruction.name in ("st", "red")
            else "accesses"
            if instruction.name != "ld"
            else "reads"
        )
        if segment is None:
            message = f"a thread {verb} an address where no array is"
            self.report("outside", instruction, active, np.ones(active.count, bool), message)
            return []
        good = segment.contains(offsets, size)
        if np.all(good):
            return [self._place(segment, offsets, size, active, chosen, instruction)]
        bad = np.broadcast_to(~good, (active.count,))
        at = int(np.broadcast_to(offsets, (active.count,))[np.flatnonzero(bad)[0]].view(np.int64))
        message = f"a thread {verb} {_distance(at, segment)}"
        self.report("outside", instruction, active, bad, message, array=segment.name)
        left = np.flatnonzero(~bad)
        if not len(left):
            return []
        part = left if chosen is None else chosen[left]
        return [self._place(segment, offsets[left], size, active.some(left), part, instruction)]

    def _place(
        self,
        segment: Segment,
        offsets: Values,
        size: int,
        active: Active,
        chosen: NDArray[np.intp] | None,
        instruction: Instruction,
    ) -> Place:
        if segment.stride:
            owners = active.blocks if segment.space == "shared" else active.slots
            flat = owners * segment.stride + offsets.view(np.int64)
        else:
            flat = offsets.view(np.int64)
        return Place(segment, offsets, flat, active, chosen)

    # Checks.

    def check(
        self, kind: str, number: int, place: Place, size: int, *, atomic: bool = False, reads: bool = False
    ) -> None:
        """Check an access for races and reads of what nobody wrote: "read", "write", "copy" or "arrive"."""
        segment, active = place.segment, place.active
        hazards = segment.hazards
        if hazards is None:
            return
        if segment.space == "global":
            if kind == "read" and not hazards.tracks_reads:
                segment.was_read = True
            if kind != "read":
                self.layout.save(segment)
                if segment.was_read and not hazards.tracks_reads:
                    self.needs_reads_of.add(segment.name)
        flat = place.flat if place.flat.ndim else np.full(active.count, place.flat)
        each = max(1, size >> segment.granule)
        places = flat >> segment.granule
        slots = active.slots
        if each > 1:
            places = (places[:, None] + np.arange(each)).reshape(-1)
            slots = np.repeat(slots, each)
        access = Access(
            number,
            places,
            slots % self.row + 1,
            self._block_numbers[slots // self.row],
            self.moment,
            self.warp_moments[slots >> 5] if self.kernel.knows_warps and segment.space != "local" else None,
        )

        def report(fault: str, bad: NDArray[np.bool_], earlier: int, thread: int, block: int) -> None:
            self._tell(fault, bad, earlier, thread, block, number, kind, place, each)

        if kind == "read":
            hazards.read(access, report)
        elif kind == "write":
            hazards.write(access, report, atomic=atomic, reads=reads)
        elif kind == "copy":
            hazards.begin_copies(access, report)
        else:
            hazards.end_copies(access)

    def _tell(
        self,
        fault: str,
        bad: NDArray[np.bool_],
        earlier: int,
        thread: int,
        block: int,
        number: int,
        kind: str,
        place: Place,
        each: int,
    ) -> None:
        instructions = self.kernel.instructions
        here = instructions[number]
        chosen: NDArray[np.bool_] = bad.reshape(-1, each).max(1) if each > 1 else bad
        name = place.segment.name
        verb = "reads" if kind == "read" else "writes"
        if fault == "unwritten":
            message = f"a thread reads {name} where nobody has written"
            self.report(fault, here, place.active, chosen, message, array=name)
            return
        before = instructions[earlier]
        other = "read" if before.name == "ld" else "wrote"
        if fault == "async":
            message = f"a thread reads {name} before the copy into it was waited for"
        else:
            whose = f"thread {self._thread_at(thread)}"
            if block >= 0:
                whose += f" of block {self._block_at(block)}"
            message = f"a thread {verb} the place in {name} that {whose} {other}, with no barrier between"
        self.report(fault, here, place.active, chosen, message, array=name, before=before)

    def _block_at(self, number: int) -> Index3:
        across, down, _ = self.grid
        return number % across, number // across % down, number // (across * down)

    def _thread_at(self, thread: int) -> Index3:
        width, height, _ = self.block
        return thread % width, thread // width % height, thread // (width * height)

    def report(
        self,
        kind: str,
        instruction: Instruction,
        active: Active,
        bad: NDArray[np.bool_],
        message: str,
        *,
        array: str = "",
        before: Instruction | None = None,
    ) -> None:
        """Report a fault of some threads."""
        slot = int(active.slots[np.flatnonzero(bad)[0]])
        lines = (instruction.line,) if before is None else (before.line, instruction.line)
        times = int(np.count_nonzero(bad))
        self.tell(kind, lines, message, slot // self.row, slot % self.row, array, times)

    def tell(
        self, kind: str, lines: Any, message: str, block: int, thread: int, array: str = "", times: int = 1
    ) -> None:
        """Report a fault of a thread, by the numbers of its block in the chunk and within the block."""
        x, y, z = map(int, self.blocks[block])
        self.findings.add(
            Finding(kind, tuple(lines), message, (x, y, z), self._thread_at(max(thread, 0)), array, times)
        )


def _distance(offset: int, segment: Segment) -> str:
    """Return how far outside an offset lies, in words."""
    if offset < 0:
        return f"{-offset} bytes before the beginning of {segment.name}"
    return f"{segment.name} {offset - segment.owner_bytes + 1} bytes or less past its end"

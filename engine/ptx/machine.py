"""The machine that a kernel runs on: its memory, where each access goes, what is checked and counted."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.ptx.active import WARP, Active, Numbers
from engine.ptx.counts import Counts
from engine.ptx.findings import Finding, Index3
from engine.ptx.hazards import Access, Hazards
from engine.ptx.kernel import Kernel
from engine.ptx.layout import Layout
from engine.ptx.memory import ARRAY_SHIFT, LOCAL_WINDOW, OUTSIDE_BYTE, SHARED_WINDOW, Array, Place, Segment
from engine.ptx.module import Instruction, SourceLine
from engine.ptx.types import Values

_SLOT_BYTES = 16
Chosen = NDArray[np.intp] | None


class Machine:
    """Memory and state of a launch, a chunk of its blocks at a time.

    `checks` and `counted` say whether accesses are checked, and requests counted.
    """

    def __init__(
        self,
        kernel: Kernel,
        grid: Index3,
        block: Index3,
        layout: Layout,
        counts: Counts,
        *,
        checks: bool,
        counted: bool,
    ) -> None:
        self.kernel, self.grid, self.block, self.layout = kernel, grid, block, layout
        self.checks, self.counted, self.counts = checks, counted, counts
        # Of one kind, array and pair of lines the first, with how often it came.
        self.findings: dict[tuple[object, ...], Finding] = {}
        self.moment = 1
        # Arrays that were written after reads that were not noted.
        self.needs_reads_of: set[str] = set()
        self.parameters, self.address_of = layout.parameters, layout.address_of
        self.shared_bytes, self.local_bytes = layout.shared_bytes, layout.local_bytes
        self.threads = block[0] * block[1] * block[2]
        self.row = -(-self.threads // WARP) * WARP  # how many slots of threads a block has
        # Where the accesses of a step went, where that is traced.
        self.seen: list[Place] | None = None
        # Of `accesses.PendingCopies`, from the first copy on.
        self.copies: Any = None

    def writer_of(self, array: Array, index: int) -> tuple[Index3, Index3, Instruction] | None:
        """Return the thread, block and instruction that last wrote a value; None where nobody did."""
        segment = self.layout.segment_of(array)
        place = index * array.values.itemsize >> segment.granule
        writer = None if segment.hazards is None else segment.hazards.writer_at(place)
        if writer is None:
            return None
        thread, block, number = writer
        return place_in(self.block, thread), place_in(self.grid, block), self.kernel.instructions[number]

    # Chunks.

    def begin_chunk(self, blocks: Sequence[Index3]) -> None:
        """Make shared and local memory for some blocks."""
        self.blocks = np.array(blocks, np.int64).reshape(-1, 3)
        across, down, _ = self.grid
        self._block_numbers = self.blocks @ np.array([1, across, across * down])
        slots = len(blocks) * self.row
        self.counts.begin_chunk(len(blocks), self.row)
        self._special: dict[str, Values] = {}
        self.moment += 1
        granule = self.kernel.shared_granule.bit_length() - 1
        self.shared = self._segment("shared", self.shared_bytes, len(blocks), SHARED_WINDOW, granule)
        self.local = self._segment("local", self.local_bytes, slots, LOCAL_WINDOW, 0)
        self.warp_moments = np.zeros(slots // WARP, np.int64)
        self.copies = None

    def _segment(self, space: str, size: int, owners: int, window: int, granule: int) -> Segment | None:
        if not size:
            return None
        stride = -(-size // _SLOT_BYTES) * _SLOT_BYTES
        data = np.full(stride * owners, OUTSIDE_BYTE, np.uint8)
        segment = Segment(f"{space} memory", space, data, window, size, stride, granule)
        if self.checks:
            is_shared = space == "shared"
            knows_warps = self.kernel.knows_warps and is_shared
            places = len(data) >> granule
            segment.hazards = Hazards(places, False, knows_warps, among_blocks=False, tracks_reads=is_shared)
        return segment

    def special(self, name: str, active: Active) -> Values:
        """Return a special register of threads: where each lies in its warp, block and grid."""
        found = self._special.get(name)
        if found is None:
            found = self._special[name] = np.asarray(self._special_of(name)).astype(np.uint32)[()]
        return found if found.ndim == 0 else found[active.slots]

    def _special_of(self, name: str) -> Any:
        """Return a special register of every slot, or a number where all have the same."""
        kind, _, axis = name[1:].partition(".")
        at, sides = "xyz".find(axis), {"ntid": self.block, "nctaid": self.grid}
        if kind in sides:
            return sides[kind][at]
        slots = np.arange(len(self.blocks) * self.row)
        thread = slots % self.row
        if kind == "ctaid":
            numbers = self.blocks[:, at]
            return numbers[0] if (numbers == numbers[0]).all() else numbers[slots // self.row]
        if kind == "tid":
            return place_in(self.block, thread)[at] if self.block[at] > 1 else 0
        lane = thread % WARP
        bit = np.int64(1) << lane
        return {
            "laneid": lane,
            "warpid": thread // WARP,
            "lanemask_eq": bit,
            "lanemask_lt": bit - 1,
            "lanemask_le": bit * 2 - 1,
            "lanemask_gt": ~(bit * 2 - 1),
            "lanemask_ge": ~(bit - 1),
            "nwarpid": self.row // WARP,
            "dynamic_smem_size": self.layout.dynamic_shared,
            "total_smem_size": self.shared_bytes,
        }[kind]

    # Where accesses go.

    def places(
        self, space: str, addresses: Values, size: int, active: Active, instruction: Instruction
    ) -> list[Place]:
        """Return where threads' accesses of `size` bytes go; what is not allowed is reported and left out."""
        if space in ("shared", "local"):
            segment = self.shared if space == "shared" else self.local
            return self._within(segment, addresses, size, active, instruction, None)
        segment = self._segment_at(int(addresses if addresses.ndim == 0 else addresses[0]))
        if segment is not None:
            offsets = addresses - np.uint64(segment.base)
            if offsets.ndim == 0:
                return self._within(segment, offsets, size, active, instruction, None)
            if int(offsets.max()) <= segment.owner_bytes - size:
                return [_placed(segment, offsets, active, None)]
        # Addresses of several arrays, or of none.
        if addresses.ndim == 0:
            addresses = np.full(active.count, addresses)
        numbers = (addresses + np.uint64(1 << ARRAY_SHIFT - 1)) >> np.uint64(ARRAY_SHIFT)
        found = []
        for number in np.unique(numbers):
            chosen = np.flatnonzero(numbers == number)
            segment = self._segment_at(int(addresses[chosen[0]]))
            offsets = addresses[chosen] - np.uint64(segment.base if segment is not None else 0)
            found += self._within(segment, offsets, size, active.some(chosen), instruction, chosen)
        return found

    def _segment_at(self, address: int) -> Segment | None:
        if address < SHARED_WINDOW:
            return self.layout.at(address)
        return self.shared if address < LOCAL_WINDOW else self.local

    def _within(
        self,
        segment: Segment | None,
        offsets: Values,
        size: int,
        active: Active,
        instruction: Instruction,
        chosen: Chosen,
    ) -> list[Place]:
        verb = {"st": "writes", "red": "writes", "ld": "reads"}.get(instruction.name, "accesses")
        if segment is None:
            message = f"a thread {verb} an address where no array is"
            self.report("outside", instruction, active, np.ones(active.count, bool), message)
            return []
        good = segment.contains(offsets, size)
        if not np.all(good):
            bad = np.broadcast_to(~good, (active.count,))
            offsets, left = np.broadcast_to(offsets, (active.count,)), np.flatnonzero(~bad)
            where = _distance(int(offsets[np.flatnonzero(bad)[0]].view(np.int64)), segment)
            self.report("outside", instruction, active, bad, f"a thread {verb} {where}", array=segment.name)
            if not len(left):
                return []
            chosen = left if chosen is None else chosen[left]
            offsets, active = offsets[left], active.some(left)
        return [_placed(segment, offsets, active, chosen)]

    # Checks.

    def check(
        self, kind: str, number: int, place: Place, size: int, *, atomic: bool = False, reads: bool = False
    ) -> None:
        """Check an access for races and reads of what nobody wrote: "read", "write", "copy" or "arrive"."""
        segment, active = place.segment, place.active
        hazards = segment.hazards
        if hazards is None:
            return
        if segment.space == "global" and not hazards.tracks_reads:
            segment.was_read |= kind == "read"
            if kind != "read" and segment.was_read:
                self.needs_reads_of.add(segment.name)
        if segment.space == "global" and kind != "read":
            self.layout.save(segment)
        flat = place.flat if place.flat.ndim else np.full(active.count, place.flat)
        each = max(1, size >> segment.granule)
        places, slots = flat >> segment.granule, active.slots
        if each > 1:
            places, slots = (places[:, None] + np.arange(each)).reshape(-1), np.repeat(slots, each)
        access = Access(
            number,
            places,
            slots % self.row + 1,
            self._block_numbers[slots // self.row],
            self.moment,
            self.warp_moments[slots >> 5] if self.kernel.knows_warps and segment.space != "local" else None,
        )

        here, name = self.kernel.instructions[number], segment.name

        def report(fault: str, bad: NDArray[np.bool_], earlier: int, thread: int, block: int) -> None:
            before = None if fault == "unwritten" else self.kernel.instructions[earlier]
            if before is None:
                message = f"a thread reads {name} where nobody has written"
            elif fault == "async":
                message = f"a thread reads {name} before the copy into it was waited for"
            else:
                verb, other = (
                    "reads" if kind == "read" else "writes",
                    "read" if before.name == "ld" else "wrote",
                )
                whose = f"thread {place_in(self.block, thread)}"
                whose += f" of block {place_in(self.grid, block)}" if block >= 0 else ""
                message = f"a thread {verb} the place in {name} that {whose} {other}, with no barrier between"
            chosen: NDArray[np.bool_] = bad.reshape(-1, each).max(1)
            self.report(fault, here, active, chosen, message, array=name, before=before)

        if kind == "read":
            hazards.read(access, report)
        elif kind == "write":
            hazards.write(access, report, atomic=atomic, reads=reads)
        elif kind == "copy":
            hazards.begin_copies(access, report)
        else:
            hazards.end_copies(access)

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
        self.tell(kind, lines, message, *divmod(slot, self.row), array, int(np.count_nonzero(bad)))

    def tell(
        self,
        kind: str,
        lines: tuple[SourceLine, ...],
        message: str,
        block: int,
        thread: int,
        array: str = "",
        times: int = 1,
    ) -> None:
        """Report a fault of a thread, by the numbers of its block in the chunk and within the block."""
        x, y, z = map(int, self.blocks[block])
        thread_at = place_in(self.block, max(thread, 0))
        found = Finding(kind, lines, message, (x, y, z), thread_at, array, times)
        if (known := self.findings.get(found.key)) is not None:
            found = replace(known, times=known.times + times)
        self.findings[found.key] = found


def place_in(sides: Index3, number: Numbers | int) -> Any:
    """Return where a block of a grid, or a thread of a block, lies, by its number."""
    across, down, _ = sides
    return number % across, number // across % down, number // (across * down)


def _placed(segment: Segment, offsets: Values, active: Active, chosen: Chosen) -> Place:
    flat = offsets.view(np.int64)
    if segment.stride:
        flat = (active.blocks if segment.space == "shared" else active.slots) * segment.stride + flat
    return Place(segment, offsets, flat, active, chosen)


def _distance(offset: int, segment: Segment) -> str:
    """Return how far outside an offset lies, in words."""
    if offset < 0:
        return f"{-offset} bytes before the beginning of {segment.name}"
    return f"{segment.name} {offset - segment.owner_bytes + 1} bytes or less past its end"

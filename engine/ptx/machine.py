"""The machine that a kernel runs on: its memory, where each access goes, what is checked and counted."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.ptx.active import WARP, Active, Numbers
from engine.ptx.counts import Counts
from engine.ptx.findings import Finding, Index3
from engine.ptx.hazards import ONE_MOMENT, Access, Fault, stamps_of
from engine.ptx.kernel import Kernel
from engine.ptx.layout import Layout
from engine.ptx.memory import (
    LOCAL_WINDOW,
    OUTSIDE_BYTE,
    SHARED_WINDOW,
    Array,
    PendingCopies,
    Place,
    Request,
    Segment,
)
from engine.ptx.module import Instruction, SourceLine
from engine.ptx.types import Values

_SLOT_BYTES = 16

OnAccess = Callable[[Request, Place], None]


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
        self.shared: Segment | None = None
        self.threads = block[0] * block[1] * block[2]
        self.row = -(-self.threads // WARP) * WARP  # how many slots of threads a block has
        # Called for each access, where somebody wants to know.
        self.on_access: OnAccess | None = None

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
        slots = len(blocks) * self.row
        self.blocks = np.array(blocks, np.int64).reshape(-1, 3)
        across, down, _ = self.grid
        numbers = self.blocks @ np.array([1, across, across * down])
        threads = np.arange(slots) % self.row
        self._stamps = stamps_of(self.moment, np.repeat(numbers, self.row), threads)
        self.counts.begin_chunk(len(blocks), self.row)
        self._special: dict[str, Values] = {}
        self.pass_barrier()
        granule = self.kernel.shared_granule
        self.shared = self._segment("shared", self.layout.shared_bytes, len(blocks), SHARED_WINDOW, granule)
        self.local = self._segment("local", self.layout.local_bytes, slots, LOCAL_WINDOW, 1)
        self.warp_moments = np.zeros(slots // WARP, np.int64)
        self.copies = PendingCopies(slots)

    def pass_barrier(self) -> None:
        """Note that what comes now lies behind a barrier of all that was before."""
        self.moment += 1
        self._stamps += ONE_MOMENT
        for segment in (self.shared, *self.layout.segments):
            if segment is not None and segment.hazards is not None:
                segment.hazards.begin_interval()

    def _segment(self, space: str, size: int, owners: int, window: int, granule: int) -> Segment | None:
        if not size:
            return None
        stride = -(-size // _SLOT_BYTES) * _SLOT_BYTES
        data = np.full(stride * owners, OUTSIDE_BYTE, np.uint8)
        segment = Segment(f"{space} memory", space, data, window, size, stride)
        if self.checks:
            segment.watch(granule, tracks_reads=space == "shared")
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
            "total_smem_size": self.layout.shared_bytes,
        }[kind]

    # Checks.

    def check(self, asked: Request, place: Place) -> None:
        """Check an access for races and reads of what nobody wrote."""
        segment, slots = place.segment, place.active.slots
        if segment.hazards is None or asked.size % (1 << segment.granule):
            return
        places = np.broadcast_to(place.flat, slots.shape) >> segment.granule
        each = max(1, asked.size >> segment.granule)
        if each > 1:
            places, slots = (places[:, None] + np.arange(each)).reshape(-1), np.repeat(slots, each)
        knows_warps = self.kernel.knows_warps and segment.space != "local"
        access = Access(
            asked.instruction.number,
            places,
            self._stamps[slots],
            self.moment,
            self.warp_moments[slots >> 5] if knows_warps else None,
        )
        for fault in segment.hazards.note(asked.effect, access):
            before = self.kernel.instructions[fault.earlier] if fault.earlier >= 0 else None
            bad = place.active.slots[fault.bad.reshape(-1, each).max(1)]
            message = self._message(fault, asked.effect, segment.name, before)
            lines = (*((before.line,) if before is not None else ()), asked.instruction.line)
            self.report(fault.kind, lines, bad, message, segment.name)

    def _message(self, fault: Fault, effect: str, name: str, before: Instruction | None) -> str:
        if before is None:
            return f"a thread reads {name} where nobody has written"
        if fault.kind == "async":
            return f"a thread reads {name} before the copy into it was waited for"
        verb, other = "reads" if effect == "read" else "writes", "read" if before.name == "ld" else "wrote"
        whose = f"thread {place_in(self.block, fault.thread)}"
        whose += f" of block {place_in(self.grid, fault.block)}" if fault.block >= 0 else ""
        return f"a thread {verb} the place in {name} that {whose} {other}, with no barrier between"

    def report(
        self, kind: str, lines: tuple[SourceLine, ...], slots: Numbers, message: str, array: str = ""
    ) -> None:
        """Report a fault of some threads."""
        block, thread = divmod(int(slots[0]), self.row)
        x, y, z = map(int, self.blocks[block])
        found = Finding(kind, lines, message, (x, y, z), place_in(self.block, thread), array, len(slots))
        if (known := self.findings.get(found.key)) is not None:
            found = replace(known, times=known.times + found.times)
        self.findings[found.key] = found


def place_in(sides: Index3, number: Numbers | int) -> Any:
    """Return where a block of a grid, or a thread of a block, lies, by its number."""
    across, down, _ = sides
    return number % across, number // across % down, number // (across * down)

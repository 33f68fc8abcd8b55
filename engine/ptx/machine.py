"""The machine that a kernel runs on: its memory, where each access goes, what is checked and counted."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.ptx.active import WARP, Active, Numbers
from engine.ptx.counts import Counts
from engine.ptx.findings import Finding, Index3
from engine.ptx.hazards import ONE_MOMENT, Access, Flags, stamps_of
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

Observer = Callable[[Request, Place], None]


class Machine:
    """Memory and state of a launch, a chunk of its blocks at a time.

    `checks` says whether accesses are checked. `observers` are called for each access before it is made.
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
    ) -> None:
        self.kernel, self.grid, self.block, self.layout = kernel, grid, block, layout
        self.checks, self.counts = checks, counts
        self.observers: list[Observer] = []
        # Of one kind, array and pair of lines the first.
        self.findings: dict[tuple[object, ...], Finding] = {}
        self.moment = 1
        self.shared: Segment | None = None
        self.threads = block[0] * block[1] * block[2]
        self.row = -(-self.threads // WARP) * WARP  # how many slots of threads a block has

    def writer_of(self, array: Array, index: int) -> tuple[Index3, Index3, Instruction] | None:
        """Return the thread, block and instruction that last wrote a value; None where nobody did."""
        segment = next(one for one in self.layout.segments if one.array is array.values)
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
            register, _, axis = name.partition(".")
            every = np.asarray(SPECIAL[register](self, np.arange(len(self.blocks) * self.row)))
            own = every["xyz".index(axis)] if axis else every
            # A number where all have the same.
            found = self._special[name] = (own.flat[0] if (own == own.flat[0]).all() else own).astype(
                np.uint32
            )
        return found if found.ndim == 0 else found[active.slots]

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

        def report(kind: str, bad: Flags, number: int, thread: int, block: int) -> None:
            before = self.kernel.instructions[number] if number >= 0 else None
            lines = (*((before.line,) if before is not None else ()), asked.instruction.line)
            if before is None:
                message = f"a thread reads {segment.name} where nobody has written"
            elif kind == "async":
                message = f"a thread reads {segment.name} before the copy into it was waited for"
            else:
                verb = "reads" if asked.effect == "read" else "writes"
                whose = f"thread {place_in(self.block, thread)}"
                whose += f" of block {place_in(self.grid, block)}" if block >= 0 else ""
                whose += f" {'read' if before.name == 'ld' else 'wrote'}, with no barrier between"
                message = f"a thread {verb} the place in {segment.name} that {whose}"
            self.report(kind, lines, place.active.slots[bad.argmax() // each], message, segment.name)

        segment.hazards.note(asked.effect, access, report)

    def report(
        self, kind: str, lines: tuple[SourceLine, ...], slot: int, message: str, array: str = ""
    ) -> None:
        """Report a fault of the thread in a slot."""
        block, thread = divmod(int(slot), self.row)
        x, y, z = map(int, self.blocks[block])
        found = Finding(kind, lines, message, (x, y, z), place_in(self.block, thread), array)
        self.findings.setdefault((kind, frozenset(lines), array), found)


def _lane_bit(slots: Numbers) -> Numbers:
    bit: Numbers = np.int64(1) << slots % WARP
    return bit


# Clocks and the device's own numbers are none of a kernel's result.
SPECIAL: dict[str, Callable[[Machine, Numbers], Any]] = {
    "%tid": lambda machine, slots: np.broadcast_arrays(*place_in(machine.block, slots % machine.row)),
    "%ntid": lambda machine, slots: machine.block,
    "%ctaid": lambda machine, slots: machine.blocks.T[:, slots // machine.row],
    "%nctaid": lambda machine, slots: machine.grid,
    "%laneid": lambda machine, slots: slots % WARP,
    "%warpid": lambda machine, slots: slots % machine.row // WARP,
    "%nwarpid": lambda machine, slots: machine.row // WARP,
    "%lanemask_eq": lambda machine, slots: _lane_bit(slots),
    "%lanemask_lt": lambda machine, slots: _lane_bit(slots) - 1,
    "%lanemask_le": lambda machine, slots: 2 * _lane_bit(slots) - 1,
    "%lanemask_gt": lambda machine, slots: ~(2 * _lane_bit(slots) - 1),
    "%lanemask_ge": lambda machine, slots: ~(_lane_bit(slots) - 1),
    "%dynamic_smem_size": lambda machine, slots: machine.layout.dynamic_shared,
    "%total_smem_size": lambda machine, slots: machine.layout.shared_bytes,
}


def place_in(sides: Index3, number: Numbers | int) -> Any:
    """Return where a block of a grid, or a thread of a block, lies, by its number."""
    across, down, _ = sides
    return number % across, number // across % down, number // (across * down)

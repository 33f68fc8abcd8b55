"""The machine that a kernel runs on: its memory, where each access goes, what is checked and counted."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.ptx.active import WARP, Active
from engine.ptx.counts import Counts
from engine.ptx.errors import PtxError
from engine.ptx.findings import Finding, Findings, Index3
from engine.ptx.hazards import Access, Hazards
from engine.ptx.inline import local_memory
from engine.ptx.kernel import KernelFacts
from engine.ptx.memory import (
    LOCAL_WINDOW,
    OUTSIDE_BYTE,
    SHARED_WINDOW,
    Array,
    GlobalMemory,
    Place,
    Segment,
)
from engine.ptx.module import Instruction, Variable
from engine.ptx.pending_copies import PendingCopies
from engine.ptx.types import DTYPES, Values

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
        tracked: set[str],
    ) -> None:
        self.kernel, self.grid, self.block = kernel, grid, block
        self.checks, self.counted = checks, counted
        self.findings, self.counts = Findings(), Counts(kernel.instructions)
        self.moment = 1
        self.needs_reads_of: set[str] = set()
        self._tracked = tracked
        self._saved: dict[str, NDArray[np.uint8]] = {}
        self.memory = GlobalMemory()
        self._dynamic_shared = dynamic_shared
        self.parameters = self._parameters(arguments)
        self._addresses = self._lay_out(constants)
        self.row, self.blocks = WARP, np.zeros((1, 3), np.int64)
        self.shared: Segment | None = None
        self.local: Segment | None = None
        self.warp_moments = np.zeros(1, np.int64)
        self.copies: PendingCopies | None = None

    # What a launch is given.

    def _parameters(self, arguments: Sequence[Any]) -> dict[str, tuple[int, Any]]:
        function = self.kernel.function
        if len(arguments) != len(function.parameters):
            why = f"it takes {len(function.parameters)} arguments, not {len(arguments)}"
            raise PtxError(f"a launch of {function.name}", why)
        self._arrays: dict[int, Segment] = {}
        self._itemsizes: dict[str, int] = {}
        found = {}
        pairs = zip(function.parameters, function.parameter_types, arguments, strict=True)
        for number, (variable, kind, argument) in enumerate(pairs):
            dtype = DTYPES[kind]
            if isinstance(argument, Array):
                if id(argument.values) not in self._arrays:
                    segment = self.memory.add(argument.name, argument.values)
                    self._arrays[id(argument.values)] = segment
                    self._itemsizes[argument.name] = argument.values.itemsize
                    self._watch(segment, argument)
                argument = self._arrays[id(argument.values)].base
            if isinstance(argument, bytes):
                data = np.frombuffer(argument.ljust(variable.size, b"\0"), np.uint8)
            else:
                data = np.atleast_1d(np.array(argument).astype(dtype)).view(np.uint8)
            found[variable.name] = (number, data)
        return found

    def _watch(self, segment: Segment, array: Array) -> None:
        if self.checks:
            itemsize = min(array.values.itemsize, self.kernel.global_granule, 4)
            segment.granule = itemsize.bit_length() - 1
            segment.hazards = Hazards(
                len(segment.data) >> segment.granule,
                is_written=not array.is_output,
                knows_warps=self.kernel.knows_warps,
                among_blocks=True,
            )
            segment.hazards.tracks_reads = segment.name in self._tracked

    def _lay_out(self, constants: Mapping[str, np.ndarray]) -> dict[str, int]:
        """Return the address of each variable; shared and local ones count from the window's beginning."""
        addresses: dict[str, int] = {}
        shared = 0
        variables = self.kernel.variables
        dynamic = []
        for name, one in variables.items():
            if one.space == "shared" and one.extern and not one.size:
                dynamic.append(one)
            elif one.space == "shared":
                shared = -(-shared // one.alignment) * one.alignment
                addresses[name] = shared
                shared += one.size
            elif one.space in ("const", "global"):
                addresses[name] = self.memory.add(name, _contents(one, constants.get(name)), one.space).base
        for one in dynamic:
            shared = -(-shared // max(16, one.alignment)) * max(16, one.alignment)
        addresses |= {one.name: shared for one in dynamic}
        self.shared_bytes = shared + self._dynamic_shared
        local = 0
        for name, one in local_memory(self.kernel.function).items():
            local = -(-local // one.alignment) * one.alignment
            addresses[name] = local
            local += one.size
        self.local_bytes = local
        return addresses

    def address_of(self, name: str) -> int:
        """Return the address of a variable."""
        try:
            return self._addresses[name]
        except KeyError:
            raise PtxError(f"the address of {name}", "a parameter's own address is not known") from None

    def restore(self) -> None:
        """Give arrays back what they held before the launch."""
        for segment in self.memory.segments:
            if segment.name in self._saved:
                segment.data[:] = self._saved[segment.name]

    def written(self, array: Array) -> NDArray[np.bool_]:
        """Return which values of an array were written, for one that is an output."""
        segment = self._arrays[id(array.values)]
        hazards = segment.hazards
        if hazards is None or hazards.written is None:
            raise ValueError(f"{array.name} is no output that was checked")
        each = array.values.itemsize >> segment.granule
        found: NDArray[np.bool_] = hazards.written.reshape(-1, each).min(1).reshape(array.values.shape)
        return found

    def writer_of(self, array: Array, index: int) -> tuple[Index3, Index3, Instruction] | None:
        """Return the thread, block and instruction that last wrote a value; None where nobody did."""
        segment = self._arrays[id(array.values)]
        place = index * array.values.itemsize >> segment.granule
        writer = None if segment.hazards is None else segment.hazards.writer_at(place)
        if writer is None:
            return None
        thread, block, number = writer
        across, down, _ = self.grid
        where = block % across, block // across % down, block // (across * down)
        return self._thread_at(thread), where, self.kernel.instructions[number]

    def itemsize_of(self, name: str) -> int:
        """Return the bytes of a value of an array that the kernel was launched with."""
        return self._itemsizes[name]

    # Chunks and barriers.

    def begin_chunk(self, blocks: list[Index3], row: int) -> None:
        """Make shared and local memory for some blocks; `row` is how many slots of threads each has."""
        self.row, self.blocks = row, np.array(blocks, np.int64).reshape(-1, 3)
        across, down, _ = self.grid
        self._block_numbers = self.blocks @ np.array([1, across, across * down])
        count = len(blocks)
        self._special: dict[str, Values] = {}
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

    def release(self, waiting: Mapping[int, list[Active]]) -> None:
        """Let the threads that wait at barriers go on, and say where some of a block do not come."""
        threads = self.block[0] * self.block[1] * self.block[2]
        total = np.zeros(len(self.blocks), np.int64)
        barrier_of = np.full(len(self.blocks), -1)
        for number, groups in waiting.items():
            end = self.kernel.flow.blocks[number - 1].end
            assert end is not None
            for active in groups:
                self.counts.barriers += active.warps
                here = np.bincount(active.blocks, minlength=len(total))
                # Of a part of the block: its number of threads is the barrier's second operand.
                is_partial = len(end.operands) > 1
                total += threads if is_partial else here
                if self.checks and not is_partial:
                    self._meet(end, here, barrier_of, number)
        if self.checks:
            self._missing(waiting, total, threads)
        self.moment += 1
        for segment in (self.shared, *self.memory.segments):
            if segment is not None and segment.hazards is not None:
                segment.hazards.begin_interval()

    def _meet(self, end: Instruction, here: NDArray[Any], barrier_of: NDArray[Any], number: int) -> None:
        """Report blocks whose threads wait at barriers of different lines."""
        blocks = self.kernel.flow.blocks
        for block in np.flatnonzero(here):
            other = barrier_of[block]
            if other >= 0:
                first = blocks[other - 1].end
                assert first is not None
                if first.line != end.line:
                    message = "threads of one block wait at two different barriers"
                    self._report("barrier", (first.line, end.line), message, int(block), -1)
            barrier_of[block] = number

    def _missing(self, waiting: Mapping[int, list[Active]], total: NDArray[Any], threads: int) -> None:
        for block in np.flatnonzero((total > 0) & (total < threads)):
            for number, groups in waiting.items():
                end = self.kernel.flow.blocks[number - 1].end
                slots = np.concatenate([one.slots[one.blocks == block] for one in groups])
                if end is None or not len(slots):
                    continue
                absent = np.setdiff1d(np.arange(threads), slots - block * self.row)
                message = (
                    f"{threads - int(total[block])} of {threads} threads of a block never come to the barrier"
                )
                self._report("barrier", (end.line,), message, int(block), int(absent[0]))
                break

    # Special registers.

    def special(self, name: str, active: Active) -> Values:
        """Return a special register of threads."""
        found = self._special.get(name)
        if found is None:
            found = self._special[name] = self._all_of(name)
        return found if found.ndim == 0 else found[active.slots]

    def _all_of(self, name: str) -> Values:
        """Return a special register of every slot, or a scalar where all have the same."""
        kind, _, axis = name[1:].partition(".")
        u32 = np.uint32
        at = "xyz".find(axis)
        if kind == "ntid":
            return u32(self.block[at])
        if kind == "nctaid":
            return u32(self.grid[at])
        slots = np.arange(len(self.blocks) * self.row)
        thread = slots % self.row
        if kind == "ctaid":
            numbers = self.blocks[:, at]
            same = (numbers == numbers[0]).all()
            return u32(numbers[0]) if same else numbers.astype(u32)[slots // self.row]
        if kind == "tid":
            width, height, _ = self.block
            if self.block[at] == 1:
                return u32(0)
            return ((thread, thread // width, thread // (width * height))[at] % self.block[at]).astype(u32)
        lane = thread % WARP
        one = np.uint64(1)
        bit = one << lane.astype(np.uint64)
        of_lane = {
            "laneid": lane,
            "warpid": thread // WARP,
            "lanemask_eq": bit,
            "lanemask_lt": bit - one,
            "lanemask_le": bit * np.uint64(2) - one,
            "lanemask_gt": ~(bit * np.uint64(2) - one),
            "lanemask_ge": ~(bit - one),
        }
        if kind in of_lane:
            return of_lane[kind].astype(u32)
        if kind == "nwarpid":
            return u32(self.row // WARP)
        return u32(self._dynamic_shared if kind == "dynamic_smem_size" else self.shared_bytes)

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
                self._save(segment)
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

    def _save(self, segment: Segment) -> None:
        if segment.name not in self._saved:
            self._saved[segment.name] = segment.data.copy()

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
        self._report(kind, lines, message, slot // self.row, slot % self.row, array, times)

    def _report(
        self, kind: str, lines: Any, message: str, block: int, thread: int, array: str = "", times: int = 1
    ) -> None:
        x, y, z = map(int, self.blocks[block])
        self.findings.add(
            Finding(kind, tuple(lines), message, (x, y, z), self._thread_at(max(thread, 0)), array, times)
        )


def _contents(variable: Variable, given: np.ndarray | None) -> np.ndarray:
    """Return what a variable in global or constant memory holds at first."""
    if given is not None:
        return np.ascontiguousarray(given)
    found = np.zeros(max(variable.size, 1), np.uint8)
    found[: len(variable.contents)] = np.frombuffer(variable.contents, np.uint8)
    return found


def _distance(offset: int, segment: Segment) -> str:
    """Return how far outside an offset lies, in words."""
    if offset < 0:
        return f"{-offset} bytes before the beginning of {segment.name}"
    return f"{segment.name} {offset - segment.owner_bytes + 1} bytes or less past its end"

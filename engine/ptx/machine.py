"""The machine that a kernel runs on, the threads that are at one place, and what operands are for them.

A chunk of a kernel's blocks has shared and local memory at a time. A register holds an array with a value for
each thread, or one NumPy scalar where all have the same: what comes of parameters alone is computed once.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.ptx.arithmetic import U32, U64, Values, as_type, extended
from engine.ptx.counts import Counts
from engine.ptx.kernel import PtxKernel, written_parameters
from engine.ptx.memory import (
    ARRAY_SHIFT,
    LOCAL_WINDOW,
    MOST_BLOCKS,
    ONE_BLOCK,
    ONE_MOMENT,
    OUTSIDE_BYTE,
    SHARED_WINDOW,
    WARP,
    Access,
    Active,
    Array,
    Marks,
    Numbers,
    Segment,
    refuse_more,
)
from engine.ptx.module import Instruction, InstructionSource, PtxError, Variable, address_of, literal

Index3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault of a kernel.

    `kind` is "race", "outside", "unwritten", "barrier", "misaligned" or "async" (docs/interpreter.md); of the
    judge also "wrong" and "refused". `block` and `thread` are (x, y, z) of the first thread that was seen.
    """

    kind: str
    lines: tuple[InstructionSource, ...]  # of a race those of both accesses, the earlier first
    message: str  # a sentence without the lines
    block: Index3 = (0, 0, 0)
    thread: Index3 = (0, 0, 0)
    array: str = ""  # as the kernel or its caller names it; empty where there is none

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of its lines within the kernel's own file, where they are known."""
        return tuple(sorted({one.own.line for one in self.lines if one.line}))

    @property
    def line(self) -> int:
        """The number of the line at fault within the kernel's own file, 0 where no line is known."""
        return self.lines[-1].own.line if self.lines else 0

    def __str__(self) -> str:
        if not self.numbers:
            return self.message
        return f"line{'s' * (len(self.numbers) > 1)} {' and '.join(map(str, self.numbers))}: {self.message}"


_SLOT_BYTES = 16
# Declared and dynamic, of a block on any device (CUDA C++ Programming Guide, "Compute Capabilities").
MOST_SHARED = 227 * 1024

Observer = Callable[[Access], None]


class Machine:
    """Memory and state of a launch.

    `checks` says whether accesses are checked. `observers` are called for each access before it is made.
    """

    def __init__(
        self,
        kernel: PtxKernel,
        grid: Index3,
        block: Index3,
        arguments: Sequence[object],
        constants: Mapping[str, np.ndarray],
        dynamic_shared: int,
        counts: Counts,
        *,
        checks: bool,
    ) -> None:
        self.kernel, self.grid, self.block, self.checks, self.counts = kernel, grid, block, checks, counts
        self.observers: list[Observer] = []
        # Of one kind, array and pair of lines the first.
        self.findings: dict[tuple[object, ...], Finding] = {}
        self.moment = 1
        self.threads = block[0] * block[1] * block[2]
        self.row = -(-self.threads // WARP) * WARP  # how many slots of threads a block has
        self.shared: Segment | None = None
        self.dynamic_shared, self.shared_bytes = dynamic_shared, kernel.shared_bytes + dynamic_shared
        refuse_more(self.shared_bytes, MOST_SHARED, "of shared memory")
        if len(arguments) != len(kernel.parameters):
            why = f"it takes {len(kernel.parameters)} arguments, not {len(arguments)}"
            raise PtxError(f"a launch of {kernel.name}", why)
        self.segments: list[Segment] = []
        for one in kernel.statics:
            contents = constants.get(one.name)
            if contents is None:
                contents = np.zeros(max(one.size, 1), np.uint8)
                contents[: len(one.contents)] = np.frombuffer(one.contents, np.uint8)
            segment = self._add(one.name, np.ascontiguousarray(contents), one.space)
            if one.space == "global" and checks:
                # As aligned as its granule, so that every place lies whole within it.
                size = len(segment.data)
                segment.watch(min(size & -size, kernel.granules["global"]), is_written=True)
        pairs = [*zip(kernel.parameters, arguments, strict=True)]
        names = written_parameters(kernel) if checks else ()
        written = {id(one.values) for to, one in pairs if to.name in names and isinstance(one, Array)}
        parameters = {one.name: self._bytes_of(one, argument, written) for one, argument in pairs}
        self.registers: list[Values] = [*kernel.zeros]
        """What every thread begins with."""
        for number, (name, offset) in kernel.passed.items():
            if name in parameters:
                dtype = kernel.zeros[number].dtype
                self.registers[number] = parameters[name][offset : offset + dtype.itemsize].view(dtype)[0]

    def _bytes_of(self, variable: Variable, argument: object, written: set[int]) -> np.ndarray:
        # With zeros behind; an array is taken in.
        if isinstance(argument, Array):
            values = argument.values
            memory = values if argument.around is None else argument.around
            segment = next((one for one in self.segments if one.array is values), None)
            if segment is None:
                segment = self._add(argument.name, memory)
                segment.array = values
                if self.checks:
                    granule = min(values.itemsize, self.kernel.granules["global"])
                    tracks_reads = id(values) in written
                    segment.watch(granule, is_written=not argument.is_output, tracks_reads=tracks_reads)
            argument = segment.base + values.ctypes.data - memory.ctypes.data
        return np.append(np.array(argument).astype(variable.dtype), variable.dtype.type(0)).view(np.uint8)

    def _add(self, name: str, values: np.ndarray, space: str = "global") -> Segment:
        data, base = values.reshape(-1).view(np.uint8), (len(self.segments) + 1) << ARRAY_SHIFT
        self.segments.append(Segment(name, space, data, base, len(data)))
        return self.segments[-1]

    def writer_of(self, array: Array, index: int) -> tuple[Index3, Index3, Instruction] | None:
        """Return the thread, block and instruction that last wrote a value; None if none did."""
        segment = next(one for one in self.segments if one.array is array.values)
        place = index * array.values.itemsize >> segment.granule
        if segment.hazards is None or (writer := segment.hazards.writer_at(place)) is None:
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
        stamps = np.repeat((numbers & MOST_BLOCKS) * ONE_BLOCK, self.row) + self.moment * ONE_MOMENT
        self._stamps = stamps + np.arange(slots) % self.row + 1
        self.counts.begin_chunk(len(blocks), self.row)
        self._special: dict[str, Values] = {}
        self.pass_barrier()
        self.shared = self._segment("shared", self.shared_bytes, len(blocks), SHARED_WINDOW)
        self.local = self._segment("local", self.kernel.local_bytes, slots, LOCAL_WINDOW)
        self.warp_moments = np.zeros(slots // WARP, np.int64)
        self.closed = np.zeros(slots, np.int64)  # groups of copies, of each thread

    def pass_barrier(self) -> None:
        """Note that what comes now lies behind a barrier of all that was before."""
        self.moment += 1
        self._stamps += ONE_MOMENT
        for segment in (self.shared, *self.segments):
            if segment is not None and segment.hazards is not None:
                segment.hazards.begin_interval()

    def _segment(self, space: str, size: int, owners: int, window: int) -> Segment | None:
        if not size:
            return None
        stride = -(-size // _SLOT_BYTES) * _SLOT_BYTES
        data = np.full(stride * owners, OUTSIDE_BYTE, np.uint8)
        segment = Segment(f"{space} memory", space, data, window, size, stride)
        if self.checks:
            segment.watch(self.kernel.granules[space], tracks_reads=space == "shared")
        return segment

    def special(self, name: str, active: Active) -> Values:
        """Return a special register of threads: where each lies in its warp, block and grid."""
        if name not in self._special:
            register, _, axis = name.partition(".")
            every = np.asarray(SPECIAL[register](self, np.arange(len(self.blocks) * self.row)))
            own = every["xyz".index(axis)] if axis else every
            # A number where all have the same.
            self._special[name] = (own.flat[0] if (own == own.flat[0]).all() else own).astype(np.uint32)
        numbers = self._special[name]
        return numbers if numbers.ndim == 0 else numbers[active.slots]

    # Accesses.

    def note(self, access: Access) -> None:
        """Check an access, and tell it to who observes."""
        size, segment, offsets = access.size, access.segment, access.offsets
        # A copy may take less than what is aligned.
        past = np.uint64(0 if size & (size - 1) else size - 1)
        if past and np.bitwise_or.reduce(offsets, axis=None) & past:
            slot = access.active.slots[np.argmax(offsets & past != 0)]
            message = f"a thread accesses {size} bytes of {segment.name} at an address that is no multiple of"
            self.report("misaligned", (access.instruction.line,), slot, f"{message} {size}", segment.name)
        if segment.hazards is not None and not size % (1 << segment.granule):
            self._check(access)
        for observe in self.observers:
            observe(access)

    def _check(self, access: Access) -> None:
        segment, slots, instruction = access.segment, access.active.slots, access.instruction
        assert segment.hazards is not None
        places = access.flat >> segment.granule
        if places.ndim == 0:
            places = places.repeat(len(slots))
        each = max(1, access.size >> segment.granule)
        if each > 1:
            places, slots = (places[:, None] + np.arange(each)).reshape(-1), np.repeat(slots, each)
        knows_warps = self.kernel.knows_warps and segment.space != "local"
        warps = self.warp_moments[slots >> 5] if knows_warps else None
        marks = Marks(instruction.number, places, self._stamps[slots], self.moment, warps)

        for kind, bad, number, thread, block in segment.hazards.note(access.effect, marks):
            lines: tuple[InstructionSource, ...] = (instruction.line,)
            message = f"a thread reads {segment.name} that is not written yet"
            if number >= 0:
                before = self.kernel.instructions[number]
                lines = before.line, instruction.line
                verb = "reads" if access.effect == "read" else "writes"
                whose = f"thread {place_in(self.block, thread)}"
                whose += f" of block {place_in(self.grid, block)}" if block >= 0 else ""
                whose += f" {'read' if before.name == 'ld' else 'wrote'}, with no barrier between"
                message = f"a thread {verb} the place in {segment.name} that {whose}"
                if kind == "async":
                    message = f"a thread reads {segment.name} before the copy into it was waited for"
            self.report(kind, lines, access.active.slots[bad.argmax() // each], message, segment.name)
        if access.effect == "copy":
            segment.hazards.begin_copies(places, self.closed[slots], slots)

    def wait_for_copies(self, active: Active, left: int) -> None:
        """Let threads wait until at most `left` of the groups that each has closed are left; below 0: all."""
        if self.shared is not None and self.shared.hazards is not None:
            come = np.full(len(self.closed), -1, np.int64)
            come[active.slots] = self.closed[active.slots] - left
            every = np.arange(len(come))
            warps = self.warp_moments[every >> 5] if self.kernel.knows_warps else None
            marks = Marks(-1, every, self._stamps, self.moment, warps)
            self.shared.hazards.end_copies(come, marks)

    def report(
        self, kind: str, lines: tuple[InstructionSource, ...], slot: int, message: str, array: str = ""
    ) -> None:
        """Report a fault of the thread in a slot."""
        block, thread = divmod(int(slot), self.row)
        x, y, z = map(int, self.blocks[block])
        finding = Finding(kind, lines, message, (x, y, z), place_in(self.block, thread), array)
        self.findings.setdefault((kind, frozenset(lines), array), finding)


_LANE_BITS = np.int64(1) << np.arange(WARP)
# Clocks and the device's own numbers are none of a kernel's result.
SPECIAL: dict[str, Callable[[Machine, Numbers], Any]] = {
    "%tid": lambda machine, slots: np.broadcast_arrays(*place_in(machine.block, slots % machine.row)),
    "%ntid": lambda machine, slots: machine.block,
    "%ctaid": lambda machine, slots: machine.blocks.T[:, slots // machine.row],
    "%nctaid": lambda machine, slots: machine.grid,
    "%laneid": lambda machine, slots: slots % WARP,
    "%warpid": lambda machine, slots: slots % machine.row // WARP,
    "%nwarpid": lambda machine, slots: machine.row // WARP,
    "%lanemask_eq": lambda machine, slots: _LANE_BITS[slots % WARP],
    "%lanemask_lt": lambda machine, slots: _LANE_BITS[slots % WARP] - 1,
    "%lanemask_le": lambda machine, slots: 2 * _LANE_BITS[slots % WARP] - 1,
    "%lanemask_gt": lambda machine, slots: ~(2 * _LANE_BITS[slots % WARP] - 1),
    "%lanemask_ge": lambda machine, slots: ~(_LANE_BITS[slots % WARP] - 1),
    "%dynamic_smem_size": lambda machine, slots: machine.dynamic_shared,
    "%total_smem_size": lambda machine, slots: machine.shared_bytes,
}


def place_in(sides: Index3, number: Numbers | int) -> Any:
    """Return where a block of a grid, or a thread of a block, lies, by its number."""
    across, down, _ = sides
    return number % across, number // across % down, number // (across * down)


class Group:
    """Threads at one place, their registers, and the machine that they run on."""

    __slots__ = ("active", "machine", "values")

    def __init__(self, machine: Machine, active: Active, values: list[Any]) -> None:
        self.machine, self.active, self.values = machine, active, values

    def some(self, at: NDArray[np.intp], registers: Collection[int]) -> "Group":
        """Return the threads at some places, with these of their registers."""
        values = list(self.machine.kernel.zeros)
        for number in registers:
            value = self.values[number]
            values[number] = value if value.ndim == 0 else value.take(at)
        return Group(self.machine, self.active.some(at), values)

    def put(self, registers: Iterable[int], values: Iterable[Values]) -> None:
        """Give registers values, widened to what these hold."""
        zeros = self.machine.kernel.zeros
        for number, value in zip(registers, values, strict=False):
            self.values[number] = extended(value, zeros[number].itemsize)


Step = Callable[[Group], None]
"""What one instruction does."""


def joined(groups: list[Group], registers: Collection[int], known: dict[int, Active]) -> Group:
    """Return several groups at one place as one; `known` has threads that were together, by their number."""
    if len(groups) == 1:
        return groups[0]
    machine = groups[0].machine
    slots = np.concatenate([one.active.slots for one in groups])
    order = np.argsort(slots, kind="stable")
    slots = slots[order]
    active = known.get(len(slots))
    if active is None or not np.array_equal(active.slots, slots):
        active = known[len(slots)] = Active(slots, machine.row)
    values = list(machine.kernel.zeros)
    for number in registers:
        values[number] = _joined([one.values[number] for one in groups], groups, order)
    return Group(machine, active, values)


def _joined(parts: list[Any], groups: list[Group], order: NDArray[np.intp]) -> Any:
    # A scalar where all agree.
    first = parts[0]
    alike = [as_type(one, first.dtype) for one in parts]
    if first.ndim == 0:
        own = first.tobytes()
        if all(one is first or (one.ndim == 0 and one.tobytes() == own) for one in alike):
            return first
    # `broadcast_to` takes 10 us more of small groups, and an index twice as long as `take`.
    whole = [
        one if one.ndim else one.repeat(group.active.count) for one, group in zip(alike, groups, strict=True)
    ]
    return np.concatenate(whole).take(order)


Source = Callable[[Group], Values]
_OF_THREE = "%tid", "%ntid", "%ctaid", "%nctaid"


def registers_of(kernel: PtxKernel, names: list[str]) -> list[int]:
    """Return the numbers of registers that are written."""
    if missing := [name for name in names if name not in kernel.registers]:
        raise PtxError(f"the operand {missing[0]}", "it is no register")
    return [kernel.registers[name] for name in names]


def source_of(kernel: PtxKernel, text: str, dtype: np.dtype) -> Source:
    """Return where an operand's values come from, read as a type."""
    if text.startswith("!"):
        own = source_of(kernel, text[1:].strip(), dtype)
        return lambda group: ~own(group)
    if text in kernel.registers:
        at = kernel.registers[text]

        def value(group: Group) -> Values:
            values = group.values[at]
            return values if values.dtype is dtype else as_type(values, dtype)

        return value
    register, _, axis = text.partition(".")
    if register in SPECIAL and axis in (("x", "y", "z") if register in _OF_THREE else ("",)):
        return lambda group: as_type(group.machine.special(text, group.active), dtype)
    if text.startswith("%"):
        raise PtxError(f"the special register {text}", "its value is not the kernel's to use")
    symbol, _, shift = text.partition("+")
    if symbol in kernel.addresses:
        constant = np.uint64(kernel.addresses[symbol] + int(shift or "0", 0)).astype(dtype)
    else:
        constant = dtype.type(WARP) if text == "WARP_SZ" else literal(text, dtype)
    return lambda group: constant


def address_source(kernel: PtxKernel, text: str) -> Source:
    """Return where an address comes from, as uint64."""
    name, by = address_of(text)
    # Within a register of 32 bits an address wraps.
    is_short = name in kernel.registers and kernel.zeros[kernel.registers[name]].itemsize == 4
    own = U32 if is_short else U64
    base, shift = source_of(kernel, name, own), own.type(by % (1 << 8 * own.itemsize))
    if not by and own is U64:
        return base
    return lambda group: (base(group) + shift).astype(U64, copy=False)

"""A launch: the blocks of its grid in chunks, and within a chunk all threads at once.

Of the threads that can go on, those at the lowest position go on together, so that ways that parted meet
again where the compiler put the join; each group of threads has values of its own for the registers that are
live. A barrier lets threads on when no other can go on.

A trace has what each step of one block did, so that a person can go through a kernel line by line: a step is
one instruction of the threads of the block that are together. Without one nothing of it is in the way.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.ptx.counts import Counts
from engine.ptx.machine import Finding, Group, Index3, Machine, Observer, Step, joined
from engine.ptx.memory import Access, Active
from engine.ptx.module import Instruction, InstructionSource, PtxError
from engine.ptx.program import Program, kernel_of, program_of

# Threads that run at once: their registers, 256 KB each of 8 bytes, stay in the processor's cache.
CHUNK_THREADS = 1 << 15
# Shared and local memory at once; what is noted of each place is several times as much.
CHUNK_BYTES = 1 << 24
# Blocks of instructions that a chunk may run before it counts as endless.
MOST_STEPS = 4_000_000
CHECK_S = 0.05
MOST_THREADS_PER_BLOCK = 1024

# All arrays of a trace, and about what a step takes beside them; what comes behind is not noted.
MOST_BYTES, _STEP_BYTES = 1 << 26, 200

Checkpoint = Callable[[float], None]


@dataclass(frozen=True, slots=True, eq=False)
class TraceStep:
    """What one instruction did for threads of the traced block.

    `addresses` are bytes from the beginning of `array`, for each of the threads whose access was allowed, and
    `values` what each thread loaded, stored or computed; of vectors with a row for each part.
    """

    number: int  # of the instruction in the kernel
    text: str
    line: InstructionSource
    threads: NDArray[np.uint16]  # the numbers, within the block, of those that took part
    array: str = ""  # what it accessed, of an access to memory: "image", "shared memory"
    space: str = ""
    addresses: NDArray[np.int64] | None = None
    values: np.ndarray | None = None


class Tracer:
    """Notes the steps of one block."""

    def __init__(self, machine: Machine, block: Index3) -> None:
        self._machine, self._block, self._bytes, self.is_whole = machine, block, 0, True
        self.steps: list[TraceStep] = []
        self._accesses: list[Access] = []
        # Nothing that the machine refers to refers to it: its memory goes at once.
        machine.observers.append(self._accesses.append)

    def traced(self, program: Program) -> Program:
        """Return the steps of a kernel as steps that are noted, with what ends each basic block."""
        return [
            ([partial(self._run, *pair) for pair in zip_longest(block.shown, steps)], leave)
            for block, (steps, leave) in zip(self._machine.kernel.blocks, program, strict=True)
        ]

    def _run(self, instruction: Instruction, step: Step | None, group: Group) -> None:
        active, kernel, is_store = group.active, group.machine.kernel, instruction.name in ("st", "red")

        def held(operand: int) -> np.ndarray | None:
            texts = instruction.operands[operand : operand + 1]
            registers = [one for text in texts for one in kernel.registers_in(text)]
            parts = [np.broadcast_to(group.values[one], (active.count,)) for one in registers]
            # Of a number None.
            return np.stack(parts) if len(parts) > 1 else parts[0] if parts else None

        held_values = held(1) if is_store else None
        self._accesses.clear()
        if step is not None:
            step(group)
        own = active.slots[(group.machine.blocks == self._block).all(1)[active.blocks]]
        if not self.is_whole or not len(own):
            return
        if step is not None and kernel.written_by(instruction):
            held_values = held(0)
        parts, accesses = [], [one for one in self._accesses if np.isin(one.active.slots, own).any()]
        for access in accesses or (None,):
            slots, array, space, addresses = own, "", "", None
            if access is not None:
                slots = np.intersect1d(own, access.active.slots)
                offsets = np.broadcast_to(access.offsets, (access.active.count,)).astype(np.int64)
                addresses = offsets[np.searchsorted(access.active.slots, slots)]
                array, space = access.segment.name, access.segment.space
            values = None if held_values is None else held_values[..., np.searchsorted(active.slots, slots)]
            what = instruction.number, instruction.text, instruction.line
            threads = (slots % active.row).astype(np.uint16)
            parts.append(TraceStep(*what, threads, array, space, addresses, values))
            noted = (one.nbytes for one in (threads, addresses, values) if one is not None)
            self._bytes += _STEP_BYTES + sum(noted)
        self.is_whole = self._bytes <= MOST_BYTES
        self.steps += parts if self.is_whole else ()


@dataclass(eq=False)
class InterpretedRun:
    """What came of a launch."""

    findings: tuple[Finding, ...]
    counts: Counts
    machine: Machine = field(repr=False)
    trace: tuple[TraceStep, ...] = ()
    trace_is_whole: bool = True

    @property
    def executed(self) -> list[tuple[Instruction, int, int]]:
        """Each instruction, and how many warps and threads executed it."""
        blocks, runs = self.machine.kernel.blocks, self.counts.block_runs.items()
        return [(one, warps, threads) for number, (warps, threads) in runs for one in blocks[number].shown]


def run(
    ptx: str,
    entry: str | None,
    grid: Sequence[int],
    block: Sequence[int],
    arguments: Sequence[Any],
    *,
    constants: Mapping[str, np.ndarray] | None = None,
    dynamic_shared: int = 0,
    checks: bool = True,
    counted: bool = True,
    chosen_blocks: Sequence[Index3] | None = None,
    weights: Sequence[float] | None = None,
    on_access: Observer | None = None,
    trace: Index3 | None = None,
    checkpoint: Checkpoint = lambda done: None,
) -> InterpretedRun:
    """Run a kernel of PTX on arrays of the host.

    Parameters
    ----------
    ptx : str
        The text of a module.
    entry : str or None
        The name of the kernel; None for the only one.
    grid, block : sequence of int
        Blocks and threads along x, y, z; what is left out is 1.
    arguments : sequence of Array, int or float
        In the order of the kernel's parameters. Arrays are read and written in place.
    constants : mapping of str to ndarray, optional
        Contents of arrays in constant memory that the module only declares.
    dynamic_shared : int
        Bytes of shared memory beside the declared ones.
    checks, counted : bool
        Whether races and accesses are checked, and requests counted.
    chosen_blocks : sequence of (x, y, z), optional
        Run only these blocks.
    weights : sequence of float, optional
        How many blocks each of these stands for in what is counted; None: itself.
    on_access : callable, optional
        Called for each access to memory, before it is made.
    trace : (x, y, z), optional
        Note every step of this block, in the result's `trace`, as far as 64 MB go (`trace_is_whole`).
    checkpoint : callable
        Called every 50 ms with the share that is done; what it raises ends the run.

    Raises
    ------
    PtxError
        For what cannot be read or is not interpreted.
    """
    kernel = kernel_of(ptx, entry)
    program = program_of(kernel)
    over, sides = _three(grid), _three(block)
    if min(over) < 1 or min(sides) < 1 or math.prod(sides) > MOST_THREADS_PER_BLOCK:
        why = f"a block has 1 to {MOST_THREADS_PER_BLOCK} threads, a grid at least one block"
        raise PtxError(f"a launch of {over} blocks of {sides} threads", why)
    blocks = chosen_blocks
    if blocks is None:
        blocks = [(x, y, z) for z in range(over[2]) for y in range(over[1]) for x in range(over[0])]
    counts = Counts(weights)
    machine = Machine(kernel, over, sides, arguments, constants or {}, dynamic_shared, counts, checks=checks)
    machine.observers += [*([counts.access] if counted else ()), *([on_access] if on_access else ())]
    tracer = None if trace is None else Tracer(machine, _three(trace))
    if tracer is not None:
        program = tracer.traced(program)
    checked, done = time.perf_counter(), 0.0

    def check() -> None:
        nonlocal checked
        if (now := time.perf_counter()) - checked > CHECK_S:
            checked = now
            checkpoint(done)

    each = machine.shared_bytes + machine.row * kernel.local_bytes
    most = max(1, min(CHUNK_THREADS // machine.row, CHUNK_BYTES // max(1, each)))
    with np.errstate(all="ignore"):
        for first in range(0, len(blocks), most):
            part, done = blocks[first : first + most], first / len(blocks)
            machine.begin_chunk(part)
            slots = (np.arange(len(part))[:, None] * machine.row + np.arange(machine.threads)).reshape(-1)
            _run_chunk(program, machine, Active(slots, machine.row), check)
            counts.end_chunk()
    noted = () if tracer is None else (tuple(tracer.steps), tracer.is_whole)
    return InterpretedRun(tuple(machine.findings.values()), counts, machine, *noted)


def _three(sides: Sequence[int]) -> Index3:
    x, y, z = (*map(int, sides), 1, 1)[:3]
    return x, y, z


def _run_chunk(program: Program, machine: Machine, everyone: Active, check: Callable[[], object]) -> None:
    blocks = machine.kernel.blocks
    end, known = len(blocks), {everyone.count: everyone}
    live, waits = [*(one.live_in for one in blocks), ()], [*(one.waits for one in blocks), False]
    ready: dict[int, list[Group]] = {}
    waiting: dict[int, list[Group]] = {}

    def come(number: int, group: Group) -> None:
        if number != end:
            (waiting if waits[number] else ready).setdefault(number, []).append(group)

    come(0, Group(machine, everyone, list(machine.registers)))
    steps_left = MOST_STEPS
    while ready or waiting:
        if not ready:
            _release(machine, waiting)
            ready, waiting = waiting, {}
            continue
        number = min(ready)
        group = joined(ready.pop(number), live[number], known)
        if waits[number]:
            machine.counts.waited(group.active)
        next_other, is_together = min(ready, default=end), True
        while is_together:
            if (steps_left := steps_left - 1) < 0:
                raise PtxError("the run", f"it takes more than {MOST_STEPS} steps: does a loop end?")
            machine.counts.ran(number, group.active)
            steps, leave = program[number]
            for step in steps:
                step(group)
                check()
            ways = leave(group)
            check()
            number = ways[0][0]
            is_together = ways[0][1] is None and number < next_other and not waits[number]
        for goal, places in ways:
            come(goal, group if places is None else group.some(places, live[goal]))


def _release(machine: Machine, waiting: Mapping[int, list[Group]]) -> None:
    """Let threads that wait go on, by the blocks that begin with barriers; say where some do not come."""
    came = np.zeros(len(machine.blocks), np.int64)  # threads of each block
    barriers: dict[int, Instruction] = {}  # where those of each block wait
    for number, groups in waiting.items():
        barrier = machine.kernel.blocks[number].instructions[0]
        # Of a part of the block: its number of threads is the barrier's second operand.
        is_partial = len(barrier.operands) > (3 if "red" in barrier.modifiers else 1)
        for active in (one.active for one in groups):
            here = np.bincount(active.blocks, minlength=len(came))
            came += machine.threads if is_partial else here
            for block in map(int, np.flatnonzero(here) if machine.checks and not is_partial else ()):
                other = barriers.setdefault(block, barrier)
                if other.line != barrier.line:
                    message = "threads of one block wait at two different barriers"
                    machine.report("barrier", (other.line, barrier.line), block * machine.row, message)
    for block in map(int, np.flatnonzero((came > 0) & (came < machine.threads)) if machine.checks else ()):
        missing = machine.threads - int(came[block])
        message = f"{missing} of {machine.threads} threads of a block never come to the barrier"
        slots = [one.active.slots for groups in waiting.values() for one in groups]
        absent = np.setdiff1d(block * machine.row + np.arange(machine.threads), np.concatenate(slots))
        machine.report("barrier", (barriers[block].line,), absent[0], message)
    machine.pass_barrier()

"""A launch: the blocks of its grid in chunks, and within a chunk all threads at once.

Of the threads that can go on, those at the lowest position go on together, so that ways that parted meet
again where the compiler put the join; each group of threads has values of its own for the registers that are
live. A barrier lets threads on when no other can go on.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.ptx.access import Machine
from engine.ptx.active import WARP, Active
from engine.ptx.barriers import release
from engine.ptx.counts import Counts
from engine.ptx.errors import PtxError
from engine.ptx.findings import Finding, Index3
from engine.ptx.memory import Array
from engine.ptx.module import Instruction
from engine.ptx.operands import Registers
from engine.ptx.program import Program, program_of
from engine.ptx.trace import TracedMachine, Tracer, TraceStep
from engine.ptx.types import as_type

# Threads that run at once: their registers, 256 KB each of 8 bytes, stay in the processor's cache.
CHUNK_THREADS = 1 << 15
# Shared and local memory at once; what is noted of each place is several times as much.
CHUNK_BYTES = 1 << 25
# Blocks of instructions that a chunk may run before it counts as endless.
MOST_STEPS = 4_000_000
CHECK_S = 0.05
MOST_THREADS_PER_BLOCK = 1024
STEPS_BETWEEN_CHECKS = 256

Checkpoint = Callable[[float], None]


@dataclass(eq=False)
class Run:
    """What came of a launch."""

    findings: tuple[Finding, ...]
    counts: Counts
    machine: Machine = field(repr=False)
    trace: tuple[TraceStep, ...] = ()
    trace_is_whole: bool = True

    @property
    def executed(self) -> list[tuple[Instruction, int, int]]:
        """Each instruction, and how many warps and threads executed it."""
        blocks = self.machine.kernel.flow.blocks
        return [
            (instruction, warps, threads)
            for number, (warps, threads) in self.counts.block_runs.items()
            for instruction in (*blocks[number].instructions, *filter(None, (blocks[number].end,)))
        ]

    def written(self, array: Array) -> np.ndarray:
        """Return which values of an array the kernel wrote."""
        return self.machine.layout.written(array)


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
    trace: Index3 | None = None,
    checkpoint: Checkpoint = lambda done: None,
) -> Run:
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
    trace : (x, y, z), optional
        Note every step of this block, in `Run.trace`; as far as 64 MB go (`Run.trace_is_whole`).
    checkpoint : callable
        Called every 50 ms with the share that is done; what it raises ends the run.

    Raises
    ------
    PtxError
        For what cannot be read or is not interpreted.
    """
    program = program_of(ptx, entry)
    shape = _Shape(_three(grid), _three(block))
    tracked: set[str] = set()
    while True:
        tracer = None if trace is None else Tracer(_three(trace))
        machine = (Machine if trace is None else TracedMachine)(
            program.facts,
            shape.grid,
            shape.block,
            arguments,
            constants or {},
            dynamic_shared,
            checks,
            counted,
            weights,
            tracked,
        )
        with np.errstate(all="ignore"):
            _Launch(program, machine, shape, checkpoint, tracer).run(chosen_blocks)
        if not machine.needs_reads_of <= tracked:
            # Written after reads that were not noted: once more, with them.
            tracked |= machine.needs_reads_of
            machine.layout.restore()
            continue
        steps, is_whole = ((), True) if tracer is None else (tuple(tracer.steps), tracer.is_whole)
        return Run(machine.findings.all(), machine.counts, machine, steps, is_whole)


@dataclass(frozen=True)
class _Shape:
    grid: Index3
    block: Index3

    def __post_init__(self) -> None:
        threads = self.block[0] * self.block[1] * self.block[2]
        if min(self.grid) < 1 or min(self.block) < 1 or threads > MOST_THREADS_PER_BLOCK:
            why = f"a block has 1 to {MOST_THREADS_PER_BLOCK} threads, a grid at least one block"
            raise PtxError(f"a launch of {self.grid} blocks of {self.block} threads", why)

    @property
    def blocks(self) -> list[Index3]:
        across, down, deep = self.grid
        return [(x, y, z) for z in range(deep) for y in range(down) for x in range(across)]


def _three(sides: Sequence[int]) -> Index3:
    x, y, z = (*map(int, sides), 1, 1)[:3]
    return x, y, z


@dataclass(slots=True, eq=False)
class _Group:
    """Threads at one place, with their registers."""

    active: Active
    values: Registers


class _Launch:
    def __init__(
        self,
        program: Program,
        machine: Machine,
        shape: _Shape,
        checkpoint: Checkpoint,
        tracer: Tracer | None,
    ) -> None:
        self._program, self._machine, self._shape = program, machine, shape
        self._checkpoint = checkpoint
        self._checked = time.perf_counter()
        self._done = 0.0
        self._tracer = tracer
        self._run_block = self._run_plain if tracer is None else self._run_traced

    def run(self, chosen: Sequence[Index3] | None) -> None:
        blocks = self._shape.blocks if chosen is None else list(chosen)
        sides = self._shape.block
        threads = sides[0] * sides[1] * sides[2]
        row = -(-threads // WARP) * WARP
        each = self._machine.shared_bytes + row * self._machine.local_bytes
        most = max(1, min(CHUNK_THREADS // row, CHUNK_BYTES // max(1, each)))
        for first in range(0, len(blocks), most):
            part = blocks[first : first + most]
            self._done = first / len(blocks)
            self._machine.begin_chunk(part, row)
            slots = (np.arange(len(part))[:, None] * row + np.arange(threads)).reshape(-1)
            self._chunk(Active(slots, row))
            self._machine.end_chunk()

    def _chunk(self, everyone: Active) -> None:
        machine, blocks = self._machine, self._program.blocks
        known = {everyone.count: everyone}
        end = len(blocks)
        ready = {0: [_Group(everyone, list(self._program.zeros))]} if blocks else {}
        waiting: dict[int, list[_Group]] = {}
        steps_left = MOST_STEPS
        while ready or waiting:
            if not ready:
                release(
                    machine, {number: [one.active for one in groups] for number, groups in waiting.items()}
                )
                for number, groups in waiting.items():
                    self._reduce(number, groups)
                ready, waiting = waiting, {}
                ready.pop(end, None)
                continue
            number = min(ready)
            group = self._merged(ready.pop(number), number, known)
            next_other = min(ready, default=end)
            while number < next_other:
                steps_left -= 1
                if steps_left < 0:
                    raise PtxError("the run", f"it takes more than {MOST_STEPS} steps: does a loop end?")
                self._run_block(number, group)
                target = blocks[number].leave(group.values, group.active, machine)
                if isinstance(target, int) and target >= 0:
                    number = target
                    continue
                parts = [(target, None)] if isinstance(target, int) else target
                for one, places in parts:
                    # Below zero: they wait at a barrier, and go on there.
                    goal = one if one >= 0 else ~one
                    part = group if places is None else self._some(group, places, goal)
                    if goal < end or one < 0:
                        (ready if one >= 0 else waiting).setdefault(goal, []).append(part)
                break
            else:
                if number < end:
                    ready.setdefault(number, []).append(group)

    def _run_plain(self, number: int, group: _Group) -> None:
        machine, block = self._machine, self._program.blocks[number]
        values, active = group.values, group.active
        machine.counts.ran(number, active)
        for first in range(0, len(block.steps), STEPS_BETWEEN_CHECKS):
            for step in block.steps[first : first + STEPS_BETWEEN_CHECKS]:
                step(values, active, machine)
            self._check()

    def _run_traced(self, number: int, group: _Group) -> None:
        machine, block, tracer = self._machine, self._program.blocks[number], self._tracer
        assert tracer is not None
        assert isinstance(machine, TracedMachine)
        machine.counts.ran(number, group.active)
        steps = [*block.steps, *((None,) if block.end is not None else ())]
        for instruction, step in enumerate(steps, block.first):
            tracer.run(instruction, step, group.values, group.active, machine)
        self._check()

    def _check(self) -> None:
        if (now := time.perf_counter()) - self._checked > CHECK_S:
            self._checked = now
            self._checkpoint(self._done)

    def _reduce(self, number: int, groups: list[_Group]) -> None:
        """Give threads that waited at a `bar.red` what their block has together."""
        block = self._program.blocks[number - 1]
        if block.reduction is None:
            return
        register, operation = block.reduction
        of = np.concatenate([one.active.blocks for one in groups])
        holds = np.concatenate([np.broadcast_to(one.values[register], one.active.count) for one in groups])
        there, yes = np.bincount(of), np.bincount(of, weights=holds)
        found = {"popc": yes.astype(np.uint32), "and": yes == there, "or": yes > 0}[operation]
        for one in groups:
            one.values[register] = found[one.active.blocks]

    def _some(self, group: _Group, places: np.ndarray, target: int) -> _Group:
        """Return the threads of a group at some places, with the registers that are live where they go."""
        values = list(self._program.zeros)
        if target < len(self._program.blocks):
            for number in self._program.blocks[target].live_in:
                value = group.values[number]
                values[number] = value if value.ndim == 0 else value[places]
        return _Group(group.active.some(places), values)

    def _merged(self, groups: list[_Group], number: int, known: dict[int, Active]) -> _Group:
        """Return the threads of several groups at one place as one group."""
        if len(groups) == 1:
            return groups[0]
        slots = np.concatenate([one.active.slots for one in groups])
        order = np.argsort(slots, kind="stable")
        slots = slots[order]
        active = known.get(len(slots))
        if active is None or not np.array_equal(active.slots, slots):
            active = known[len(slots)] = Active(slots, groups[0].active.row)
        values = list(self._program.zeros)
        for register in self._program.blocks[number].live_in:
            values[register] = _joined([one.values[register] for one in groups], groups, order)
        return _Group(active, values)


def _joined(parts: list[Any], groups: list[_Group], order: np.ndarray) -> Any:
    """Return a register of several groups, in the order of their threads; a scalar where all agree."""
    first = parts[0]
    if all(one is first for one in parts) and first.ndim == 0:
        return first
    alike = [as_type(one, first.dtype) for one in parts]
    if all(one.ndim == 0 for one in alike) and all(one.tobytes() == first.tobytes() for one in alike):
        return first
    whole = [
        one if one.ndim else np.full(group.active.count, one)
        for one, group in zip(alike, groups, strict=True)
    ]
    return np.concatenate(whole)[order]

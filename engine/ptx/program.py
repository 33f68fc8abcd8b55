"""A kernel's instructions made steps: what computes from values, what accesses memory, what ends a block."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from engine.ptx.accesses import MEMORY_STEPS
from engine.ptx.group import Group, Step
from engine.ptx.inline import Code
from engine.ptx.instructions import ROWS
from engine.ptx.kernel import Block, Kernel
from engine.ptx.module import Guard, Instruction, PtxError, listed
from engine.ptx.operands import Operands, Source
from engine.ptx.parse import parsed
from engine.ptx.rules import Rule, Table
from engine.ptx.types import BOOL, U32, Values, extended
from engine.ptx.warp import LANE_ROWS, together

_TABLE = Table((*ROWS, *LANE_ROWS))
# The numbers of the blocks where threads go on, with the places of those that do, None for all.
Ways = list[tuple[int, NDArray[np.intp] | None]]
Leave = Callable[[Group], Ways]
Program = list[tuple[list[Step], Leave]]
"""Of each block of a kernel its steps, and what says where threads go on."""


@lru_cache(maxsize=64)
def program_of(ptx: str, entry: str | None = None) -> tuple[Kernel, Program]:
    """Return a kernel of a module, made ready; None: its only one."""
    kernel = kernel_of(ptx, entry)
    builder = _Builder(kernel)
    return kernel, [(builder.steps_of(block), builder.leave_of(block)) for block in kernel.blocks]


@lru_cache(maxsize=64)
def kernel_of(ptx: str, entry: str | None = None) -> Kernel:
    """Return a kernel of a module; None: its only one."""
    module = parsed(ptx)
    names = [name for name, function in module.functions.items() if function.is_entry]
    if entry is None:
        if len(names) != 1:
            raise PtxError("the module", f"it has {len(names)} kernels; name one of them")
        entry = names[0]
    if entry not in names:
        raise PtxError(f"the kernel {entry}", f"the module has {', '.join(names) or 'none'}")
    return Kernel(entry, module.functions[entry].parameters, module.variables, Code(module, entry))


class _Builder:
    """Makes the steps of instructions."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._operands = kernel, Operands(kernel)

    def steps_of(self, block: Block) -> list[Step]:
        """Return what a block does."""
        steps = []
        for one in block.instructions[: -1 if block.end is not None else None]:
            try:
                step = self._step(one)
            except PtxError as error:
                raise error.at(one.line) from error
            steps.append(step if one.guard is None else self._guarded(one, one.guard, step))
        return steps

    def _step(self, instruction: Instruction) -> Step:
        if (rule := _TABLE.rule_of(instruction)) is not None:
            sources = [name for text in instruction.operands[1:] for name in listed(text)]
            return self._computing(instruction, rule, sources)
        make = _OF_MORE_THAN_VALUES.get(instruction.name)
        if make is None:
            raise instruction.unknown()
        return make(instruction, self._operands)

    def _computing(self, instruction: Instruction, rule: Rule, operands: list[str]) -> Step:
        """Make a step of what values alone say."""
        names = listed(instruction.operands[0].replace("|", ","))
        if len(operands) != len(rule.sources):
            raise instruction.unknown()
        sources = [self._operands.source(*pair) for pair in zip(operands, rule.sources, strict=True)]
        targets = [self._operands.register(name, instruction) for name in names]
        widths = [self._operands.width(one) for one in targets]
        compute, first, width = rule.compute, targets[0], widths[0]
        if rule.lanes:
            return together(instruction, rule, sources, targets)

        def several(group: Group) -> None:
            results = compute(*[source(group) for source in sources])
            for at, width, one in zip(targets, widths, results, strict=False):
                group.values[at] = extended(one, width)

        def step(group: Group) -> None:
            group.values[first] = extended(compute(*[source(group) for source in sources]), width)

        return several if rule.has_many else step

    def _guarded(self, instruction: Instruction, guard: Guard, step: Step) -> Step:
        """Return a step of the threads alone whose guard holds."""
        kernel, holds = self._kernel, self._operands.predicate(guard)
        written = kernel.written_by(instruction)
        registers = written.union(kernel.read_by(instruction))

        def guarded(group: Group) -> None:
            condition = holds(group)
            if condition.ndim == 0:
                if condition:
                    step(group)
                return
            at = np.flatnonzero(condition)
            if len(at) == group.active.count:
                step(group)
            elif len(at):
                part = group.some(at, registers)
                step(part)
                group.take(part, at, written)

        return guarded

    def leave_of(self, block: Block) -> Leave:
        """Return what says where threads go after a block."""
        end, behind = block.end, block.number + 1
        if end is None:
            return lambda group: [(behind, None)]
        if end.name == "trap":
            raise end.unknown("a trap ends the whole launch")
        goals = self._kernel.goals_of(end)
        if end.name == "brx":
            if end.guard is not None:
                raise end.unknown()
            return _parting(end, goals, self._operands.source(end.operands[0], U32))
        if end.guard is None:
            return lambda group: [(goals[0], None)]
        return _parting(end, [behind, *goals], self._operands.predicate(end.guard))


def _parting(end: Instruction, goals: list[int], index: Source) -> Leave:
    """Make what sends each thread to one of some goals."""

    def leave(group: Group) -> Ways:
        numbers: Values = index(group)
        most, least = numbers.max(), numbers.min()
        if most >= len(goals):
            raise end.unknown("it jumps past the end of its table")
        if most == least:
            return [(goals[int(most)], None)]
        found = [(goal, np.flatnonzero(numbers == most.dtype.type(one))) for one, goal in enumerate(goals)]
        return [(goal, at) for goal, at in found if len(at)]

    return leave


def _nothing(instruction: Instruction, operands: Operands) -> Step:
    """Make what orders accesses only as other threads see them, or asks for a line ahead."""
    return lambda group: None


def _barrier(instruction: Instruction, operands: Operands) -> Step:
    """Make what threads do once they have waited at a barrier; those of a warp do not wait for each other."""

    def warp(group: Group) -> None:
        group.machine.warp_moments[group.active.warp_numbers] += 1

    def reduction(group: Group) -> None:
        blocks = group.active.blocks
        holds = np.broadcast_to(own(group), blocks.shape)
        there, yes = np.bincount(blocks), np.bincount(blocks, weights=holds)
        found = {"popc": yes.astype(np.uint32), "and": yes == there, "or": yes > 0}[joint]
        group.values[target] = found[blocks]

    if "warp" in instruction.modifiers:
        return warp
    if "red" not in instruction.modifiers:
        if not instruction.first_of("sync", "arrive"):
            raise instruction.unknown()
        return _nothing(instruction, operands)
    if not (joint := instruction.first_of("popc", "and", "or")):
        raise instruction.unknown()
    target = operands.register(instruction.operands[0], instruction)
    own = operands.source(instruction.operands[-1], BOOL)
    return reduction


_OF_MORE_THAN_VALUES: dict[str, Callable[[Instruction, Operands], Step]] = {
    **dict.fromkeys(("membar", "fence", "prefetch", "prefetchu", "nanosleep"), _nothing),
    **MEMORY_STEPS,
    **dict.fromkeys(("bar", "barrier"), _barrier),
}

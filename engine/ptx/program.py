"""A kernel's instructions made steps: what computes from values, what accesses memory, what ends a block."""

from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from engine.ptx.accesses import MEMORY_STEPS
from engine.ptx.group import Group, Source, Step, registers_of, source_of
from engine.ptx.instructions import ROWS
from engine.ptx.kernel import Block, Kernel
from engine.ptx.module import Instruction, PtxError, listed, parsed
from engine.ptx.rules import Table
from engine.ptx.types import BOOL, U32, Values
from engine.ptx.warp import LANE_ROWS, together

_TABLE = Table((*ROWS, *LANE_ROWS))
# The numbers of the blocks where threads go on, with the places of those that do, None for all.
Ways = list[tuple[int, NDArray[np.intp] | None]]
Leave = Callable[[Group], Ways]
Program = list[tuple[list[Step], Leave]]
"""Of each block of a kernel its steps, and what says where threads go on."""


@lru_cache(maxsize=64)
def program_of(kernel: Kernel) -> Program:
    """Return what a kernel does."""
    return [(_steps_of(kernel, block), _leave_of(kernel, block)) for block in kernel.blocks]


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
    return Kernel(module, entry)


def _steps_of(kernel: Kernel, block: Block) -> list[Step]:
    steps = []
    for one in block.instructions[: -1 if block.end is not None else None]:
        try:
            rule = _TABLE.rule_of(one)
            make = _computing if rule is not None else _OF_MORE_THAN_VALUES.get(one.name)
            if make is None:
                raise one.unknown()
            steps.append(make(one, kernel))
        except PtxError as error:
            raise error.at(one.line) from error
        except (LookupError, ValueError) as error:
            raise one.unknown("its operands are not those that it takes") from error
    return steps


def _computing(instruction: Instruction, kernel: Kernel) -> Step:
    """Make a step of what values alone say."""
    rule = _TABLE.rule_of(instruction)
    assert rule is not None
    names = [name for text in instruction.operands[1:] for name in listed(text)]
    if len(names) != len(rule.sources):
        raise instruction.unknown()
    compute = rule.compute
    sources = [source_of(kernel, *pair) for pair in zip(names, rule.sources, strict=True)]
    targets = registers_of(kernel, listed(instruction.operands[0].replace("|", ",")))
    if rule.lanes:
        compute, sources = partial(together, instruction, rule), [lambda group: group, *sources]

    def step(group: Group) -> None:
        found = compute(*[source(group) for source in sources])
        group.put(targets, found if isinstance(found, tuple) else (found,))

    return step


def _leave_of(kernel: Kernel, block: Block) -> Leave:
    """Return what says where threads go after a block."""
    end, behind = block.end, block.number + 1
    if end is None:
        return lambda group: [(behind, None)]
    if end.name == "trap":
        raise end.unknown("a trap ends the whole launch")
    goals = kernel.goals_of(end)
    if end.name == "brx":
        return _parting(end, goals, source_of(kernel, end.operands[0], U32))
    if not end.guard:
        return lambda group: [(goals[0], None)]
    return _parting(end, [behind, *goals], source_of(kernel, end.guard, BOOL))


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


def _nothing(instruction: Instruction, kernel: Kernel) -> Step:
    """Make what orders accesses only as other threads see them, or asks for a line ahead."""
    return lambda group: None


def _barrier(instruction: Instruction, kernel: Kernel) -> Step:
    """Make what threads do once they have waited at a barrier; those of a warp do not wait for each other."""
    if "warp" in instruction.modifiers:
        return _pass_warp_barrier
    if instruction.first_of("sync", "arrive"):
        return _nothing(instruction, kernel)
    joint = instruction.first_of("popc", "and", "or")
    if "red" not in instruction.modifiers or not joint:
        raise instruction.unknown()
    target = registers_of(kernel, [instruction.operands[0]])
    own = source_of(kernel, instruction.operands[-1], BOOL)

    def step(group: Group) -> None:
        blocks = group.active.blocks
        there, yes = np.bincount(blocks), np.bincount(blocks, np.broadcast_to(own(group), blocks.shape))
        found = {"popc": yes.astype(np.uint32), "and": yes == there, "or": yes > 0}[joint]
        group.put(target, [found[blocks]])

    return step


def _pass_warp_barrier(group: Group) -> None:
    group.machine.warp_moments[group.active.warp_numbers] += 1


_OF_MORE_THAN_VALUES: dict[str, Callable[[Instruction, Kernel], Step]] = {
    **dict.fromkeys(("membar", "fence", "prefetch", "prefetchu", "nanosleep"), _nothing),
    **MEMORY_STEPS,
    **dict.fromkeys(("bar", "barrier"), _barrier),
}

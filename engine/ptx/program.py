"""A kernel's instructions made steps: what computes from values, what accesses memory, what ends a block."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from engine.ptx.accesses import MEMORY_STEPS
from engine.ptx.active import Active
from engine.ptx.contraction import fused_sums
from engine.ptx.inline import with_calls_inlined
from engine.ptx.instructions import Rule, choose, rule_of
from engine.ptx.kernel import Block, Kernel, Leave, Registers, Step
from engine.ptx.machine import Machine
from engine.ptx.module import Instruction, PtxError, listed
from engine.ptx.operands import Operands, Source
from engine.ptx.parse import parsed
from engine.ptx.types import BOOL, U32, Values, extended
from engine.ptx.warp import WARP_STEPS

# The carry flag, as a register of its own; it does not outlive a basic block (PTX ISA, 9.7.2).
CARRY, TAKES_CARRY = "carry flag", ("addc", "subc", "madc")


@lru_cache(maxsize=64)
def kernel_of(ptx: str, entry: str | None = None) -> Kernel:
    """Return a kernel of a module made ready; None: its only one."""
    module = parsed(ptx)
    names = module.entries
    if entry is None:
        if len(names) != 1:
            raise PtxError("the module", f"it has {len(names)} kernels; name one of them")
        entry = names[0]
    if entry not in names:
        raise PtxError(f"the kernel {entry}", f"the module has {', '.join(names) or 'none'}")
    function = with_calls_inlined(module, entry)
    if any(one.name in TAKES_CARRY or "cc" in one.modifiers for one in function.instructions):
        function.registers[CARRY] = "pred"
    kernel = Kernel(module, function)
    builder = _Builder(kernel)
    for block in kernel.blocks:
        builder.fill(block)
    return kernel


class _Builder:
    """Makes the steps of instructions."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel, self._operands = kernel, Operands(kernel)
        self._fused = fused_sums(kernel)

    def fill(self, block: Block) -> None:
        """Make what a block does and where threads go after it."""
        for number, instruction in enumerate(block.instructions, block.first):
            try:
                block.steps.append(self._step(instruction, number))
            except PtxError as error:
                raise error.at(instruction.line) from error
        block.leave = self._leave(block)

    def _step(self, instruction: Instruction, number: int) -> Step:
        if (fused := self._fused.get(id(instruction))) is not None:
            return self._computing(instruction, *fused)
        if (rule := rule_of(instruction)) is not None:
            sources = [name for text in instruction.operands[1:] for name in listed(text)]
            return self._computing(instruction, rule, sources)
        make = _OF_MORE_THAN_VALUES.get(instruction.name)
        if make is None:
            raise instruction.unknown()
        return make(instruction, number, self._operands)

    def _computing(self, instruction: Instruction, rule: Rule, operands: list[str]) -> Step:
        """Make a step of what values alone say. Where it has a guard it computes everywhere."""
        names, sets_carry = listed(instruction.operands[0].replace("|", ",")), "cc" in instruction.modifiers
        if instruction.name in TAKES_CARRY or sets_carry:
            if instruction.guard is not None:
                raise instruction.unknown()
            operands, names = [*operands, CARRY], [*names, CARRY] if sets_carry else names
        if len(operands) != len(rule.sources):
            raise instruction.unknown()
        sources = [self._operands.source(*pair) for pair in zip(operands, rule.sources, strict=True)]
        targets = [self._operands.register(name, instruction) for name in names]
        step = self._step_of(targets, sources, rule)
        return step if instruction.guard is None else self._guarded(instruction, targets, step)

    def _step_of(self, targets: list[int], sources: list[Source], rule: Rule) -> Step:
        compute, first = rule.compute, targets[0]
        widths = [self._operands.width(one) for one in targets]
        if rule.has_many:

            def several(values: Registers, active: Active, machine: Machine) -> None:
                results = compute(*[source(values, active, machine) for source in sources])
                for at, width, one in zip(targets, widths, results, strict=False):
                    values[at] = extended(one, width)

            return several
        if rule.result != BOOL and rule.result.itemsize < widths[0]:
            narrow, width = compute, widths[0]
            compute = lambda *given: extended(narrow(*given), width)  # noqa: E731
        # Most have two or three: quicker without a list.
        if len(sources) == 2:
            a, b = sources

            def of_two(values: Registers, active: Active, machine: Machine) -> None:
                values[first] = compute(a(values, active, machine), b(values, active, machine))

            return of_two
        if len(sources) == 3:
            a, b, c = sources

            def of_three(values: Registers, active: Active, machine: Machine) -> None:
                values[first] = compute(
                    a(values, active, machine), b(values, active, machine), c(values, active, machine)
                )

            return of_three

        def step(values: Registers, active: Active, machine: Machine) -> None:
            values[first] = compute(*[source(values, active, machine) for source in sources])

        return step

    def _guarded(self, instruction: Instruction, written: list[int], step: Step) -> Step:
        """Return a step that changes registers only where the guard holds."""
        assert instruction.guard is not None
        holds = self._operands.predicate(instruction.guard)

        def guarded(values: Registers, active: Active, machine: Machine) -> None:
            condition = holds(values, active, machine)
            if condition.ndim == 0:
                if condition:
                    step(values, active, machine)
                return
            before = [values[one] for one in written]
            step(values, active, machine)
            for one, old in zip(written, before, strict=True):
                new = values[one]
                values[one] = choose(new, old if old.dtype == new.dtype else old.astype(new.dtype), condition)

        return guarded

    def _leave(self, block: Block) -> Leave:
        end, behind = block.end, block.number + 1
        goal = len(self._kernel.blocks)
        if end is None:
            goal = behind
        elif end.name == "bra":
            goal = self._kernel.labels[end.operands[0]]
        elif end.name in ("bar", "barrier"):
            if "red" in end.modifiers:
                return self._reducing(block, end)
            if not end.first_of("sync", "arrive"):
                raise end.unknown()
            goal = ~behind if "sync" in end.modifiers else behind
        elif end.name == "brx":
            return self._by_index(end)
        elif end.name == "trap":
            raise end.unknown("a trap ends the whole launch")
        if end is None or end.guard is None:
            return lambda values, active, machine: goal
        holds = self._operands.predicate(end.guard)

        def leave(values: Registers, active: Active, machine: Machine) -> Any:
            taken = holds(values, active, machine)
            if taken.ndim == 0:
                return goal if taken else behind
            there = np.flatnonzero(taken)
            if len(there) == active.count:
                return goal
            return [(goal, there), (behind, np.flatnonzero(~taken))] if len(there) else behind

        return leave

    def _reducing(self, block: Block, end: Instruction) -> Leave:
        """Make `bar.red`: each thread brings its predicate in the register that gets the result."""
        operation = end.first_of("popc", "and", "or")
        if not operation or end.guard is not None:
            raise end.unknown()
        at = self._operands.register(end.operands[0], end)
        own, goal = self._operands.source(end.operands[-1], BOOL), ~(block.number + 1)
        block.reduction = at, operation

        def leave(values: Registers, active: Active, machine: Machine) -> Any:
            values[at] = own(values, active, machine)
            return goal

        return leave

    def _by_index(self, end: Instruction) -> Leave:
        if end.guard is not None:
            raise end.unknown()
        index = self._operands.source(end.operands[0], U32)
        labels = self._kernel.function.targets[end.operands[1]]
        goals = np.array([self._kernel.labels[one] for one in labels])

        def leave(values: Registers, active: Active, machine: Machine) -> Any:
            numbers: Values = index(values, active, machine)
            if np.any(numbers >= len(goals)):
                raise end.unknown("it jumps past the end of its table")
            if numbers.ndim == 0:
                return int(goals[int(numbers)])
            found = goals[numbers]
            return [(int(one), np.flatnonzero(found == one)) for one in np.unique(found)]

        return leave


def _nothing(instruction: Instruction, number: int, operands: Operands) -> Step:
    """Make what orders accesses only as other threads see them, or asks for a line ahead."""
    return lambda values, active, machine: None


_OF_MORE_THAN_VALUES: dict[str, Callable[[Instruction, int, Operands], Step]] = {
    **dict.fromkeys(("membar", "fence", "prefetch", "prefetchu", "nanosleep"), _nothing),
    **MEMORY_STEPS,
    **WARP_STEPS,
}

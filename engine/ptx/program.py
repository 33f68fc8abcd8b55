"""A kernel made ready to run: its basic blocks as steps, one for each instruction.

A step is a function of the registers of a group of threads, of those threads, and of the machine. A register
holds an array with a value for each thread, or one NumPy scalar where all threads have the same: what a
kernel computes of its parameters alone is computed once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from engine.ptx import floats
from engine.ptx.access import Machine
from engine.ptx.active import Active
from engine.ptx.atomics import atomic_step
from engine.ptx.contraction import Fused, fused_sums
from engine.ptx.copies import copy_step
from engine.ptx.errors import PtxError
from engine.ptx.flow import Block, Flow, flow_of
from engine.ptx.inline import with_calls_inlined
from engine.ptx.integers import takes_carry, with_carry
from engine.ptx.kernel import KernelFacts, facts_of
from engine.ptx.memory import LOCAL_WINDOW, SHARED_WINDOW
from engine.ptx.module import Function, Instruction, Module, listed
from engine.ptx.operands import Operands, Registers, Source, Step
from engine.ptx.parse import parsed
from engine.ptx.requests import load_step, store_step
from engine.ptx.semantics import choose, rule_of
from engine.ptx.spelling import BOOL, Rule, unknown
from engine.ptx.types import DTYPES, Values, extended
from engine.ptx.warp import WARP_STEPS

# The number of the block where all threads go on; below zero ~number: they wait at a barrier before it. Or
# pairs of such a number and the places of the threads that go there.
Leave = Callable[[Registers, Active, Machine], Any]


# The carry flag, as a register of its own; it does not outlive a basic block (PTX ISA, 9.7.2).
CARRY = "carry flag"


@dataclass(frozen=True, slots=True, eq=False)
class ReadyBlock:
    """A basic block that can run."""

    steps: list[Step]
    leave: Leave
    live_in: tuple[int, ...]
    first: int  # the number of its first instruction
    end: Instruction | None
    reduction: tuple[int, str] | None  # of `bar.red`: the register with a predicate, and what becomes of it


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A kernel that can run."""

    facts: KernelFacts
    blocks: list[ReadyBlock]
    zeros: Registers


@lru_cache(maxsize=64)
def program_of(ptx: str, entry: str | None = None) -> Program:
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
    if any(map(takes_carry, function.instructions)):
        function.registers[CARRY] = "pred"
    flow = flow_of(function)
    builder = _Builder(module, function, flow)
    blocks = [builder.block(one) for one in flow.blocks]
    facts = facts_of(function, {**module.variables, **function.variables}, flow)
    return Program(facts, blocks, [DTYPES[kind].type(0) for kind in function.registers.values()])


class _Builder:
    """Makes the steps of instructions."""

    def __init__(self, module: Module, function: Function, flow: Flow) -> None:
        self._function, self._flow = function, flow
        self._operands = Operands(module, function, flow.registers)
        self._number = 0
        self._fused = fused_sums(flow.blocks, flow.registers)

    def block(self, block: Block) -> ReadyBlock:
        first = self._number
        steps = []
        for instruction in block.instructions:
            try:
                steps.append(self._step(instruction))
            except PtxError as error:
                raise error.at(instruction.line) from error
            self._number += 1
        leave = self._leave(block)
        self._number += block.end is not None
        return ReadyBlock(steps, leave, block.live_in, first, block.end, self._reduction(block.end))

    def _step(self, instruction: Instruction) -> Step:
        name = instruction.name
        if name == "mov" and any(one.startswith("{") for one in instruction.operands):
            return self._guarded(instruction, self._packing(instruction))
        if name == "cvta":
            return self._guarded(instruction, self._address_step(instruction))
        fused = self._fused.get(id(instruction))
        if fused is not None:
            return self._fused_step(instruction, fused)
        if takes_carry(instruction):
            return self._carrying(instruction)
        rule = rule_of(instruction)
        if rule is not None:
            return self._guarded(instruction, self._pure(instruction, rule))
        make = _OF_MORE_THAN_VALUES.get(name)
        if make is None:
            raise unknown(instruction)
        return make(instruction, self._number, self._operands)

    def _guarded(self, instruction: Instruction, step: Step) -> Step:
        """Return a step that changes registers only where the guard holds; it computes everywhere."""
        guard = instruction.guard
        if guard is None:
            return step
        holds = self._operands.predicate(guard)
        written = self._operands.registers_in(instruction.operands[0])

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

    def _fused_step(self, instruction: Instruction, fused: Fused) -> Step:
        """Make a sum with a product in it, rounded once."""
        dtype = DTYPES[instruction.modifiers[-1]]
        sources = [self._operands.source(text, dtype) for text in (*fused.factors, fused.addend)]
        plain = floats.fma32 if dtype == floats.F32 else floats.fma64
        product_sign, addend_sign = fused.negates_product, fused.negates_addend

        def compute(a: Values, b: Values, c: Values) -> Values:
            return plain(-a if product_sign else a, b, -c if addend_sign else c)

        return _three(self._operands.register(instruction.operands[0], instruction), compute, *sources)

    def _pure(self, instruction: Instruction, rule: Rule) -> Step:
        result, dtypes, compute = rule
        operands = instruction.operands
        sources = [
            self._operands.source(text, dtype) for text, dtype in zip(operands[1:], dtypes, strict=True)
        ]
        target, _, other = operands[0].partition("|")
        at = self._operands.register(target.strip(), instruction)
        width = self._operands.width(at)
        if result != BOOL and result.itemsize < width:
            narrow = compute
            compute = lambda *given: extended(narrow(*given), width)  # noqa: E731
        if other:
            return self._both_predicates(
                at, self._operands.register(other.strip(), instruction), sources, compute
            )
        return _STEPS_BY_COUNT[len(sources)](at, compute, *sources)

    def _carrying(self, instruction: Instruction) -> Step:
        """Make an addition or subtraction of a number that is longer than a register."""
        dtype, count, compute = with_carry(instruction)
        if instruction.guard is not None or len(instruction.operands) != count + 1:
            raise unknown(instruction)
        at, flag = self._operands.register(instruction.operands[0], instruction), self._flow.registers[CARRY]
        sources = [self._operands.source(text, dtype) for text in instruction.operands[1:]]
        is_kept = "cc" in instruction.modifiers

        def step(values: Registers, active: Active, machine: Machine) -> None:
            found, carry = compute(*(one(values, active, machine) for one in sources), values[flag])
            values[at] = found
            if is_kept:
                values[flag] = carry

        return step

    @staticmethod
    def _both_predicates(
        at: int, opposite: int, sources: list[Source], compute: Callable[..., Values]
    ) -> Step:
        def step(values: Registers, active: Active, machine: Machine) -> None:
            found = compute(*(source(values, active, machine) for source in sources))
            values[at], values[opposite] = found, ~found

        return step

    def _packing(self, instruction: Instruction) -> Step:
        """Make a `mov` between a register and the parts of one."""
        target, source = instruction.operands
        dtype = DTYPES[instruction.modifiers[-1]]
        if source.startswith("{"):
            names = listed(source)
            part = np.dtype(f"u{dtype.itemsize // len(names)}")
            parts = [self._operands.source(name, part) for name in names]
            at, whole = self._operands.register(target, instruction), np.dtype(f"u{dtype.itemsize}")

            def pack(values: Registers, active: Active, machine: Machine) -> None:
                found = whole.type(0)
                for number, one in enumerate(parts):
                    shift = whole.type(8 * part.itemsize * number)
                    found = found | (one(values, active, machine).astype(whole) << shift)
                values[at] = found

            return pack
        names = listed(target)
        part = np.dtype(f"u{dtype.itemsize // len(names)}")
        own = self._operands.source(source, np.dtype(f"u{dtype.itemsize}"))
        targets = [self._operands.register(name, instruction) for name in names]

        def unpack(values: Registers, active: Active, machine: Machine) -> None:
            found = own(values, active, machine)
            for number, one in enumerate(targets):
                values[one] = (found >> found.dtype.type(8 * part.itemsize * number)).astype(part)

        return unpack

    def _address_step(self, instruction: Instruction) -> Step:
        """Make a `cvta`: between addresses of one memory and generic ones."""
        dtype = DTYPES[instruction.modifiers[-1]]
        windows = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}
        window = next((windows[one] for one in instruction.modifiers if one in windows), 0)
        source = self._operands.source(instruction.operands[1], dtype)
        at = self._operands.register(instruction.operands[0], instruction)
        shift = dtype.type(window) if dtype.itemsize == 8 else dtype.type(0)
        is_back = "to" in instruction.modifiers

        def step(values: Registers, active: Active, machine: Machine) -> None:
            found = source(values, active, machine)
            values[at] = found - shift if is_back else found + shift

        return step

    def _leave(self, block: Block) -> Leave:
        end, number = block.end, block.number
        if end is None:
            return lambda values, active, machine: number + 1
        goal = len(self._flow.blocks)
        if end.name == "bra":
            goal = self._flow.labels[end.operands[0]]
        elif end.name in ("bar", "barrier"):
            if "red" in end.modifiers:
                return self._reducing(end, ~(number + 1))
            if not {"sync", "arrive"} & {*end.modifiers}:
                raise unknown(end)
            goal = ~(number + 1) if "sync" in end.modifiers else number + 1
        elif end.name == "brx":
            return self._by_index(end)
        elif end.name == "trap":
            raise unknown(end, "a trap ends the whole launch")
        if end.guard is None:
            return lambda values, active, machine: goal
        holds = self._operands.predicate(end.guard)

        def leave(values: Registers, active: Active, machine: Machine) -> Any:
            taken = holds(values, active, machine)
            if taken.ndim == 0:
                return goal if taken else number + 1
            there = np.flatnonzero(taken)
            if len(there) == active.count:
                return goal
            return [(goal, there), (number + 1, np.flatnonzero(~taken))] if len(there) else number + 1

        return leave

    def _reduction(self, end: Instruction | None) -> tuple[int, str] | None:
        if end is None or end.name not in ("bar", "barrier") or "red" not in end.modifiers:
            return None
        operation = next((one for one in ("popc", "and", "or") if one in end.modifiers), "")
        if not operation or end.guard is not None:
            raise unknown(end)
        return self._operands.register(end.operands[0], end), operation

    def _reducing(self, end: Instruction, goal: int) -> Leave:
        """Make `bar.red`: each thread brings its predicate in the register that gets the result."""
        at = self._operands.register(end.operands[0], end)
        own = self._operands.source(end.operands[-1], BOOL)

        def leave(values: Registers, active: Active, machine: Machine) -> Any:
            values[at] = own(values, active, machine)
            return goal

        return leave

    def _by_index(self, end: Instruction) -> Leave:
        if end.guard is not None:
            raise unknown(end)
        index = self._operands.source(end.operands[0], np.dtype(np.uint32))
        goals = np.array([self._flow.labels[one] for one in self._function.targets[end.operands[1]]])

        def leave(values: Registers, active: Active, machine: Machine) -> Any:
            numbers = index(values, active, machine)
            if np.any(numbers >= len(goals)):
                raise unknown(end, "it jumps past the end of its table")
            if numbers.ndim == 0:
                return int(goals[int(numbers)])
            found = goals[numbers]
            return [(int(one), np.flatnonzero(found == one)) for one in np.unique(found)]

        return leave


def _one(at: int, compute: Callable[..., Values], a: Source) -> Step:
    def step(values: Registers, active: Active, machine: Machine) -> None:
        values[at] = compute(a(values, active, machine))

    return step


def _two(at: int, compute: Callable[..., Values], a: Source, b: Source) -> Step:
    def step(values: Registers, active: Active, machine: Machine) -> None:
        values[at] = compute(a(values, active, machine), b(values, active, machine))

    return step


def _three(at: int, compute: Callable[..., Values], a: Source, b: Source, c: Source) -> Step:
    def step(values: Registers, active: Active, machine: Machine) -> None:
        values[at] = compute(
            a(values, active, machine), b(values, active, machine), c(values, active, machine)
        )

    return step


def _four(at: int, compute: Callable[..., Values], *sources: Source) -> Step:
    def step(values: Registers, active: Active, machine: Machine) -> None:
        values[at] = compute(*(source(values, active, machine) for source in sources))

    return step


_STEPS_BY_COUNT: dict[int, Callable[..., Step]] = {1: _one, 2: _two, 3: _three, 4: _four}


def _nothing(instruction: Instruction, number: int, operands: Operands) -> Step:
    """Make what orders accesses only as other threads see them, or asks for a line ahead."""
    return lambda values, active, machine: None


def _warp_barrier(instruction: Instruction, number: int, operands: Operands) -> Step:
    """Make `bar.warp.sync`; barriers of the block end a basic block."""

    def step(values: Registers, active: Active, machine: Machine) -> None:
        warps = active.slots[active.starts(5)] >> 5
        machine.warp_moments[warps] += 1

    return step


_OF_MORE_THAN_VALUES: dict[str, Callable[[Instruction, int, Operands], Step]] = {
    "ld": load_step,
    "ldu": load_step,
    "st": store_step,
    "membar": _nothing,
    "fence": _nothing,
    "prefetch": _nothing,
    "prefetchu": _nothing,
    "nanosleep": _nothing,
    "bar": _warp_barrier,
    "atom": atomic_step,
    "red": atomic_step,
    "cp": copy_step,
    **WARP_STEPS,
}

"""A kernel's instructions made steps: what computes from values, what accesses memory, what ends a block.

An instruction's spelling says the types of its operands and what it computes; one that no row has is refused.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from engine.ptx import arithmetic
from engine.ptx.accesses import MEMORY_STEPS
from engine.ptx.arithmetic import BOOL, DTYPES, F16, S32, U32, UNSIGNED, WIDER, Values, as_type
from engine.ptx.instructions import LANE, ROWS, Compute, Lanes, Row, Warps
from engine.ptx.kernel import BasicBlock, PtxKernel
from engine.ptx.machine import Group, Step, registers_of, source_of
from engine.ptx.memory import WARP
from engine.ptx.module import Instruction, PtxError, listed, parsed

Types = Sequence[np.dtype]


class Rule(NamedTuple):
    """The types that an instruction reads its operands as, the one that it writes, and what it computes."""

    result: np.dtype
    sources: tuple[np.dtype, ...]
    compute: Compute  # a value, or a tuple with one for each register that is written
    lanes: bool = False


# T is the type that stands last, I an integer, F a floating-point number, R float32; S stands before it. Each
# with its place, and with NumPy's letters of the types that it may be.
_INTEGERS = "bBhHiIlLqQ"
_SPELLED = {
    "T": (-1, f"?{_INTEGERS}efd"),
    "I": (-1, _INTEGERS),
    "F": (-1, "efd"),
    "R": (-1, "f"),
    "S": (-2, f"?{_INTEGERS}efd"),
}
# U is 32 bits, P a predicate, C the carry flag; W has twice the bits of T, D is signed where S or T is.
_OTHER: dict[str, Callable[[Types], np.dtype]] = {
    "U": lambda types: U32,
    "P": lambda types: BOOL,
    "C": lambda types: BOOL,
    "W": lambda types: WIDER[types[-1]],
    "D": lambda types: S32 if "i" in (types[-2].kind, types[-1].kind) else U32,
}


_ROWS: dict[str, list[Row]] = {}
for _row in ROWS:
    for _name in _row.names.split():
        _ROWS.setdefault(_name, []).append(_row)


@cache
def _flagged(name: str, modifiers: tuple[str, ...]) -> Rule | None:
    """Return a rule with what `.ftz` and `.sat` add to it, where it does not read these itself."""
    if (rule := _plain(name, [*modifiers])) is not None:
        return rule
    rule = _plain(name, [one for one in modifiers if one not in ("ftz", "sat")])
    if rule is None or "f" not in (rule.result.kind, *(one.kind for one in rule.sources)):
        return None
    flushes, saturates = "ftz" in modifiers, "sat" in modifiers and rule.result.kind == "f"
    own = rule.compute

    def compute(*operands: Values) -> Values:
        values = own(*(map(arithmetic.flushed, operands) if flushes else operands))
        values = arithmetic.flushed(values) if flushes else values
        return arithmetic.saturated(values) if saturates else values

    return rule._replace(compute=compute)


def _plain(name: str, modifiers: list[str]) -> Rule | None:
    for row in _ROWS.get(name, ()):
        if (rule := _matched(row, modifiers)) is not None:
            return rule
    rule = _plain(name, [*modifiers[:-1], "f16"]) if modifiers[-1:] == ["f16x2"] else None
    if rule is None or {rule.result, *rule.sources} != {F16}:
        return None
    return Rule(U32, (U32,) * len(rule.sources), partial(_by_halves, rule.compute))


def _matched(row: Row, modifiers: list[str]) -> Rule | None:
    letters = [one for one in row.types if one != ":"]
    spelled = [_SPELLED[one] for one in letters if one in _SPELLED]
    count = -min((at for at, _ in spelled), default=0)
    words, names = modifiers[: len(modifiers) - count], modifiers[len(modifiers) - count :]
    match = re.fullmatch(row.words, ".".join(words))
    if match is None or len(names) < count or not {*names} <= DTYPES.keys() - {"f16x2"}:
        return None
    types = [DTYPES[one] for one in names]
    if any(types[at].char not in known for at, known in spelled):
        return None
    result, *sources = (types[_SPELLED[one][0]] if one in _SPELLED else _OTHER[one](types) for one in letters)
    arguments = (*((result,) if row.typed else ()), *match.groups())
    compute = partial(row.compute, *arguments) if arguments else row.compute
    return Rule(result, tuple(sources), compute, row.lanes)


def _by_halves(compute: Compute, *operands: Values) -> Values:
    halves = [[as_type(one >> np.uint32(shift), F16) for one in operands] for shift in (0, 16)]
    low, high = (arithmetic.half_bits(compute(*half).astype(F16)) for half in halves)
    return low | (high << np.uint32(16))


def _parts(whole: np.dtype, count: int, packs: bool) -> Rule:
    """Return the rule of a `mov` between a register and the parts of one."""
    whole = UNSIGNED[whole.itemsize]
    part = np.dtype(f"u{whole.itemsize // count}")
    shifts = [whole.type(8 * part.itemsize * number) for number in range(count)]

    def pack(*parts: Values) -> Values:
        packed = whole.type(0)
        for one, shift in zip(parts, shifts, strict=True):
            packed = packed | (one.astype(whole) << shift)
        return packed

    def unpack(value: Values) -> tuple[Values, ...]:
        return tuple((value >> shift).astype(part) for shift in shifts)

    return Rule(whole, (part,) * count, pack) if packs else Rule(part, (whole,), unpack)


# The numbers of the blocks where threads go on, with the places of those that do, None for all.
Ways = list[tuple[int, NDArray[np.intp] | None]]
Leave = Callable[[Group], Ways]
Program = list[tuple[list[Step], Leave]]
"""Of each block of a kernel its steps, and what says where threads go on."""


@lru_cache(maxsize=64)
def program_of(kernel: PtxKernel) -> Program:
    """Return what a kernel does."""
    return [(_steps_of(kernel, block), _leave_of(kernel, block)) for block in kernel.blocks]


@lru_cache(maxsize=64)
def kernel_of(ptx: str, entry: str | None = None) -> PtxKernel:
    """Return a kernel of a module; None: its only one."""
    module = parsed(ptx)
    names = [name for name, function in module.functions.items() if function.is_entry]
    if entry is None:
        if len(names) != 1:
            raise PtxError("the module", f"it has {len(names)} kernels; name one of them")
        entry = names[0]
    if entry not in names:
        raise PtxError(f"the kernel {entry}", f"the module has {', '.join(names) or 'none'}")
    return PtxKernel(module, entry)


def _steps_of(kernel: PtxKernel, block: BasicBlock) -> list[Step]:
    steps = []
    for one in block.instructions[: -1 if block.end is not None else None]:
        try:
            steps.append(_OF_MORE_THAN_VALUES.get(one.name, _computing)(one, kernel))
        except PtxError as error:
            raise error.at(one.line) from error
        except (LookupError, ValueError) as error:
            raise one.unknown("its operands are not those that it takes") from error
    return steps


def _computing(instruction: Instruction, kernel: PtxKernel) -> Step:
    packed = [one for one in instruction.operands if instruction.name == "mov" and one[0] == "{"]
    rule = None if packed else _flagged(instruction.name, instruction.modifiers)
    if packed:
        rule = _parts(instruction.dtype, len(listed(packed[0])), instruction.operands[1].startswith("{"))
    if rule is None:
        raise instruction.unknown()
    target, *texts = instruction.operands
    names = [name for text in texts for name in listed(text)]
    if len(names) != len(rule.sources):
        raise instruction.unknown()
    compute, gives_both = rule.compute, "|" in target and rule.result == BOOL
    sources = [source_of(kernel, *pair) for pair in zip(names, rule.sources, strict=True)]
    targets = registers_of(kernel, listed(target.replace("|", ",")))
    if rule.lanes:
        compute = partial(_together, instruction, rule.sources, compute)
        sources = [lambda group: group, *sources]

    def step(group: Group) -> None:
        values = compute(*[source(group) for source in sources])
        if gives_both:
            values = values, ~values
        group.put(targets, values if isinstance(values, tuple) else (values,))

    return step


def _together(
    instruction: Instruction, sources: Sequence[np.dtype], compute: Compute, group: Group, *values: Values
) -> tuple[Values, ...]:
    machine, active = group.machine, group.active
    warps, lanes = len(active.warp_numbers), active.slots & (WARP - 1)
    rows = np.repeat(np.arange(warps), active.threads_of_warps)

    def spread(register: Values, dtype: np.dtype) -> Lanes:
        whole: Lanes = np.zeros((warps, WARP), dtype)
        whole[rows, lanes] = register
        return whole

    def report(bad: Lanes, message: str) -> None:
        if machine.checks and bad.any():
            slots = active.slots[np.broadcast_to(bad, here.shape)[rows, lanes]]
            machine.report("barrier", (instruction.line,), slots[0], message)

    here = counted = spread(np.True_, BOOL)
    registers = [spread(*pair) for pair in zip(values, sources, strict=True)]
    if instruction.name in ("shfl", "vote", "redux", "match"):
        # The last operand is the mask of lanes.
        masks = registers.pop().max(axis=1)
        named = (masks[:, None] >> LANE.astype(U32)) & np.uint32(1) == 1
        missing = (named & ~here).any(1, keepdims=True)
        report(missing, f"a lane that the mask names does not take part in {instruction.name}.sync")
        counted = named & here
    results = compute(Warps(here, counted, report), *registers)
    return tuple(np.broadcast_to(one, here.shape)[rows, lanes] for one in results)


def _leave_of(kernel: PtxKernel, block: BasicBlock) -> Leave:
    end, goals = block.end, [block.number + 1]
    if end is not None and end.name == "trap":
        raise end.unknown("a trap ends the whole launch")
    if end is not None:
        goals = [*(goals if end.guard else ()), *kernel.goals_of(end)]
    if end is None or not (end.guard or end.name == "brx"):
        return lambda group: [(goals[0], None)]
    index = source_of(kernel, end.guard, BOOL) if end.guard else source_of(kernel, end.operands[0], U32)

    def leave(group: Group) -> Ways:
        numbers: Values = index(group)
        most, least = numbers.max(), numbers.min()
        if most >= len(goals):
            raise end.unknown("it jumps past the end of its table")
        if most == least:
            return [(goals[int(most)], None)]
        ways = [(goal, np.flatnonzero(numbers == most.dtype.type(one))) for one, goal in enumerate(goals)]
        return [(goal, at) for goal, at in ways if len(at)]

    return leave


def _nothing(instruction: Instruction, kernel: PtxKernel) -> Step:
    # It orders accesses only as other threads see them, or requests a line ahead.
    return lambda group: None


def _barrier(instruction: Instruction, kernel: PtxKernel) -> Step:
    """Make what threads do once they have waited at a barrier; those of a warp do not wait for each other."""
    joint = instruction.first_of("popc", "and", "or")

    def pass_warp(group: Group) -> None:
        group.machine.warp_moments[group.active.warp_numbers] += 1

    def reduce(group: Group) -> None:
        blocks = group.active.blocks
        there, yes = np.bincount(blocks), np.bincount(blocks, np.broadcast_to(own(group), blocks.shape))
        joined = {"popc": yes.astype(np.uint32), "and": yes == there, "or": yes > 0}[joint]
        group.put(target, [joined[blocks]])

    if "warp" in instruction.modifiers:
        return pass_warp
    if instruction.first_of("sync", "arrive"):
        return _nothing(instruction, kernel)
    if "red" not in instruction.modifiers or not joint:
        raise instruction.unknown()
    target = registers_of(kernel, [instruction.operands[0]])
    own = source_of(kernel, instruction.operands[-1], BOOL)
    return reduce


_OF_MORE_THAN_VALUES: dict[str, Callable[[Instruction, PtxKernel], Step]] = {
    **dict.fromkeys(("membar", "fence", "prefetch", "prefetchu", "nanosleep"), _nothing),
    **MEMORY_STEPS,
    **dict.fromkeys(("bar", "barrier"), _barrier),
}

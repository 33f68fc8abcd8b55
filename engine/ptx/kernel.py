"""A kernel: its code in one piece, its basic blocks in order, and the registers live between them.

The functions that it calls are inlined at each call. What braces and called functions declare gets
names of its own there. An instruction under a guard, `@%p1`, gets a branch around it. Parameters, whose
addresses are never computed, are registers: one for each offset.

A block begins where a branch leads, behind a branch or a return, and at a barrier, where threads wait before
it. Within a block all threads that began it go on together, so most registers are never seen outside of one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any

from engine.ptx.arithmetic import DTYPES, Values
from engine.ptx.memory import ARRAY_SHIFT, refuse_more
from engine.ptx.module import (
    NAME,
    TABLE,
    Function,
    Instruction,
    InstructionSource,
    Module,
    PtxError,
    Variable,
    address_of,
    listed,
    renamed,
)

_INSTRUCTION = re.compile(r"(?:@(!?[%$\w~]+)\s+)?([a-z][\w.:]*)\s*(.*)", re.DOTALL)
_OPERAND = re.compile(r"(?:[^,\[{(]|\[[^\]]*\]|\{[^}]*\}|\([^)]*\))+")
# The carry flag (PTX ISA, 9.7.2) is a register more, named among the operands.
_CARRY = "%carry"
# Calls in calls double what is called; no kernel that somebody wrote is as long.
MOST_INSTRUCTIONS = 50_000
ENDS = ("bra", "around", "brx", "ret", "exit", "trap")
_BARRIERS = "bar", "barrier"
# What these write is not their first operand.
_WRITE_NOTHING = ("st", "red", "membar", "fence", "cp", "prefetch", "prefetchu", "nanosleep", *ENDS)
SPACES = {"shared", "global", "local", "const"}
# Of a block on any device (CUDA C++ Programming Guide, "Compute Capabilities"); of a thread, less than a
# device allows; and of all variables of a module in global and constant memory.
MOST_DECLARED_SHARED, MOST_LOCAL, MOST_STATIC = 48 * 1024, 16 * 1024, 1 << 26


@dataclass(slots=True, eq=False)
class BasicBlock:
    """A basic block: its instructions, of which the last one alone may be a jump or a return."""

    number: int
    instructions: list[Instruction]
    next: list[int] = field(default_factory=list)  # the number of blocks: threads end
    live_in: tuple[int, ...] = ()  # numbers of registers that it, or what follows, reads from before

    @property
    def end(self) -> Instruction | None:
        """The jump or the return at its end, where it has one."""
        return last if (last := self.instructions[-1]).name in ENDS else None

    @property
    def shown(self) -> list[Instruction]:
        """Its instructions as PTX has them: without a branch around what a guard says."""
        return [one for one in self.instructions if one.name != "around"]

    @property
    def waits(self) -> bool:
        """Whether threads wait before it, at the barrier that it begins with."""
        return is_barrier(self.instructions[0])


class PtxKernel:
    """A kernel without calls.

    Its registers and labels have numbers, its variables addresses; of shared and local memory these count
    from the beginning of their window. `granules` has the shortest access to shared, global and local memory
    in bytes; `knows_warps` says whether it has barriers of warps. Raises PtxError for a function that calls
    itself, that the module lacks (`printf`, `malloc`), or that only a pointer names.
    """

    def __init__(self, module: Module, name: str) -> None:
        self.name, self.parameters = name, module.functions[name].parameters
        self.instructions: list[Instruction] = []
        self._functions = module.functions
        self._kinds: dict[str, str] = {}  # the types of registers
        self._variables: dict[str, Variable] = {}
        self._passed: dict[str, tuple[str, int]] = {}
        self._places: dict[str, int] = {}  # the number of the instruction behind each label
        self._tables: dict[str, list[str]] = {}  # the labels in tables of `brx.idx`
        self._put(module.functions[name], {}, "", (name,))
        self.registers = {name: number for number, name in enumerate(self._kinds)}
        self.passed = {self.registers[name]: where for name, where in self._passed.items()}
        """Registers that are parameters, and the offset in these."""
        self.zeros: list[Values] = [DTYPES[kind].type(0) for kind in self._kinds.values()]
        self.granules = dict.fromkeys(("shared", "global", "local"), 4)
        self.knows_warps = any(one.name in _BARRIERS and "warp" in one.modifiers for one in self.instructions)
        for one in self.instructions:
            if one.name in ("ld", "st", "atom", "red") and DTYPES.keys() & {*one.modifiers[-1:]}:
                for space, shortest in self.granules.items():
                    if not (SPACES - {space}) & {*one.modifiers}:
                        self.granules[space] = min(shortest, one.dtype.itemsize)
        self._lay_out([*module.variables.values(), *self._variables.values()])
        self.blocks, self.labels = self._parted()
        for block in self.blocks:
            end, behind = block.end, [block.number + 1]
            block.next = behind if end is None else self.goals_of(end) + (behind if end.guard else [])
        self._find_live()

    def _put(
        self, function: Function, names: Mapping[str, str], suffix: str, callers: tuple[str, ...]
    ) -> None:
        """Append what a function does, by other names for its own; the names of a call end in a suffix."""
        for name, kind in function.registers.items():
            if kind not in DTYPES:
                raise PtxError(f"registers of type .{kind}", "such are not known here")
            self._kinds[names.get(name, name)] = kind
        for variable in function.variables.values():
            name = names.get(variable.name, variable.name)
            self._variables[name] = replace(variable, name=name)
        for own, line in function.body:
            text = renamed(own, names)
            if text[-1] == ":":
                self._places[text[:-1].strip()] = len(self.instructions)
            elif table := TABLE.fullmatch(text):
                self._tables[table[1]] = NAME.findall(table[2])
            else:
                try:
                    self._append(self._instruction(text, line), suffix, callers)
                except (LookupError, ValueError) as error:
                    raise PtxError("the text of PTX", f"this is no instruction: {text[:80]}") from error

    def _instruction(self, text: str, line: InstructionSource) -> Instruction:
        if (parts := _INSTRUCTION.fullmatch(text)) is None:
            raise PtxError("the text of PTX", f"this is no instruction: {text[:80]}")
        name, *modifiers = parts[2].split(".")
        operands = tuple(one.strip() for one in _OPERAND.findall(parts[3]) if one.strip())
        if name in ("addc", "subc", "madc") or "cc" in modifiers:
            self._kinds[_CARRY] = "pred"
            target = f"{operands[0]}|{_CARRY}" if "cc" in modifiers else operands[0]
            operands = (target, *operands[1:], _CARRY)
        return Instruction(name, (*modifiers,), operands, parts[1] or "", line)

    def _append(self, one: Instruction, suffix: str, callers: tuple[str, ...]) -> None:
        """Append an instruction; in place of a call what it calls, of a load of a parameter a move."""
        if one.guard and one.name != "bra":
            label = f"around~{len(self.instructions)}"
            guard = one.guard[1:] if one.guard[0] == "!" else f"!{one.guard}"
            self._emit(one, name="around", modifiers=(), operands=(label,), guard=guard)
            self._append(replace(one, guard=""), suffix, callers)
            self._places[label] = len(self.instructions)
        elif one.name == "call":
            self._call(one, suffix, callers)
        elif suffix and one.name == "ret":
            self._emit(one, name="bra", modifiers=("uni",), operands=(f"behind{suffix}",))
        elif "param" in one.modifiers and one.name in ("ld", "st"):
            is_load, size = one.name == "ld", one.dtype.itemsize
            address = next((text for text in one.operands if text.startswith("[")), "")
            name, first = address_of(address)
            for number, register in enumerate(listed(one.operands[not is_load])):
                offset = first + number * size
                place = f"[{name}+{offset}]" if offset else f"[{name}]"
                self._passed[place], self._kinds[place] = (name, offset), f"b{8 * max(size, 2)}"
                operands = (register, place) if is_load else (place, register)
                self._emit(one, name=f"{one.name}.param", modifiers=one.modifiers[-1:], operands=operands)
        else:
            self._emit(one)

    def _emit(self, one: Instruction, **changes: Any) -> None:
        self.instructions.append(replace(one, number=len(self.instructions), **changes))

    def _call(self, call: Instruction, suffix: str, callers: tuple[str, ...]) -> None:
        operands = list(call.operands)
        results = listed(operands.pop(0)) if operands[0].startswith("(") else []
        name = operands.pop(0)
        arguments = listed(operands.pop(0)) if operands else []
        function = self._functions.get(name)
        why = remedy = ""
        if name in ("vprintf", "printf"):
            name, why, remedy = "printf", "an interpreted kernel cannot print", "Remove it."
        elif function is None:
            why = "the module has no such function, or only a pointer names it"
        elif name in callers:
            why = "a function that calls itself is not interpreted"
        elif len(self.instructions) > MOST_INSTRUCTIONS:
            why = f"with all that it calls the kernel has more than {MOST_INSTRUCTIONS:,} instructions"
        if why or function is None:
            raise PtxError(f"the call of {name}", why, remedy).at(call.line)
        suffix += f"~call{len(self.instructions)}"
        own = (*function.registers, *function.variables, *function.labels)
        names = {one: one + suffix for one in own}
        names |= zip((one.name for one in function.parameters), arguments, strict=True)
        names |= zip((one.name for one in function.results), results, strict=True)
        self._put(function, names, suffix, (*callers, name))
        self._places[f"behind{suffix}"] = len(self.instructions)

    def _lay_out(self, variables: list[Variable]) -> None:
        """Give variables addresses; dynamic shared memory begins behind what is declared."""
        self.statics = [one for one in variables if one.space in ("const", "global")]
        """Its variables in constant and global memory."""
        self.addresses = {one.name: number << ARRAY_SHIFT for number, one in enumerate(self.statics, 1)}
        dynamic = [one for one in variables if one.space == "shared" and one.extern and not one.size]
        sizes = {"shared": 0, "local": 0}
        for one in variables:
            if one.space in sizes and one not in dynamic:
                self.addresses[one.name] = _aligned(sizes[one.space], one.alignment)
                sizes[one.space] = self.addresses[one.name] + one.size
        self.shared_bytes, self.local_bytes = sizes.values()
        refuse_more(self.shared_bytes, MOST_DECLARED_SHARED, "of declared shared memory")
        refuse_more(self.local_bytes, MOST_LOCAL, "of local memory for each thread")
        of_statics = sum(one.size for one in self.statics)
        refuse_more(of_statics, MOST_STATIC, "of variables in global and constant memory")
        for one in dynamic:
            self.shared_bytes = _aligned(self.shared_bytes, max(16, one.alignment))
        self.addresses |= {one.name: self.shared_bytes for one in dynamic}

    def _parted(self) -> tuple[list[BasicBlock], dict[str, int]]:
        instructions = self.instructions
        starts = {0, len(instructions), *self._places.values()}
        for number, one in enumerate(instructions):
            if one.name in ENDS:
                starts.add(number + 1)
            elif is_barrier(one):
                starts.add(number)
        number_at: dict[int, int] = {first: number for number, first in enumerate(sorted(starts))}
        parts = enumerate(pairwise(number_at))
        blocks = [BasicBlock(number, instructions[first:last]) for number, (first, last) in parts]
        return blocks, {name: number_at[number] for name, number in self._places.items()}

    def goals_of(self, end: Instruction) -> list[int]:
        """Return the blocks that a jump or a return may lead to: the number of blocks where threads end."""
        if end.name not in ("bra", "around", "brx"):
            return [len(self.blocks)]
        try:
            labels = self._tables[end.operands[1]] if end.name == "brx" else end.operands[:1]
            return [self.labels[label] for label in labels or ("",)]
        except LookupError as error:
            raise end.unknown("it leads to no place of the kernel") from error

    def _find_live(self) -> None:
        """Find the registers that are live, from the last block to the first until none is new."""
        reads, writes = ([set[int]() for _ in self.blocks] for _ in range(2))
        for block in self.blocks:
            for one in block.instructions:
                reads[block.number] |= self.read_by(one) - writes[block.number]
                writes[block.number] |= self.written_by(one)
        live: list[set[int]] = [set() for _ in range(len(self.blocks) + 1)]
        size = -1
        while size != (size := sum(map(len, live))):
            for block in reversed(self.blocks):
                after = set().union(*(live[number] for number in block.next))
                live[block.number] = reads[block.number] | (after - writes[block.number])
        for block in self.blocks:
            block.live_in = tuple(sorted(live[block.number]))

    def registers_in(self, operand: str) -> list[int]:
        """Return the numbers of the registers that an operand names."""
        names = [operand] if operand in self.registers else NAME.findall(operand)
        return [self.registers[name] for name in names if name in self.registers]

    def written_by(self, one: Instruction) -> set[int]:
        """Return the registers that an instruction writes."""
        return {number for text in one.operands[: _written(one)] for number in self.registers_in(text)}

    def read_by(self, one: Instruction) -> set[int]:
        """Return the registers that an instruction reads, with that of its guard."""
        texts = one.guard, *one.operands[_written(one) :]
        return {number for text in texts for number in self.registers_in(text)}


def is_barrier(one: Instruction) -> bool:
    """Return whether the threads of a block wait at an instruction."""
    return one.name in _BARRIERS and bool(one.first_of("sync", "red")) and "warp" not in one.modifiers


def _aligned(address: int, alignment: int) -> int:
    return -(-address // alignment) * alignment


def _written(one: Instruction) -> int:
    """Return how many operands, from the first on, an instruction writes."""
    if one.name in _BARRIERS:
        return int("red" in one.modifiers)
    return int(bool(one.operands) and one.name not in _WRITE_NOTHING)


_WRITES = ("st", "atom", "red")
_ACCESSES = ("ld", "ldu", "cp", *_WRITES)


@lru_cache(maxsize=64)
def written_parameters(kernel: PtxKernel) -> set[str]:
    """Return the parameters that an address which the kernel writes to may be computed from."""
    writes = [one for one in kernel.instructions if one.name in _WRITES]
    numbers = {number for one in writes for number in kernel.registers_in(one.operands[one.name == "atom"])}
    size = 0
    while size != (size := len(numbers)):
        # From the last one on: most addresses are computed before they are used.
        for one in reversed(kernel.instructions):
            if not numbers.isdisjoint(kernel.written_by(one)):
                numbers.update(kernel.read_by(one))
                if one.name in ("ld", "ldu", "atom"):
                    # Where the address was loaded itself, any.
                    numbers.update(kernel.passed)
    return {kernel.passed[number][0] for number in numbers & kernel.passed.keys()}


@lru_cache(maxsize=64)
def depends_on_contents(kernel: PtxKernel) -> bool:
    """Return whether the accesses of a kernel may depend on what it loads from its arrays.

    Every register that a loaded value reaches counts, in whatever order the instructions run, and what is
    computed where a loaded value decides that it is.
    """
    loaded = set[int]()
    stored = set[str]()  # memories that a loaded value was stored in; "": by a generic address
    decided = set[int]()  # blocks that threads come to, or not, by a loaded value

    def is_loaded(one: Instruction) -> bool:
        reads_loaded = not loaded.isdisjoint(kernel.read_by(one))
        space = one.first_of("shared", "local", "global")
        if one.name == "cp":
            stored.add("shared")
        elif one.name in _WRITES and reads_loaded:
            stored.add(space)
        if one.name in ("ld", "ldu") and space in ("shared", "local"):
            # What was stored anywhere may be loaded everywhere in that memory.
            return reads_loaded or not stored.isdisjoint((space, ""))
        return reads_loaded or one.name in ("ld", "ldu", "atom")

    size = -1
    while size != (size := len(loaded) + len(stored) + len(decided)):
        for block in kernel.blocks:
            for one in block.instructions:
                if is_loaded(one) or block.number in decided:
                    loaded |= kernel.written_by(one)
            if block.end is not None and not loaded.isdisjoint(kernel.read_by(block.end)):
                arms = _decided_by(kernel, block)
                if block.number in arms:
                    return True
                decided |= arms
    return any(
        block.number in decided
        or any(text[0] == "[" and not loaded.isdisjoint(kernel.registers_in(text)) for text in one.operands)
        for block in kernel.blocks
        for one in block.instructions
        if one.name in _ACCESSES
    )


def _decided_by(kernel: PtxKernel, block: BasicBlock) -> set[int]:
    """Return the blocks that threads come to, or not, by what a block decides: until all ways meet again."""
    end = len(kernel.blocks)

    def ahead(without: set[int]) -> set[int]:
        blocks, next_ones = set[int](), [*block.next]
        while next_ones:
            if (number := next_ones.pop()) not in blocks | without:
                blocks.add(number)
                next_ones += kernel.blocks[number].next if number < end else ()
        return blocks

    meets = {number for number in ahead(set()) if end not in ahead({number})} - {block.number}
    return ahead(meets) - {end}

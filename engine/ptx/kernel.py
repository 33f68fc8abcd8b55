"""A kernel: its basic blocks in the order of positions, and the registers live between them.

A block begins where a branch leads, behind a branch or a return, and at a barrier, where threads wait before
it. Within a block all threads that began it go on together, so most registers are never seen outside of one.
"""

import re
from dataclasses import dataclass, field
from itertools import pairwise

from engine.ptx.inline import Code
from engine.ptx.memory import ARRAY_SHIFT, refuse_more
from engine.ptx.module import Instruction, Variable
from engine.ptx.types import DTYPES, Values

ENDS = ("bra", "around", "brx", "ret", "exit", "trap")
# What these write is not their first operand.
_WRITE_NOTHING = ("st", "red", "membar", "fence", "cp", "prefetch", "prefetchu", "nanosleep", *ENDS)
SPACES = {"shared", "global", "local", "const"}
# What a block may have on any device (CUDA C++ Programming Guide, "Compute Capabilities").
MOST_DECLARED_SHARED = 48 * 1024
# Of a thread; a device allows more, which nobody's kernel is quick with.
MOST_LOCAL = 16 * 1024
# All variables of a module in global and constant memory.
MOST_STATIC = 1 << 26


@dataclass(slots=True, eq=False)
class Block:
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


class Kernel:
    """A kernel without calls.

    Its registers and labels have numbers, its variables addresses; of shared and local memory these count
    from the beginning of their window. `shared_granule` and `global_granule` are the shortest access to
    shared and global memory in bytes; `knows_warps` says whether it has barriers of warps.
    """

    def __init__(
        self, name: str, parameters: list[Variable], variables: dict[str, Variable], code: Code
    ) -> None:
        self.name, self.parameters, self.code, self.instructions = name, parameters, code, code.instructions
        self.registers = {name: number for number, name in enumerate(code.registers)}
        self.passed = {self.registers[name]: where for name, where in code.passed.items()}
        self.zeros: list[Values] = [DTYPES[kind].type(0) for kind in code.registers.values()]
        self.shared_granule, self.global_granule = self._shortest("shared"), self._shortest("global")
        self.knows_warps = any(
            one.name in ("bar", "barrier") and "warp" in one.modifiers for one in self.instructions
        )
        self._lay_out([*variables.values(), *code.variables.values()])
        self.blocks, self.labels = self._parted()
        for block in self.blocks:
            end = block.end
            block.next = [*(() if end is None else self.goals_of(end))]
            if end is None or end.guard:
                block.next.append(block.number + 1)
        self._find_live()

    def _lay_out(self, variables: list[Variable]) -> None:
        """Give variables addresses; dynamic shared memory begins behind what is declared."""
        self.addresses: dict[str, int] = {}
        dynamic = [one for one in variables if one.space == "shared" and one.extern and not one.size]
        shared = [one for one in variables if one.space == "shared" and one not in dynamic]
        self.shared_bytes = self._one_after_another(shared)
        refuse_more(self.shared_bytes, MOST_DECLARED_SHARED, "of declared shared memory")
        for one in dynamic:
            self.shared_bytes = _aligned(self.shared_bytes, max(16, one.alignment))
        self.addresses |= {one.name: self.shared_bytes for one in dynamic}
        self.local_bytes = self._one_after_another([one for one in variables if one.space == "local"])
        refuse_more(self.local_bytes, MOST_LOCAL, "of local memory for each thread")
        self.statics = [one for one in variables if one.space in ("const", "global")]
        """Its variables in constant and global memory."""
        size = sum(one.size for one in self.statics)
        refuse_more(size, MOST_STATIC, "of variables in global and constant memory")
        self.addresses |= {one.name: number << ARRAY_SHIFT for number, one in enumerate(self.statics, 1)}

    def _one_after_another(self, variables: list[Variable]) -> int:
        size = 0
        for one in variables:
            self.addresses[one.name] = _aligned(size, one.alignment)
            size = self.addresses[one.name] + one.size
        return size

    def _shortest(self, space: str) -> int:
        sizes = [
            one.dtype.itemsize
            for one in self.instructions
            if one.name in ("ld", "st", "atom", "red")
            and not (SPACES - {space}) & {*one.modifiers}
            and one.modifiers[-1] in DTYPES
        ]
        return min([4, *sizes])

    def _parted(self) -> tuple[list[Block], dict[str, int]]:
        instructions = self.instructions
        starts = {0, len(instructions), *self.code.labels.values()}
        for number, one in enumerate(instructions):
            if one.name in ENDS:
                starts.add(number + 1)
            elif is_barrier(one):
                starts.add(number)
        number_at: dict[int, int] = {first: number for number, first in enumerate(sorted(starts))}
        parts = enumerate(pairwise(number_at))
        blocks = [Block(number, instructions[first:last]) for number, (first, last) in parts]
        return blocks, {name: number_at[number] for name, number in self.code.labels.items()}

    def goals_of(self, end: Instruction) -> list[int]:
        """Return the blocks that a jump or a return may lead to: the number of blocks where threads end."""
        if end.name in ("bra", "around"):
            return [self.labels[end.operands[0]]]
        if end.name == "brx":
            return [self.labels[label] for label in self.code.targets[end.operands[1]]]
        return [len(self.blocks)]

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
        if operand in self.registers:
            return [self.registers[operand]]
        if operand[:1] not in "[{(!" and "|" not in operand:
            return []
        names = re.findall(r"[%$\w~@]+", operand)
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
    words = {*one.modifiers}
    return one.name in ("bar", "barrier") and not words.isdisjoint(("sync", "red")) and "warp" not in words


def _aligned(address: int, alignment: int) -> int:
    return -(-address // alignment) * alignment


def _written(one: Instruction) -> int:
    """Return how many operands, from the first on, an instruction writes."""
    if one.name in ("bar", "barrier"):
        return int("red" in one.modifiers)
    return int(bool(one.operands) and one.name not in _WRITE_NOTHING)

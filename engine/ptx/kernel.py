"""A kernel: its basic blocks in the order of positions, and the registers live between them.

A block begins where a branch leads or after an instruction that ends one: a branch, a return, a barrier.
Within a block all threads that began it go on together, so most registers are never seen outside of one.
"""

import re
from dataclasses import dataclass, field
from itertools import pairwise

from engine.ptx.inline import Code
from engine.ptx.module import Instruction, Variable
from engine.ptx.types import DTYPES, Values

ENDS = ("bra", "brx", "ret", "exit", "trap", "bar", "barrier")
# What these write is not their first operand.
_WRITE_NOTHING = ("st", "red", "membar", "fence", "cp", "prefetch", "prefetchu", "nanosleep", *ENDS)
SPACES = {"shared", "global", "local", "const", "param"}


@dataclass(slots=True, eq=False)
class Block:
    """A basic block: instructions without jumps, and the one that ends it, where one does."""

    number: int
    instructions: list[Instruction]
    end: Instruction | None
    next: list[int] = field(default_factory=list)  # the number of blocks: threads end
    live_in: tuple[int, ...] = ()  # numbers of registers that it, or what follows, reads from before
    reads: set[int] = field(default_factory=set)  # before it writes them
    writes: set[int] = field(default_factory=set)

    @property
    def whole(self) -> list[Instruction]:
        """Its instructions with the one that ends it."""
        return self.instructions if self.end is None else [*self.instructions, self.end]


class Kernel:
    """A kernel without calls.

    Its registers and labels have numbers; `shared_granule` and `global_granule` are the shortest access to
    shared and global memory in bytes; `knows_warps` says whether it has barriers of warps.
    """

    def __init__(
        self, name: str, parameters: list[Variable], variables: dict[str, Variable], code: Code
    ) -> None:
        self.name, self.parameters, self.code, self.instructions = name, parameters, code, code.instructions
        self.variables = {**variables, **code.variables}
        self.registers = {name: number for number, name in enumerate(code.registers)}
        self.zeros: list[Values] = [DTYPES[kind].type(0) for kind in code.registers.values()]
        self.shared_granule, self.global_granule = self._shortest("shared"), self._shortest("global")
        self.knows_warps = any(
            one.name in ("bar", "barrier") and "warp" in one.modifiers for one in self.instructions
        )
        self.blocks, self.labels = self._parted()
        for block in self.blocks:
            self._connect(block)
            for one in block.whole:
                written = self.written_by(one)
                # Where its guard does not hold the old value stays.
                read = {*self.read_by(one), *(written if one.guard is not None else ())}
                block.reads |= read - block.writes
                block.writes |= written
        self._find_live()

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
        starts.update(number + 1 for number, one in enumerate(instructions) if is_end(one))
        blocks: list[Block] = []
        number_at: dict[int, int] = {}
        for first, last in pairwise(sorted(starts)):
            number_at[first] = len(blocks)
            body = instructions[first:last]
            end = body.pop() if is_end(body[-1]) else None
            blocks.append(Block(len(blocks), body, end))
        number_at[len(instructions)] = len(blocks)
        return blocks, {name: number_at[number] for name, number in self.code.labels.items()}

    def _connect(self, block: Block) -> None:
        end = block.end
        if end is not None and end.name == "bra":
            block.next.append(self.labels[end.operands[0]])
        elif end is not None and end.name == "brx":
            block.next += [self.labels[label] for label in self.code.targets[end.operands[1]]]
        elif end is not None and end.name in ("ret", "exit", "trap"):
            block.next.append(len(self.blocks))
        if end is None or end.name in ("bar", "barrier") or end.guard is not None:
            block.next.append(block.number + 1)

    def _find_live(self) -> None:
        """Find the registers that are live, from the last block to the first until none is new."""
        live: list[set[int]] = [set() for _ in range(len(self.blocks) + 1)]
        changed = True
        while changed:
            changed = False
            for block in reversed(self.blocks):
                after = set().union(*(live[number] for number in block.next))
                before = block.reads | (after - block.writes)
                if before != live[block.number]:
                    live[block.number], changed = before, True
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

    def read_by(self, one: Instruction) -> list[int]:
        """Return the registers that an instruction reads, as often as it does, with that of its guard."""
        guard = [] if one.guard is None else [self.registers[one.guard.register]]
        return sum(map(self.registers_in, one.operands[_written(one) :]), guard)


def is_end(instruction: Instruction) -> bool:
    """Return whether an instruction ends a block: a barrier of the warp alone does not."""
    return instruction.name in ENDS and "warp" not in instruction.modifiers


def _written(one: Instruction) -> int:
    """Return how many operands, from the first on, an instruction writes."""
    if one.name in ("bar", "barrier"):
        return int("red" in one.modifiers)
    return int(bool(one.operands) and one.name not in _WRITE_NOTHING)

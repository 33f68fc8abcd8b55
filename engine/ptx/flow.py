"""The flow of a kernel: its basic blocks in the order of positions, and the registers live between them.

A block begins where a branch leads or after an instruction that ends one: a branch, a return, a barrier.
Within a block all threads that began it go on together, so most registers are never seen outside of one.
"""

import re
from dataclasses import dataclass, field
from itertools import pairwise

from engine.ptx.module import Function, Instruction

ENDS = ("bra", "brx", "ret", "exit", "trap", "bar", "barrier")


@dataclass(slots=True, eq=False)
class Block:
    """A basic block: instructions without jumps, and the one that ends it, where one does."""

    number: int
    instructions: list[Instruction]
    end: Instruction | None
    live_in: tuple[int, ...] = ()  # numbers of registers that it, or what follows, reads from before
    live_out: tuple[int, ...] = ()  # of those it writes, the ones that are read after it
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    next: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Flow:
    """A kernel's blocks, and the numbers of its registers and of the blocks that labels name."""

    blocks: list[Block]
    registers: dict[str, int]
    labels: dict[str, int]


def flow_of(function: Function) -> Flow:
    """Return the blocks of a kernel without calls."""
    instructions = function.instructions
    starts = {0, len(instructions)}
    starts.update(number for number in function.labels.values())
    starts.update(number + 1 for number, one in enumerate(instructions) if is_end(one))
    bounds = sorted(starts)
    registers = {name: number for number, name in enumerate(function.registers)}
    blocks: list[Block] = []
    number_at: dict[int, int] = {}
    for first, last in pairwise(bounds):
        number_at[first] = len(blocks)
        body = instructions[first:last]
        end = body.pop() if is_end(body[-1]) else None
        blocks.append(Block(len(blocks), body, end))
    number_at[len(instructions)] = len(blocks)
    labels = {name: number_at[number] for name, number in function.labels.items()}
    for block in blocks:
        _connect(block, labels, function)
        _read_and_write(block, registers)
    _live(blocks)
    return Flow(blocks, registers, labels)


def is_end(instruction: Instruction) -> bool:
    """Return whether an instruction ends a block: a barrier of the warp alone does not."""
    return instruction.name in ENDS and "warp" not in instruction.modifiers


def _connect(block: Block, labels: dict[str, int], function: Function) -> None:
    end = block.end
    if end is not None and end.name == "bra":
        block.next.append(labels[end.operands[0]])
    elif end is not None and end.name == "brx":
        block.next += [labels[label] for label in function.targets[end.operands[1]]]
    leaves = end is not None and end.name in ("bra", "brx", "ret", "exit", "trap") and end.guard is None
    if not leaves:
        block.next.append(block.number + 1)


# What these write is not their first operand.
_WRITE_NOTHING = ("st", "red", "bra", "brx", "ret", "exit", "trap", "bar", "barrier", "membar", "fence", "cp")


def _read_and_write(block: Block, registers: dict[str, int]) -> None:
    """Note which registers a block reads before it writes them, and which it writes."""
    for one in (*block.instructions, *((block.end,) if block.end is not None else ())):
        written: list[int] = []
        first_read = 0
        if one.operands and (one.name not in _WRITE_NOTHING or "red" in one.modifiers):
            written = registers_in(one.operands[0], registers)
            first_read = 1
        read = [number for text in one.operands[first_read:] for number in registers_in(text, registers)]
        if one.guard is not None:
            # Where its guard does not hold the old value stays.
            read += [registers[one.guard.register], *written]
        block.reads.update(number for number in read if number not in block.writes)
        block.writes.update(written)


def registers_in(operand: str, registers: dict[str, int]) -> list[int]:
    """Return the numbers of the registers that an operand names."""
    if operand in registers:
        return [registers[operand]]
    return [registers[name] for name in _names(operand) if name in registers]


def _names(operand: str) -> list[str]:
    if operand[:1] in "[{(!" or "|" in operand:
        return re.findall(r"[%$\w~@]+", operand)
    return [operand]


def _live(blocks: list[Block]) -> None:
    """Find the registers that are live between blocks, from the last block to the first until none is new."""
    live: list[set[int]] = [set() for _ in range(len(blocks) + 1)]
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            after = set().union(*(live[number] for number in block.next))
            before = block.reads | (after - block.writes)
            if before != live[block.number]:
                live[block.number] = before
                changed = True
    for block in blocks:
        after = set().union(*(live[number] for number in block.next))
        block.live_in = tuple(sorted(live[block.number]))
        block.live_out = tuple(sorted(after & block.writes))

"""The loops of compiled CPU code, and the least that a round of each executes. Pure functions, no Numba.

What LLVM writes for x86-64 is read: functions, their blocks, the loops of these, one within another. A round
may take several ways; the least of them counts, so that what follows from it is a lower bound.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

_LABEL = re.compile(r"([^\s:\"#]+):")
_BLOCK = re.compile(r"\.LBB\d+_\d+")
_ADDRESS = re.compile(r"movabsq\s+\$([^,\s]+), %(\w+)")
_ENDS = ("ret", "ud2", "jmp")
# What a processor issues together with the branch that follows it.
_FUSED = re.compile(r"(?:cmp|test|add|sub|and|or|xor|inc|dec)[bwlq]?$")
_REGISTERS = {16: "%zmm", 8: "%ymm", 4: "%xmm"}


class Instruction(NamedTuple):
    """One instruction: its name, and its operands as they are written, the target last."""

    name: str
    operands: str

    @property
    def is_conditional(self) -> bool:
        """Whether it is a branch that may not be taken."""
        return self.name[0] == "j" and not self.name.startswith("jmp")

    def uses(self, vector_floats: int) -> bool:
        """Return whether it works on whole vectors."""
        return _REGISTERS[vector_floats] in self.operands

    @property
    def reads_memory(self) -> bool:
        """Whether it loads a whole operand, not one number for all elements."""
        sources = self.operands.rpartition(", %")[0]
        return "(" in sources and "{1to" not in sources and not self.name.startswith("lea")

    @property
    def writes_memory(self) -> bool:
        """Whether it stores."""
        return self.name.startswith("vmov") and self.operands.endswith(")")

    @property
    def is_multiply_add(self) -> bool:
        """Whether it multiplies float32 numbers, and may add."""
        return self.name.startswith(("vfmadd", "vmulps", "vmulss"))

    @property
    def is_move(self) -> bool:
        """Whether it computes nothing: a copy, a load, a store, or a zero."""
        return self.name.startswith(("vmov", "vbroadcast", "vpbroadcast", "vzero", "vxorps", "vpxor"))

    def vector_share(self, vector_floats: int) -> float:
        """Return 1 for a computation with whole vectors, 0 for what is none.

        A half for one with shorter vectors: it may take half as many units.
        """
        if self.name[0] != "v" or self.is_move:
            return 0.0
        return 1.0 if self.uses(vector_floats) else 0.5


Weight = Callable[[Instruction], float]


@dataclass(eq=False)
class Block:
    """Instructions that are executed one after the other."""

    code: list[Instruction] = field(default_factory=list)
    following: list[str] = field(default_factory=list)  # labels of the blocks that may come next
    calls: list[str] = field(default_factory=list)  # functions of the same code

    def weight(self, of: Weight) -> float:
        """Return what its instructions weigh."""
        return sum(map(of, self.code))

    @property
    def issued(self) -> int:
        """How many instructions are issued; a comparison and its branch are one."""
        together = sum(
            after.is_conditional and bool(_FUSED.match(one.name))
            for one, after in zip(self.code, self.code[1:], strict=False)
        )
        return len(self.code) - together


@dataclass(eq=False)
class Loop:
    """A loop: the label that it begins at, its blocks, and the loops within it."""

    header: str
    labels: frozenset[str]
    inner: tuple["Loop", ...]


@dataclass(eq=False)
class Function:
    """A function: its blocks by their labels, the first one first."""

    name: str
    blocks: dict[str, Block]
    others: dict[str, "Function"] = field(repr=False)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """All loops, those within others too."""
        return tuple(_with_inner(_loops(self.blocks, frozenset(self.blocks))))

    def most(self, loop: Loop, of: Weight) -> float:
        """Return the most that a round weighs beside the loops within it."""
        return sum(self.blocks[label].weight(of) for label in _own(loop))

    def least(self, loop: Loop, of: Weight) -> float:
        """Return the least that a round weighs beside the loops within it."""
        return self._least(loop, lambda block: block.weight(of))

    def least_issued(self, loop: Loop) -> float:
        """Return the fewest instructions that a round issues, those of functions that it calls too."""
        return self._least(loop, self._issued)

    @cached_property
    def least_issued_by_call(self) -> float:
        """The fewest instructions that a call issues."""
        first = next(iter(self.blocks))
        ends = {label for label, block in self.blocks.items() if not block.following}
        return self._path(first, ends, {label: self._issued(block) for label, block in self.blocks.items()})

    def _issued(self, block: Block) -> float:
        called = (self.others.get(name) for name in block.calls)
        return block.issued + sum(one.least_issued_by_call for one in called if one and one is not self)

    def _least(self, loop: Loop, weight: Callable[[Block], float]) -> float:
        own = _own(loop)
        weights = {label: weight(self.blocks[label]) if label in own else 0 for label in loop.labels}
        ends = {label for label in loop.labels if loop.header in self.blocks[label].following}
        return self._path(loop.header, ends, weights)

    def _path(self, first: str, ends: Iterable[str], weights: dict[str, float]) -> float:
        """Return the weight of the lightest way from a block to one of others, through weighted ones only."""
        known, ends = {first: weights[first]}, set(ends)
        waiting = {first}
        while waiting:
            label = min(waiting, key=known.__getitem__)
            if label in ends:
                return known[label]
            waiting.remove(label)
            for after in self.blocks[label].following:
                if after in weights and known[label] + weights[after] < known.get(after, math.inf):
                    known[after] = known[label] + weights[after]
                    waiting.add(after)
        return 0.0


def functions(assembly: str) -> dict[str, Function]:
    """Return the functions of LLVM's assembly for x86-64 by their names."""
    found: dict[str, Function] = {}
    blocks: dict[str, Block] = {}
    block: Block | None = None
    addresses: dict[str, str] = {}
    for line in assembly.split("\n"):
        text = line.partition("#")[0].strip()
        if label := _LABEL.match(line):
            name = label[1]
            if name.startswith(".Lfunc_end"):
                block = None
            elif _BLOCK.fullmatch(name) and block is not None:
                block = _next(blocks, block, name)
            elif not name.startswith(".L"):
                blocks, block, addresses = {name: (block := Block())}, block, {}
                found[name] = Function(name, blocks, found)
        elif block is not None and text and not text.startswith("."):
            if block.code and block.code[-1].name[0] == "j":
                # What follows a branch is a block of its own.
                block = _next(blocks, block, f"{len(blocks)} after a branch")
            name, _, operands = text.replace("\t", " ").partition(" ")
            if name == "lock":
                name, _, operands = operands.strip().partition(" ")
            block.code.append(Instruction(name, operands.strip()))
            if address := _ADDRESS.match(text.replace("\t", " ")):
                addresses[address[2]] = address[1]
            if name.startswith("call"):
                block.calls.append(addresses.get(operands.strip().lstrip("*%"), operands.strip()))
            if name[0] == "j" and _BLOCK.fullmatch(operands.strip()):
                block.following.append(operands.strip())
    return found


def _next(blocks: dict[str, Block], block: Block, label: str) -> Block:
    if not (block.code and block.code[-1].name.startswith(_ENDS)):
        block.following.append(label)
    blocks[label] = Block()
    return blocks[label]


def _own(loop: Loop) -> frozenset[str]:
    return loop.labels.difference(*(one.labels for one in loop.inner))


def _with_inner(loops: Iterable[Loop]) -> Iterator[Loop]:
    for loop in loops:
        yield loop
        yield from _with_inner(loop.inner)


def _loops(blocks: dict[str, Block], labels: frozenset[str]) -> tuple[Loop, ...]:
    """Return the outermost loops among some blocks: parts that can be reached from themselves."""
    found = []
    for part in _parts(blocks, labels):
        header = _header(blocks, part)
        if len(part) > 1 or header in blocks[header].following:
            found.append(Loop(header, part, _loops(blocks, part - {header})))
    return tuple(found)


def _header(blocks: dict[str, Block], part: frozenset[str]) -> str:
    """Return where a loop is entered."""
    for label, block in blocks.items():
        if label not in part:
            for after in block.following:
                if after in part:
                    return after
    return next(label for label in blocks if label in part)


def _parts(blocks: dict[str, Block], labels: frozenset[str]) -> list[frozenset[str]]:
    """Return the strongly connected parts of some blocks (R. Tarjan, 1972), without recursion."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    parts: list[frozenset[str]] = []
    for start in blocks:
        if start not in labels or start in number:
            continue
        number[start] = low[start] = len(number)
        stack.append(start)
        on_stack.add(start)
        ways = [(start, iter(blocks[start].following))]
        while ways:
            label, rest = ways[-1]
            after = next((one for one in rest if one in labels), None)
            if after is None:
                ways.pop()
                if ways:
                    low[ways[-1][0]] = min(low[ways[-1][0]], low[label])
                if low[label] == number[label]:
                    first = stack.index(label)
                    parts.append(frozenset(stack[first:]))
                    on_stack -= parts[-1]
                    del stack[first:]
            elif after not in number:
                number[after] = low[after] = len(number)
                stack.append(after)
                on_stack.add(after)
                ways.append((after, iter(blocks[after].following)))
            elif after in on_stack:
                low[label] = min(low[label], number[after])
    return parts

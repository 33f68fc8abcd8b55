"""The blocks of instructions of a listing, PTX or SASS, where each goes on, and the loops. Pure functions.

A block is entered at its first instruction and left behind its last one. A subroutine (SASS calls one for the
division of 64-bit integers) is part of the same listing.
"""

import re
from dataclasses import dataclass

from engine.explain.code.listing import CodeLine, Listing

_BRANCHES = ("BRA", "bra")
_ENDS = ("EXIT", "RET", "ret", "exit", "trap", "KILL")
_CALL = "CALL"
# A guard in front of an instruction. PT is always true.
_GUARD = re.compile(r"\s*@!?(?!U?PT)")
# A branch that is always taken: no guard is in front, and in SASS no predicate is before the target, and no
# register (BRA.DIV).
_ALWAYS = re.compile(r"\s*(bra\b|BRA\S*\s+`)")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Instructions that run one after another, and the numbers of the blocks that may follow."""

    instructions: tuple[CodeLine, ...]
    next: tuple[int, ...]
    is_end: bool  # whether threads may end here, or return from a subroutine
    calls: int | None = None  # the first block of a subroutine that every warp calls at its end


@dataclass(frozen=True, slots=True)
class CodeLoop:
    """The blocks of a loop; each round begins at `first`."""

    first: int
    blocks: frozenset[int]


def is_guarded(line: CodeLine) -> bool:
    """Return whether an instruction does nothing in threads whose predicate is false."""
    return bool(_GUARD.match(line.text))


def code_blocks(listing: Listing) -> tuple[CodeBlock, ...]:
    """Return the blocks of a listing in its order."""
    lines: list[CodeLine] = []
    labels: dict[str, int] = {}
    for line in listing.lines:
        if line.label:
            labels[line.label] = len(lines)
        if line.kind is not None:
            lines.append(line)
    starts = {0, *labels.values()}
    starts |= {at + 1 for at, line in enumerate(lines) if _name(line) in (*_BRANCHES, *_ENDS, _CALL)}
    ordered = sorted(starts - {len(lines)})
    number = {start: at for at, start in enumerate(ordered)}
    blocks = []
    for at, (start, end) in enumerate(zip(ordered, [*ordered[1:], len(lines)], strict=True)):
        last = lines[end - 1]
        name, target = _name(last), number.get(labels.get(last.target, -1))
        following = [at + 1] if end < len(lines) else []
        if name in _BRANCHES:
            after = [] if _ALWAYS.match(last.text) else following
            following = [*([] if target is None else [target]), *after]
        elif name in _ENDS and not is_guarded(last):
            following = []
        called = target if name == _CALL and not is_guarded(last) else None
        is_end = name in _ENDS
        blocks.append(CodeBlock(tuple(lines[start:end]), tuple(dict.fromkeys(following)), is_end, called))
    return tuple(blocks)


def blocks_before(blocks: tuple[CodeBlock, ...]) -> list[list[int]]:
    """Return for each block those that lead to it: by their end, or by a call."""
    before: list[list[int]] = [[] for _ in blocks]
    for at, block in enumerate(blocks):
        for following in (*block.next, *(() if block.calls is None else (block.calls,))):
            before[following].append(at)
    return before


def code_loops(blocks: tuple[CodeBlock, ...]) -> tuple[CodeLoop, ...]:
    """Return the loops: one for each block that branches lead back to, and that alone leads into it."""
    before = blocks_before(blocks)
    found: dict[int, set[int]] = {}
    for at, block in enumerate(blocks):
        for first in block.next:
            if first <= at:
                loop, waiting = {first}, [at]
                while waiting:
                    one = waiting.pop()
                    if one not in loop:
                        loop.add(one)
                        waiting += before[one]
                # Else the branch leads back from code that the compiler put aside.
                if 0 not in loop or first == 0:
                    found.setdefault(first, set()).update(loop)
    return tuple(CodeLoop(first, frozenset(loop)) for first, loop in sorted(found.items()))


def _name(line: CodeLine) -> str:
    return line.opcode.partition(".")[0]

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
# A guard in front, or, in SASS, a predicate among the operands of a branch. PT is always true.
_GUARD = re.compile(r"\s*@!?(?!U?PT)")
_CONDITION = re.compile(r"\bBRA\S*\s+!?U?P\d")


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """Instructions that run one after another, and the numbers of the blocks that may follow."""

    instructions: tuple[CodeLine, ...]
    next: tuple[int, ...]
    is_end: bool  # whether threads may end here, or return from a subroutine
    calls: int | None = None  # the first block of a subroutine that is called at its end


@dataclass(frozen=True, slots=True)
class CodeLoop:
    """Blocks from `first` to `last`, the last of which leads back to the first."""

    first: int
    last: int

    def holds(self, other: "CodeLoop") -> bool:
        """Return whether another loop lies within."""
        return self != other and self.first <= other.first and other.last <= self.last


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
    starts = {0, *(at for at in labels.values() if at < len(lines))}
    starts |= {at + 1 for at, line in enumerate(lines) if _name(line) in (*_BRANCHES, *_ENDS, _CALL)}
    ordered = sorted(starts - {len(lines)})
    number = {start: at for at, start in enumerate(ordered)}
    blocks = []
    for at, start in enumerate(ordered):
        body = tuple(lines[start : ordered[at + 1] if at + 1 < len(ordered) else len(lines)])
        last, goes_on = body[-1], [at + 1] if at + 1 < len(ordered) else []
        target = number.get(labels.get(last.target, -1))
        name = _name(last)
        if name in _BRANCHES:
            is_choice = is_guarded(last) or bool(_CONDITION.search(last.text))
            following = [*([target] if target is not None else []), *(goes_on if is_choice else [])]
            blocks.append(CodeBlock(body, tuple(dict.fromkeys(following)), is_end=False))
        elif name in _ENDS:
            blocks.append(CodeBlock(body, tuple(goes_on if is_guarded(last) else ()), is_end=True))
        else:
            blocks.append(CodeBlock(body, tuple(goes_on), False, target if name == _CALL else None))
    return tuple(blocks)


def code_loops(blocks: tuple[CodeBlock, ...]) -> tuple[CodeLoop, ...]:
    """Return the loops: one for each block that branches lead back to."""
    ends: dict[int, int] = {}
    for at, block in enumerate(blocks):
        for first in block.next:
            if first <= at:
                ends[first] = max(at, ends.get(first, at))
    return tuple(CodeLoop(*pair) for pair in sorted(ends.items()))


def _name(line: CodeLine) -> str:
    return line.opcode.partition(".")[0]

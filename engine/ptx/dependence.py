"""What the addresses of a kernel are computed from: parameters, or what its arrays hold."""

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

from engine.ptx.kernel import Block, Kernel
from engine.ptx.module import Instruction

_ACCESSES = ("ld", "ldu", "st", "atom", "red", "cp")
_WRITES = ("st", "atom", "red")
_JUMPS = ("bra", "brx", "ret", "exit")
_NAME = re.compile(r"[%$\w]+")
CONTENTS = "what arrays hold"


@lru_cache(maxsize=64)
def depends_on_contents(kernel: Kernel) -> bool:
    """Return whether the accesses of a kernel may depend on what it loads from its arrays.

    Every register that a loaded value reaches counts, in whatever order the instructions run, and what is
    computed where a loaded value decides that it is. Where this is false, the kernel makes the same requests
    whatever its arrays hold.
    """
    blocks, decided_by = kernel.blocks, _decided_by(kernel.blocks)
    origins = _origins(kernel, decided_by)
    for block in blocks:
        if _is_decided(kernel, block, origins):
            arms = [blocks[number] for number in decided_by[block.number]]
            if block in arms or any(one.name in _ACCESSES for arm in arms for one in arm.instructions):
                return True
        for one in block.instructions:
            read = {number for text in one.operands if text[0] == "[" for number in kernel.registers_in(text)}
            if one.guard is not None:
                read.add(kernel.registers[one.guard.register])
            if one.name in _ACCESSES and any(CONTENTS in origins[number] for number in read):
                return True
    return False


@lru_cache(maxsize=64)
def written_parameters(kernel: Kernel) -> frozenset[str]:
    """Return the parameters that an address which the kernel writes to may be computed from."""
    origins = _origins(kernel, {})
    addresses = [one.operands[one.name == "atom"] for one in kernel.instructions if one.name in _WRITES]
    registers = {number for address in addresses for number in kernel.registers_in(address)}
    return frozenset().union(*(origins[number] for number in registers)) - {CONTENTS}


Origins = Mapping[int, set[str]]
"""The parameters that reach a register, and `CONTENTS` where a loaded value does."""


def _origins(kernel: Kernel, decided_by: Mapping[int, set[int]]) -> Origins:
    """Return what reaches each register; what was stored anywhere may be loaded everywhere in that memory."""
    names = {one.name for one in kernel.parameters}
    found: dict[int, set[str]] = defaultdict(set)
    stored: dict[str, set[str]] = defaultdict(set)  # by memory; "": by a generic address

    def given_by(one: Instruction) -> set[str]:
        read = set[str]().union(*(found[number] for number in kernel.read_by(one)))
        space = one.first_of("param", "shared", "local", "global")
        if one.name == "cp":
            stored["shared"].add(CONTENTS)
        elif one.name in _WRITES:
            stored[space] |= read
        if one.name not in ("ld", "ldu", "atom"):
            return read
        if space == "param":
            return names & {*_NAME.findall(one.operands[1])}
        if space in ("shared", "local") and one.name != "atom":
            return (read & {CONTENTS}) | stored[space] | stored[""]
        return {CONTENTS}.union(*stored.values())

    size = -1
    while size != (size := sum(map(len, (*found.values(), *stored.values())))):
        for block in kernel.blocks:
            for one in block.instructions:
                given = given_by(one)
                for number in kernel.written_by(one):
                    found[number] |= given
            if _is_decided(kernel, block, found):
                for number in set[int]().union(
                    *(kernel.blocks[one].writes for one in decided_by.get(block.number, ()))
                ):
                    found[number].add(CONTENTS)
    return found


def _is_decided(kernel: Kernel, block: Block, origins: Origins) -> bool:
    """Return whether a loaded value decides where threads go after a block."""
    end = block.end
    return (
        end is not None
        and end.name in _JUMPS
        and any(CONTENTS in origins[one] for one in kernel.read_by(end))
    )


def _decided_by(blocks: list[Block]) -> dict[int, set[int]]:
    """Return for each block that branches the blocks that threads come to, or not, by what it decides.

    They lie on ways from it to where all ways meet again: the blocks that some ways from it come to before
    those that every way comes to (its post-dominators).
    """
    end = len(blocks)
    on_every_way = {number: {*range(end + 1)} for number in range(end)} | {end: {end}}
    changed = True
    while changed:
        changed = False
        for block in reversed(blocks):
            after = block.next or [end]
            found = {block.number} | set.intersection(*(on_every_way[number] for number in after))
            if found != on_every_way[block.number]:
                on_every_way[block.number], changed = found, True
    decided: dict[int, set[int]] = {}
    for block in blocks:
        if len(block.next) > 1:
            meets = on_every_way[block.number] - {block.number}
            ahead, reached = [*block.next], set[int]()
            while ahead:
                number = ahead.pop()
                if number not in meets and number not in reached and number < end:
                    reached.add(number)
                    ahead += blocks[number].next
            decided[block.number] = reached
    return decided

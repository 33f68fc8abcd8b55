"""Whether what a kernel asks of memory depends on what its arrays hold."""

from functools import lru_cache

from engine.ptx.flow import Block, registers_in
from engine.ptx.kernel import KernelFacts
from engine.ptx.module import Instruction

_ACCESSES = ("ld", "ldu", "st", "atom", "red", "cp")
_STORES = ("st", "red", "cp")
_JUMPS = ("bra", "brx", "ret", "exit")


@lru_cache(maxsize=64)
def depends_on_contents(kernel: KernelFacts) -> bool:
    """Return whether the accesses of a kernel may depend on what it loads from its arrays.

    Every register that a loaded value reaches counts, in whatever order the instructions run, and what is
    computed where a loaded value decides that it is. Where this is false, the kernel makes the same requests
    whatever its arrays hold.
    """
    registers, blocks = kernel.flow.registers, kernel.flow.blocks
    decided_by = _decided_by(blocks)
    loaded: set[int] = set()
    spaces: set[str] = set()  # shared and local memory that loaded values were stored in
    size = -1
    while size != (size := len(loaded) + len(spaces)):
        for block in blocks:
            for one in block.instructions:
                reads = _reads(one, one.operands[1:], registers)
                space = next((word for word in one.modifiers if word in ("param", "shared", "local")), "")
                if one.name in _STORES:
                    if space and (one.name == "cp" or reads & loaded):
                        spaces.add(space)
                elif _gives_loaded(one, space, spaces) or reads & loaded:
                    loaded.update(registers_in(one.operands[0], registers) if one.operands else ())
            if _jumps_by(block, loaded, registers):
                for number in decided_by[block.number]:
                    loaded |= blocks[number].writes
    for block in blocks:
        if _jumps_by(block, loaded, registers):
            arms = [blocks[number] for number in decided_by[block.number]]
            if block in arms or any(one.name in _ACCESSES for arm in arms for one in arm.instructions):
                return True
        for one in block.instructions:
            addresses = [text for text in one.operands if text.startswith("[")]
            if one.name in _ACCESSES and _reads(one, addresses, registers) & loaded:
                return True
    return False


def _reads(one: Instruction, operands: tuple[str, ...] | list[str], registers: dict[str, int]) -> set[int]:
    guard = set() if one.guard is None else {registers[one.guard.register]}
    return guard | {number for text in operands for number in registers_in(text, registers)}


def _gives_loaded(one: Instruction, space: str, spaces: set[str]) -> bool:
    if one.name == "atom":
        return True
    return one.name in ("ld", "ldu") and space != "param" and (not space or space in spaces)


def _jumps_by(block: Block, loaded: set[int], registers: dict[str, int]) -> bool:
    """Return whether a loaded value decides where threads go after a block."""
    end = block.end
    if end is None or end.name not in _JUMPS:
        return False
    return bool(_reads(end, end.operands[:1] if end.name == "brx" else (), registers) & loaded)


def _decided_by(blocks: list[Block]) -> dict[int, set[int]]:
    """Return for each block that branches the blocks that threads come to, or not, by what it decides.

    They lie on ways from it to where all ways meet again: the blocks that some ways from it come to before
    those that every way comes to (its post-dominators).
    """
    end = len(blocks)
    everything = set(range(end + 1))
    on_every_way = dict.fromkeys(range(end), everything) | {end: {end}}
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
        meets = on_every_way[block.number] - {block.number}
        if len(block.next) > 1:
            ahead, reached = [*block.next], set[int]()
            while ahead:
                number = ahead.pop()
                if number not in meets and number not in reached and number < end:
                    reached.add(number)
                    ahead += blocks[number].next
            decided[block.number] = reached
    return decided

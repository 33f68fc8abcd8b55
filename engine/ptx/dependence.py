"""Whether what a kernel asks of memory depends on what its arrays hold."""

from functools import lru_cache

from engine.ptx.kernel import Block, Kernel
from engine.ptx.module import Instruction

_ACCESSES = ("ld", "ldu", "st", "atom", "red", "cp")
_STORES = ("st", "red", "cp")
_JUMPS = ("bra", "brx", "ret", "exit")


@lru_cache(maxsize=64)
def depends_on_contents(kernel: Kernel) -> bool:
    """Return whether the accesses of a kernel may depend on what it loads from its arrays.

    Every register that a loaded value reaches counts, in whatever order the instructions run, and what is
    computed where a loaded value decides that it is. Where this is false, the kernel makes the same requests
    whatever its arrays hold.
    """
    blocks = kernel.blocks
    decided_by = _decided_by(blocks)
    loaded: set[int] = set()
    spaces: set[str] = set()  # shared and local memory that loaded values were stored in

    def is_decided(block: Block) -> bool:
        """Return whether a loaded value decides where threads go after a block."""
        end = block.end
        return end is not None and end.name in _JUMPS and not loaded.isdisjoint(kernel.read_by(end))

    size = -1
    while size != (size := len(loaded) + len(spaces)):
        for block in blocks:
            for one in block.instructions:
                reads_loaded = not loaded.isdisjoint(kernel.read_by(one))
                space = one.first_of("param", "shared", "local")
                if one.name in _STORES:
                    if space and (one.name == "cp" or reads_loaded):
                        spaces.add(space)
                elif _gives_loaded(one, space, spaces) or reads_loaded:
                    loaded |= kernel.written_by(one)
            if is_decided(block):
                loaded.update(*(blocks[number].writes for number in decided_by[block.number]))
    for block in blocks:
        if is_decided(block):
            arms = [blocks[number] for number in decided_by[block.number]]
            if block in arms or any(one.name in _ACCESSES for arm in arms for one in arm.instructions):
                return True
        for one in block.instructions:
            addresses = [text for text in one.operands if text.startswith("[")]
            guard = () if one.guard is None else (one.guard.register,)
            read = {number for text in (*addresses, *guard) for number in kernel.registers_in(text)}
            if one.name in _ACCESSES and read & loaded:
                return True
    return False


def _gives_loaded(one: Instruction, space: str, spaces: set[str]) -> bool:
    if one.name == "atom":
        return True
    return one.name in ("ld", "ldu") and space != "param" and (not space or space in spaces)


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

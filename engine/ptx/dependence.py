"""What a kernel may write to, and whether what it accesses depends on what its arrays hold."""

from functools import lru_cache

from engine.ptx.kernel import Block, Kernel
from engine.ptx.module import Instruction

_WRITES = ("st", "atom", "red")
_ACCESSES = ("ld", "ldu", "cp", *_WRITES)
_JUMPS = ("bra", "brx", "ret", "exit")


@lru_cache(maxsize=64)
def written_parameters(kernel: Kernel) -> set[str]:
    """Return the parameters that an address which the kernel writes to may be computed from."""
    addresses = [one.operands[one.name == "atom"] for one in kernel.instructions if one.name in _WRITES]
    found = {number for address in addresses for number in kernel.registers_in(address)}
    size = 0
    while size != (size := len(found)):
        for one in kernel.instructions:
            if not found.isdisjoint(kernel.written_by(one)):
                found.update(kernel.read_by(one))
                if one.name in ("ld", "ldu", "atom"):
                    # Where the address was loaded itself, any.
                    found.update(kernel.passed)
    return {kernel.passed[number][0] for number in found & kernel.passed.keys()}


@lru_cache(maxsize=64)
def depends_on_contents(kernel: Kernel) -> bool:
    """Return whether the accesses of a kernel may depend on what it loads from its arrays.

    Every register that a loaded value reaches counts, in whatever order the instructions run, and what is
    computed where a loaded value decides that it is. Where this is false, the kernel makes the same requests
    whatever its arrays hold.
    """
    loaded = _loaded(kernel)
    for block in kernel.blocks:
        if _is_decided(kernel, block, loaded):
            arms = _decided_by(kernel, block)
            if block in arms or any(one.name in _ACCESSES for arm in arms for one in arm.instructions):
                return True
        for one in block.instructions:
            read = {number for text in one.operands if text[0] == "[" for number in kernel.registers_in(text)}
            if one.guard is not None:
                read.add(kernel.registers[one.guard.register])
            if one.name in _ACCESSES and read & loaded:
                return True
    return False


def _loaded(kernel: Kernel) -> set[int]:
    """Return the registers that a loaded value reaches.

    What was stored anywhere may be loaded everywhere in that memory.
    """
    found = set[int]()
    stored = set[str]()  # memories that a loaded value was stored in; "": by a generic address

    def is_loaded(one: Instruction) -> bool:
        reads_loaded = not found.isdisjoint(kernel.read_by(one))
        space = one.first_of("shared", "local", "global")
        if one.name == "cp":
            stored.add("shared")
        elif one.name in _WRITES and reads_loaded:
            stored.add(space)
        if one.name not in ("ld", "ldu", "atom"):
            return reads_loaded
        if space in ("shared", "local") and one.name != "atom":
            return reads_loaded or space in stored or "" in stored
        return True

    size = -1
    while size != (size := len(found) + len(stored)):
        for block in kernel.blocks:
            for one in block.instructions:
                if is_loaded(one):
                    found |= kernel.written_by(one)
            if _is_decided(kernel, block, found):
                found.update(*(one.writes for one in _decided_by(kernel, block)))
    return found


def _is_decided(kernel: Kernel, block: Block, loaded: set[int]) -> bool:
    """Return whether a loaded value decides where threads go after a block."""
    end = block.end
    return end is not None and end.name in _JUMPS and not loaded.isdisjoint(kernel.read_by(end))


def _decided_by(kernel: Kernel, block: Block) -> list[Block]:
    """Return the blocks that threads come to, or not, by what a block decides: until all ways meet again."""
    end = len(kernel.blocks)

    def ahead(without: set[int]) -> set[int]:
        found, next_ones = set[int](), [*block.next]
        while next_ones:
            if (number := next_ones.pop()) not in found | without:
                found.add(number)
                next_ones += kernel.blocks[number].next if number < end else ()
        return found

    meets = {number for number in ahead(set()) if end not in ahead({number})} - {block.number}
    return [kernel.blocks[number] for number in ahead(meets) - {end}]

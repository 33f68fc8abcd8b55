"""What a kernel may write to, and whether what it accesses depends on what its arrays hold."""

from functools import lru_cache

from engine.ptx.kernel import Block, Kernel
from engine.ptx.module import Instruction

_WRITES = ("st", "atom", "red")
_ACCESSES = ("ld", "ldu", "cp", *_WRITES)


@lru_cache(maxsize=64)
def written_parameters(kernel: Kernel) -> set[str]:
    """Return the parameters that an address which the kernel writes to may be computed from."""
    writes = [one for one in kernel.instructions if one.name in _WRITES]
    found = {number for one in writes for number in kernel.registers_in(one.operands[one.name == "atom"])}
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
    loaded = set[int]()
    stored = set[str]()  # memories that a loaded value was stored in; "": by a generic address
    decided = set[int]()  # blocks that threads come to, or not, by a loaded value

    def is_loaded(one: Instruction) -> bool:
        reads_loaded = not loaded.isdisjoint(kernel.read_by(one))
        space = one.first_of("shared", "local", "global")
        if one.name == "cp":
            stored.add("shared")
        elif one.name in _WRITES and reads_loaded:
            stored.add(space)
        if one.name in ("ld", "ldu") and space in ("shared", "local"):
            # What was stored anywhere may be loaded everywhere in that memory.
            return reads_loaded or not stored.isdisjoint((space, ""))
        return reads_loaded or one.name in ("ld", "ldu", "atom")

    size = -1
    while size != (size := len(loaded) + len(stored) + len(decided)):
        for block in kernel.blocks:
            for one in block.instructions:
                if is_loaded(one) or block.number in decided:
                    loaded |= kernel.written_by(one)
            if block.end is not None and not loaded.isdisjoint(kernel.read_by(block.end)):
                arms = _decided_by(kernel, block)
                if block.number in arms:
                    return True
                decided |= arms
    return any(
        block.number in decided or any(not loaded.isdisjoint(kernel.registers_in(text)) for text in addresses)
        for block in kernel.blocks
        for one in block.instructions
        if one.name in _ACCESSES
        for addresses in [[text for text in one.operands if text[0] == "["]]
    )


def _decided_by(kernel: Kernel, block: Block) -> set[int]:
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
    return ahead(meets) - {end}

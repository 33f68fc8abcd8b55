"""Products and sums that the assembler makes one operation of: `mul` without `.rn`, and the `add` behind it.

PTX leaves it to the assembler whether a product that only one sum takes is rounded before that. With its
default settings (`-fmad=true`) it is not: with both rounded, one float32 result of `cuda-hue-shift` differed
in its last bit from an H200's. Source: PTX ISA 9.0, section 9.7.3, `mul`.
"""

from collections import Counter
from dataclasses import dataclass

from engine.ptx.flow import Block, registers_in
from engine.ptx.module import Instruction

_REAL = ("f32",), ("f64",)


@dataclass(frozen=True, slots=True)
class Fused:
    """A sum with the product in it: `factors` times each other, negated or not, plus or minus `addend`."""

    factors: tuple[str, str]
    addend: str
    negates_product: bool
    negates_addend: bool


def fused_sums(blocks: list[Block], registers: dict[str, int]) -> dict[int, Fused]:
    """Return what sums compute that take a product with them, by the identity of the instruction."""
    uses = Counter(
        number
        for block in blocks
        for one in (*block.instructions, *((block.end,) if block.end is not None else ()))
        for text in (*one.operands[1:], *((one.guard.register,) if one.guard is not None else ()))
        for number in registers_in(text, registers)
    )
    found: dict[int, Fused] = {}
    for block in blocks:
        products: dict[str, Instruction] = {}
        for one in block.instructions:
            is_real = one.modifiers in _REAL and one.guard is None
            if is_real and one.name in ("add", "sub") and (fused := _fused(one, products)) is not None:
                found[id(one)] = fused
            written = one.operands[0] if one.operands else ""
            # What a product is made of must still be there.
            products = {
                name: made for name, made in products.items() if written not in (name, *made.operands[1:])
            }
            if is_real and one.name == "mul" and written in registers and uses[registers[written]] == 1:
                products[written] = one
    return found


def _fused(one: Instruction, products: dict[str, Instruction]) -> Fused | None:
    _, left, right = one.operands
    is_difference = one.name == "sub"
    if left in products and products[left].modifiers == one.modifiers:
        a, b = products[left].operands[1:]
        return Fused((a, b), right, False, is_difference)
    if right in products and products[right].modifiers == one.modifiers:
        a, b = products[right].operands[1:]
        return Fused((a, b), left, is_difference, False)
    return None

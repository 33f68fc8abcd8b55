"""Products and sums that the assembler makes one operation of: `mul` without `.rn`, and the `add` behind it.

PTX leaves it to the assembler whether a product that only one sum takes is rounded before that. With its
default settings (`-fmad=true`) it is not: with both rounded, one float32 result of `cuda-hue-shift` differed
in its last bit from an H200's. Source: PTX ISA 9.0, section 9.7.3, `mul`.
"""

from collections import Counter

from engine.ptx.floats import fma
from engine.ptx.kernel import Kernel
from engine.ptx.module import Instruction
from engine.ptx.rules import Rule
from engine.ptx.types import Values

_REAL = ("f32",), ("f64",)
Fused = tuple[Rule, list[str]]
"""What a sum with a product in it computes, and its operands: the two factors and the addend."""


def fused_sums(kernel: Kernel) -> dict[int, Fused]:
    """Return what sums compute that take a product with them, by the number of the instruction."""
    uses = Counter(number for one in kernel.instructions for number in kernel.read_by(one))
    found: dict[int, Fused] = {}
    for block in kernel.blocks:
        products: dict[str, Instruction] = {}
        for one in block.instructions:
            is_real = one.modifiers in _REAL and one.guard is None
            if is_real and one.name in ("add", "sub") and (fused := _fused(one, products)) is not None:
                found[one.number] = fused
            written = one.operands[0] if one.operands else ""
            # What a product is made of must still be there.
            products = {
                name: made for name, made in products.items() if written not in (name, *made.operands[1:])
            }
            if is_real and one.name == "mul" and uses[kernel.registers.get(written, -1)] == 1:
                products[written] = one
    return found


def _fused(one: Instruction, products: dict[str, Instruction]) -> Fused | None:
    _, left, right = one.operands
    dtype = one.dtype

    def compute(a: Values, b: Values, c: Values) -> Values:
        return fma(-a if negates_product else a, b, -c if negates_addend else c)

    for name, addend in ((left, right), (right, left)):
        if name in products and products[name].modifiers == one.modifiers:
            negates_product = one.name == "sub" and name == right
            negates_addend = one.name == "sub" and name == left
            return Rule(dtype, (dtype,) * 3, compute), [*products[name].operands[1:], addend]
    return None

"""How much of a multiprocessor instructions of PTX take: issue slots, lanes, tensor cores. Pure functions.

PTX is not what is executed: the compiler folds several instructions into one, and makes several of one. The
weights are those of the machine code that usually becomes of an instruction, chosen so that their sum is
nowhere above what an H200 executed in 180 launches of the teaching kernels: 0.70 to 0.99 of it, half of them
above 0.87 (docs/bounds.md).
"""

import math
import re
from collections.abc import Callable

from engine.explain.code.instruction_classes import InstructionClass, is_ptx_64_bit, ptx_class

Weigh = Callable[[str], float]
"""What an instruction takes, by its spelling such as "add.s64"; for a whole warp."""

# Of 64-bit integers, which machine code has in halves: a product is four instructions, a comparison, a choice
# or a combination two. Every other sum, and of shifts to the left too, becomes part of an address.
_OF_64_BIT = {
    **dict.fromkeys(("mul", "mad"), 4.0),
    **dict.fromkeys(("setp", "selp", "and", "or", "xor", "not", "shr"), 2.0),
    **dict.fromkeys(("add", "sub", "neg", "shl"), 0.5),
}
# A branch that threads may take is three: where they part, the branch, where they meet again. A jump that all
# take goes where the code is laid out in another order. An address needs no conversion to another space.
_OF_NAME = {"bra": 3.0, "bra.uni": 0.0, "cvta": 0.0, "cvt": 0.5}
# Half of the combinations of predicates are part of a comparison.
_OF_PREDICATES = 0.5
_MULTIPLY_ADD = {
    InstructionClass.FLOAT_FMA,
    InstructionClass.FLOAT_ADD,
    InstructionClass.FLOAT_MULTIPLY,
}
# The sides of the three matrices: mma.sync.aligned.m16n8k16.
_SHAPE = re.compile(r"\.m(\d+)n(\d+)k(\d+)\b")


def issue_slots(spelling: str) -> float:
    """Return how many issue slots of a warp an instruction takes."""
    name = spelling.partition(".")[0]
    if spelling.endswith(".pred") and name != "setp":
        return _OF_PREDICATES
    known = _OF_NAME.get(spelling, _OF_NAME.get(name))
    if known is not None:
        return known
    # The factors of a wide product have 32 bits; a load is one whatever it loads.
    is_wide = name in _OF_64_BIT and is_ptx_64_bit(spelling) and ".wide" not in spelling
    return _OF_64_BIT[name] if is_wide else 1.0


def multiply_adds(spelling: str) -> float:
    """Return whether an instruction needs the lanes that multiply and add."""
    return float(ptx_class(spelling) in _MULTIPLY_ADD)


def tensor_multiply_adds(kind: str) -> Weigh:
    """Return the multiply-adds of a tensor core's instruction, on "int8" or "float16"."""
    name = ".s8" if kind == "int8" else ".f16"

    def weigh(spelling: str) -> float:
        if not is_tensor(spelling) or name not in spelling:
            return 0.0
        shape = _SHAPE.search(spelling)
        return float(math.prod(map(int, shape.groups()))) if shape else 0.0

    return weigh


def is_tensor(spelling: str) -> bool:
    """Return whether an instruction is for tensor cores."""
    return ptx_class(spelling) is InstructionClass.TENSOR


def on_64_bit(spelling: str) -> float:
    """Return the issue slots of an instruction on 64-bit integers or addresses."""
    return issue_slots(spelling) if is_ptx_64_bit(spelling) else 0.0

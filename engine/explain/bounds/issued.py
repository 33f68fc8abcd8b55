"""What an instruction takes of a multiprocessor: an issue slot, and lanes. Pure functions.

SASS is what is executed. Of PTX the same is estimated: each instruction counts once, a product of 64-bit
integers four times, a comparison or choice of them twice; a shift of them, a move, a conversion and the
loading of a parameter not at all, since the compiler makes most of them part of another instruction. So
weighed, the least of PTX is below what an H200 executed in each of 180 launches (docs/bounds.md).
"""

import math
import re

from engine.explain.architectures import Architecture
from engine.explain.bounds.least_work import Weigh, instruction
from engine.explain.code.instruction_classes import InstructionClass
from engine.explain.code.listing import CodeLine, Form

_FREE = {InstructionClass.LOAD_PARAMETER, InstructionClass.CONVERSION}
# SASS has 32-bit instructions for it: four multiply, two compare or choose; an address takes a shift with it.
_PTX_64_BIT = {"mul": 4.0, "mad": 4.0, "setp": 2.0, "selp": 2.0, "shl": 0.0, "shr": 0.0}
# What the lanes for whole numbers execute, two warps per clock: seen to be counted so on an H100 (`alu`).
_INTEGER = frozenset(["ISETP", "LOP3", "SHF", "SEL", "FSETP", "FMNMX", "FSEL", "PRMT", "IMNMX", "VIMNMX"])
# These have other lanes too from compute capability 10.0 on.
_INTEGER_BEFORE_10 = frozenset(["IADD3", "LEA", "MOV"])
_MULTIPLY_ADD = frozenset(["FFMA", "FADD", "FMUL", "IMAD"])
_PTX_MULTIPLY_ADD = {
    InstructionClass.FLOAT_FMA,
    InstructionClass.FLOAT_ADD,
    InstructionClass.FLOAT_MULTIPLY,
}
# The sides of the three matrices: HMMA.16816 and mma.sync.aligned.m16n8k16.
_SHAPE = re.compile(r"MMA\.(16|8)(8)(\d+)\b|\.m(\d+)n(\d+)k(\d+)\b")


def issues(form: Form) -> Weigh:
    """Return how many issue slots of a warp an instruction takes."""
    return instruction if form is Form.SASS else _of_ptx


def _of_ptx(line: CodeLine) -> float:
    name = line.opcode.partition(".")[0]
    if line.kind in _FREE or name in ("mov", "cvta"):
        return 0.0
    # The factors of a wide product have 32 bits.
    return _PTX_64_BIT.get(name, 1.0) if line.is_64_bit and ".wide" not in line.opcode else 1.0


def integers(form: Form, architecture: Architecture) -> Weigh | None:
    """Return whether an instruction needs the lanes for whole numbers; None where PTX does not say."""
    if form is Form.PTX:
        return None
    names = _INTEGER if architecture.major >= 10 else _INTEGER | _INTEGER_BEFORE_10
    return lambda line: float(line.opcode.partition(".")[0] in names)


def multiply_adds(form: Form) -> Weigh:
    """Return whether an instruction needs the lanes that multiply and add."""
    if form is Form.PTX:
        return lambda line: float(line.kind in _PTX_MULTIPLY_ADD)
    return lambda line: float(line.opcode.partition(".")[0] in _MULTIPLY_ADD)


def tensor_multiply_adds(kind: str) -> Weigh:
    """Return the multiply-adds of a tensor core's instruction, on "int8" or "float16", for a whole warp."""
    names = ("IMMA", ".s8") if kind == "int8" else ("HMMA", ".f16")

    def weigh(line: CodeLine) -> float:
        if line.kind is not InstructionClass.TENSOR or not any(name in line.opcode for name in names):
            return 0.0
        shape = _SHAPE.search(line.opcode)
        return float(math.prod(int(side) for side in shape.groups() if side)) if shape else 0.0

    return weigh


def on_64_bit(line: CodeLine) -> float:
    """Return whether an instruction is part of one on 64-bit integers or addresses."""
    return float(line.is_64_bit)

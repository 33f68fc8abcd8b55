"""What an instruction does and takes, by its name: classes of PTX and of SASS instructions, issue slots.

PTX is not what is executed: the compiler folds several instructions into one, and makes several of one. How
many issue slots an instruction takes is what the machine code that usually becomes of it takes, chosen so
that their sum is nowhere above what an H200 executed in 180 launches of the teaching kernels: 0.70 to 0.99 of
it, half of them above 0.87 (docs/bounds.md).
"""

import math
import re
from collections.abc import Callable
from enum import StrEnum


class InstructionClass(StrEnum):
    """A class of instructions, in the order in which tables show them."""

    INTEGER_64 = "64-bit integer"
    INTEGER_32 = "32-bit integer"
    FLOAT_ADD = "float32 add"
    FLOAT_MULTIPLY = "float32 multiply"
    FLOAT_FMA = "float32 multiply-add"
    FLOAT_OTHER = "other float"
    FLOAT_64 = "float64"
    TENSOR = "tensor core"
    LOAD_GLOBAL = "load global"
    STORE_GLOBAL = "store global"
    LOAD_SHARED = "load shared"
    STORE_SHARED = "store shared"
    LOAD_CONSTANT = "load constant"
    LOAD_LOCAL = "load local"
    STORE_LOCAL = "store local"
    LOAD_PARAMETER = "load parameter"
    COPY = "copy global to shared"
    ATOMIC = "atomic"
    CONVERSION = "conversion"
    CONTROL = "branch, predicate"
    BARRIER = "barrier"
    MOVE = "move, select"
    OTHER = "other"


_Class = InstructionClass
_LOADS = {
    "global": _Class.LOAD_GLOBAL,
    "shared": _Class.LOAD_SHARED,
    "const": _Class.LOAD_CONSTANT,
    "local": _Class.LOAD_LOCAL,
    "param": _Class.LOAD_PARAMETER,
}
_STORES = {"global": _Class.STORE_GLOBAL, "shared": _Class.STORE_SHARED, "local": _Class.STORE_LOCAL}
_SPACES = {**dict.fromkeys(("ld", "ldu", "ldmatrix"), _LOADS), "st": _STORES}


def _by_name(names: dict[InstructionClass, str]) -> dict[str, InstructionClass]:
    return {name: kind for kind, listed in names.items() for name in listed.split()}


_PTX = _by_name({
    _Class.CONTROL: "setp bra brx ret exit call trap",
    _Class.BARRIER: "bar barrier membar fence mbarrier griddepcontrol",
    _Class.MOVE: "mov selp prmt shfl movmatrix activemask vote",
    _Class.CONVERSION: "cvt cvta",
    _Class.TENSOR: "mma wmma wgmma tcgen05",
    _Class.ATOMIC: "atom red",
})  # fmt: skip
_PTX_FLOAT = _by_name({_Class.FLOAT_ADD: "add sub", _Class.FLOAT_MULTIPLY: "mul", _Class.FLOAT_FMA: "fma"})


def ptx_class(opcode: str) -> InstructionClass:
    """Return the class of a PTX instruction, such as "mad.lo.s32"."""
    name, *suffixes = opcode.split(".")
    if name == "cp":
        is_copy = any(one in ("global", "bulk") for one in suffixes)
        return _Class.COPY if is_copy else _Class.BARRIER
    if name in _SPACES:
        spaces = (one.partition("::")[0] for one in suffixes)
        return _SPACES[name][next((one for one in spaces if one in _SPACES[name]), "global")]
    if name in _PTX:
        return _PTX[name]
    types = [one for one in suffixes if re.fullmatch(r"pred|b?f\d+(x2)?|[subf]\d+", one)]
    kind = types[0] if types else ""
    if kind == "pred":
        return _Class.CONTROL
    if name == "mul" and "wide" in suffixes and kind.endswith("32"):
        # Its result has 64 bits.
        return _Class.INTEGER_64
    if kind == "f64":
        return _Class.FLOAT_64
    if kind == "f32":
        return _PTX_FLOAT.get(name, _Class.FLOAT_OTHER)
    if kind.lstrip("b").startswith("f"):
        return _Class.FLOAT_OTHER
    if kind[1:] == "64":
        return _Class.INTEGER_64
    return _Class.INTEGER_32 if kind else _Class.OTHER


def is_ptx_64_bit(opcode: str) -> bool:
    """Return whether a PTX instruction works on 64-bit integers or addresses, whatever its class."""
    *_, last = opcode.split(".")
    return last in ("s64", "u64", "b64") or ".wide." in opcode


_SASS = _by_name({
    _Class.TENSOR: "HMMA IMMA BMMA DMMA QMMA HGMMA IGMMA QGMMA OMMA UTCHMMA UTCIMMA UTCQMMA",
    _Class.LOAD_GLOBAL: "LDG LD",
    _Class.STORE_GLOBAL: "STG ST",
    _Class.LOAD_SHARED: "LDS LDSM LDS_LDU",
    _Class.STORE_SHARED: "STS STSM",
    _Class.LOAD_LOCAL: "LDL",
    _Class.STORE_LOCAL: "STL",
    _Class.COPY: "LDGSTS UBLKCP UTMALDG",
    _Class.ATOMIC: "ATOM ATOMG ATOMS RED REDG",
    _Class.CONVERSION: "I2F I2FP F2I F2IP F2F F2FP I2I I2IP FRND UF2F UI2F UF2I",
    _Class.CONTROL: (
        "BRA BRX JMP JMX EXIT ENDCOLLECTIVE RET CALL BSSY BSYNC BREAK BMOV WARPSYNC KILL YIELD NANOSLEEP "
        "RPCMOV ISETP FSETP PSETP PLOP3 CSETP HSETP2 UISETP UPLOP3 UPSETP UFSETP P2R R2P UP2UR VOTE VOTEU R2B"
    ),
    _Class.BARRIER: "BAR DEPBAR MEMBAR LDGDEPBAR ERRBAR SYNCS ARRIVES CCTL FENCE ACQBULK",
    _Class.MOVE: (
        "MOV MOV32I UMOV SEL FSEL USEL S2R S2UR CS2R CS2UR PRMT UPRMT SHFL R2UR MOVM LEPC MATCH UFSEL"
    ),
    _Class.FLOAT_ADD: "FADD FADD2 UFADD FADD32I",
    _Class.FLOAT_MULTIPLY: "FMUL FMUL2 UFMUL FMUL32I",
    _Class.FLOAT_FMA: "FFMA FFMA2 UFFMA FFMA32I",
    _Class.FLOAT_OTHER: (
        "MUFU FMNMX FMNMX3 FCHK FSWZADD UFMNMX HADD2 HADD2_32I HMUL2 HFMA2 HMNMX2 HFMA2_MMA FSET FCMP RRO IPA"
    ),
    _Class.FLOAT_64: "DADD DMUL DFMA DSETP DMNMX DSET",
    _Class.INTEGER_32: (
        "IADD3 IADD IADD2 IADD32I VIADD UIADD3 IMAD UIMAD LEA ULEA SHF USHF SHL SHR LOP3 ULOP3 LOP LOP32I "
        "IABS UIABS IMNMX VIMNMX VIMNMX3 UVIMNMX UVIADD IDP IDP4A ISCADD POPC UPOPC FLO UFLO BREV UBREV BMSK "
        "UBMSK REDUX CREDUX SGXT USGXT VABSDIFF VABSDIFF4 VIADDMNMX XMAD IMUL IMUL32I UIMNMX IDE"
    ),
})  # fmt: skip


def sass_class(opcode: str, operands: str = "") -> InstructionClass:
    """Return the class of a SASS instruction, such as "IMAD.WIDE", with its operands.

    SASS has no 64-bit additions: one is an addition with a carry and one that takes it. Instructions that
    give or take a carry, or whose result has 64 bits, count as 64-bit integer ones.
    """
    name, *suffixes = opcode.split(".")
    if name in ("LDC", "ULDC", "LDCU"):
        # The parameters of a kernel lie in constant bank 0.
        return _Class.LOAD_PARAMETER if "c[0x0]" in operands else _Class.LOAD_CONSTANT
    if name == "IMAD" and "MOV" in suffixes:
        return _Class.MOVE
    kind = _SASS.get(name, _Class.OTHER)
    if kind is _Class.INTEGER_32 and is_sass_64_bit(opcode, operands):
        return _Class.INTEGER_64
    return kind


def is_sass_64_bit(opcode: str, operands: str = "") -> bool:
    """Return whether a SASS instruction is part of one on 64-bit integers or addresses."""
    _, *suffixes = opcode.split(".")
    gives_carry = bool(re.match(r"U?R\w+, U?P\d", operands))
    return gives_carry or bool({"WIDE", "X", "EX", "64", "U64", "S64"} & set(suffixes))


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
_MULTIPLY_ADD = {_Class.FLOAT_FMA, _Class.FLOAT_ADD, _Class.FLOAT_MULTIPLY}
# The sides of the three matrices: mma.sync.aligned.m16n8k16.
_SHAPE = re.compile(r"\.m(\d+)n(\d+)k(\d+)\b")


def issue_slots(spelling: str) -> float:
    """Return how many issue slots of a warp an instruction takes."""
    name = spelling.partition(".")[0]
    if spelling.endswith(".pred") and name != "setp":
        # Half of the combinations of predicates are part of a comparison.
        return 0.5
    if (known := _OF_NAME.get(spelling, _OF_NAME.get(name))) is not None:
        return known
    # The factors of a wide product have 32 bits; a load is one whatever it loads.
    is_wide = name in _OF_64_BIT and is_ptx_64_bit(spelling) and ".wide" not in spelling
    return _OF_64_BIT[name] if is_wide else 1.0


def multiply_adds(spelling: str) -> float:
    """Return whether an instruction needs the lanes that multiply and add."""
    return float(ptx_class(spelling) in _MULTIPLY_ADD)


def tensor_multiply_adds(spelling: str) -> float:
    """Return the multiply-adds of a tensor core's instruction on int8."""
    shape = _SHAPE.search(spelling) if is_tensor(spelling) and ".s8" in spelling else None
    return float(math.prod(map(int, shape.groups()))) if shape else 0.0


def is_tensor(spelling: str) -> bool:
    """Return whether an instruction is for tensor cores."""
    return ptx_class(spelling) is _Class.TENSOR


def on_64_bit(spelling: str) -> float:
    """Return the issue slots of an instruction on 64-bit integers or addresses."""
    return issue_slots(spelling) if is_ptx_64_bit(spelling) else 0.0

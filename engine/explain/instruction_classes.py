"""What an instruction does, by its name: classes of PTX and of SASS instructions. Pure tables."""

import re
from enum import StrEnum


class Class(StrEnum):
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


_LOADS = {
    "global": Class.LOAD_GLOBAL, "shared": Class.LOAD_SHARED, "const": Class.LOAD_CONSTANT,
    "local": Class.LOAD_LOCAL, "param": Class.LOAD_PARAMETER,
}  # fmt: skip
_STORES = {"global": Class.STORE_GLOBAL, "shared": Class.STORE_SHARED, "local": Class.STORE_LOCAL}

_PTX = {
    **dict.fromkeys(("setp", "bra", "brx", "ret", "exit", "call", "trap"), Class.CONTROL),
    **dict.fromkeys(("bar", "barrier", "membar", "fence", "mbarrier", "griddepcontrol"), Class.BARRIER),
    **dict.fromkeys(("mov", "selp", "prmt", "shfl", "movmatrix", "activemask", "vote"), Class.MOVE),
    **dict.fromkeys(("cvt", "cvta"), Class.CONVERSION),
    **dict.fromkeys(("mma", "wmma", "wgmma", "tcgen05"), Class.TENSOR),
    **dict.fromkeys(("atom", "red"), Class.ATOMIC),
}
_PTX_FLOAT = {
    "add": Class.FLOAT_ADD,
    "sub": Class.FLOAT_ADD,
    "mul": Class.FLOAT_MULTIPLY,
    "fma": Class.FLOAT_FMA,
}


def ptx_class(opcode: str) -> Class:
    """Return the class of a PTX instruction, such as "mad.lo.s32"."""
    name, *suffixes = opcode.split(".")
    if name == "cp":
        is_copy = any(one in ("global", "bulk") for one in suffixes)
        return Class.COPY if is_copy else Class.BARRIER
    if name in ("ld", "ldu", "ldmatrix"):
        space = next((one.split("::")[0] for one in suffixes if one.split("::")[0] in _LOADS), "global")
        return _LOADS[space]
    if name == "st":
        space = next((one.split("::")[0] for one in suffixes if one.split("::")[0] in _STORES), "global")
        return _STORES[space]
    if name in _PTX:
        return _PTX[name]
    types = [one for one in suffixes if re.fullmatch(r"pred|b?f\d+(x2)?|[subf]\d+", one)]
    kind = types[0] if types else ""
    if kind == "pred":
        return Class.CONTROL
    if name == "mul" and "wide" in suffixes and kind.endswith("32"):
        # Its result has 64 bits.
        return Class.INTEGER_64
    if kind == "f64":
        return Class.FLOAT_64
    if kind == "f32":
        return _PTX_FLOAT.get(name, Class.FLOAT_OTHER)
    if kind.lstrip("b").startswith("f"):
        return Class.FLOAT_OTHER
    if kind[1:] == "64":
        return Class.INTEGER_64
    return Class.INTEGER_32 if kind else Class.OTHER


def is_ptx_64_bit(opcode: str) -> bool:
    """Return whether a PTX instruction works on 64-bit integers or addresses, whatever its class."""
    *_, last = opcode.split(".")
    return last in ("s64", "u64", "b64") or ".wide." in opcode


_SASS = {
    Class.TENSOR: "HMMA IMMA BMMA DMMA QMMA HGMMA IGMMA QGMMA OMMA UTCHMMA UTCIMMA UTCQMMA",
    Class.LOAD_GLOBAL: "LDG LD",
    Class.STORE_GLOBAL: "STG ST",
    Class.LOAD_SHARED: "LDS LDSM LDS_LDU",
    Class.STORE_SHARED: "STS STSM",
    Class.LOAD_LOCAL: "LDL",
    Class.STORE_LOCAL: "STL",
    Class.COPY: "LDGSTS UBLKCP UTMALDG",
    Class.ATOMIC: "ATOM ATOMG ATOMS RED REDG REDUX",
    Class.CONVERSION: "I2F I2FP F2I F2IP F2F F2FP I2I I2IP FRND UF2F UI2F UF2I",
    Class.CONTROL: (
        "BRA BRX JMP JMX EXIT ENDCOLLECTIVE RET CALL BSSY BSYNC BREAK BMOV WARPSYNC KILL YIELD NANOSLEEP "
        "RPCMOV ISETP FSETP PSETP PLOP3 CSETP HSETP2 UISETP UPLOP3 UPSETP UFSETP P2R R2P UP2UR VOTE VOTEU R2B"
    ),
    Class.BARRIER: "BAR DEPBAR MEMBAR LDGDEPBAR ERRBAR SYNCS ARRIVES CCTL FENCE UCGABAR_WAIT ACQBULK",
    Class.MOVE: (
        "MOV MOV32I UMOV SEL FSEL USEL S2R S2UR CS2R CS2UR PRMT UPRMT SHFL R2UR MOVM LEPC MATCH UFSEL"
    ),
    Class.FLOAT_ADD: "FADD FADD2 UFADD FADD32I",
    Class.FLOAT_MULTIPLY: "FMUL FMUL2 UFMUL FMUL32I",
    Class.FLOAT_FMA: "FFMA FFMA2 UFFMA FFMA32I",
    Class.FLOAT_OTHER: (
        "MUFU FMNMX FMNMX3 FCHK FSWZADD UFMNMX HADD2 HADD2_32I HMUL2 HFMA2 HMNMX2 HFMA2_MMA FSET FCMP RRO IPA"
    ),
    Class.FLOAT_64: "DADD DMUL DFMA DSETP DMNMX DSET",
    Class.INTEGER_32: (
        "IADD3 IADD IADD2 IADD32I VIADD UIADD3 IMAD UIMAD LEA ULEA SHF USHF SHL SHR LOP3 ULOP3 LOP LOP32I "
        "IABS UIABS IMNMX VIMNMX VIMNMX3 UVIMNMX UVIADD IDP IDP4A ISCADD POPC UPOPC FLO UFLO BREV UBREV BMSK "
        "UBMSK SGXT USGXT VABSDIFF VABSDIFF4 VIADDMNMX XMAD IMUL IMUL32I UIMNMX IDE"
    ),
}
_SASS_CLASSES = {name: kind for kind, names in _SASS.items() for name in names.split()}


def sass_class(opcode: str, operands: str = "") -> Class:
    """Return the class of a SASS instruction, such as "IMAD.WIDE", with its operands.

    SASS has no 64-bit additions: one is an addition with a carry and one that takes it. Instructions that
    give or take a carry, or whose result has 64 bits, count as 64-bit integer ones.
    """
    name, *suffixes = opcode.split(".")
    if name in ("LDC", "ULDC", "LDCU"):
        # The parameters of a kernel lie in constant bank 0.
        return Class.LOAD_PARAMETER if "c[0x0]" in operands else Class.LOAD_CONSTANT
    if name == "IMAD" and "MOV" in suffixes:
        return Class.MOVE
    kind = _SASS_CLASSES.get(name, Class.OTHER)
    if kind is Class.INTEGER_32 and is_sass_64_bit(opcode, operands):
        return Class.INTEGER_64
    return kind


def is_sass_64_bit(opcode: str, operands: str = "") -> bool:
    """Return whether a SASS instruction is part of one on 64-bit integers or addresses."""
    _, *suffixes = opcode.split(".")
    gives_carry = bool(re.match(r"U?R\w+, U?P\d", operands))
    return gives_carry or bool({"WIDE", "X", "EX", "64", "U64", "S64"} & set(suffixes))

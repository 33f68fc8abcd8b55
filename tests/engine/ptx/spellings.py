"""Every instruction that computes from values alone, in the spellings of compilers, with hard values."""

import itertools
import re

import numpy as np

from engine.ptx.arithmetic import DTYPES

INTEGERS, BITS, WORDS = "s16 u16 s32 u32 s64 u64", "b16 b32 b64", "b32 b64"
WIDE = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}
COMPARE, WAYS, WHOLE = "eq ne lt le gt ge", "rn rz rm rp", "rni rzi rmi rpi"
VALUES = 1024
# Opcodes, the type of the result and those of the operands; what K, W, V and S stand for, by itself or by K.
FAMILIES = [
    ("add.K sub.K mul.lo.K mul.hi.K min.K max.K", "K", "K K", {"K": INTEGERS}),
    ("mad.lo.K", "K", "K K K", {"K": INTEGERS}),
    ("shr.K", "K", "K u32", {"K": INTEGERS}),
    ("setp.W.K", "pred", "K K", {"K": "s16 s32 s64", "W": COMPARE}),
    ("setp.W.K", "pred", "K K", {"K": "u16 u32 u64", "W": "eq ne lo ls hi hs lt ge"}),
    ("mul.wide.K", "V", "K K", {"K": "s16 u16 s32 u32", "V": WIDE}),
    ("mad.wide.K", "V", "K K V", {"K": "s16 u16 s32 u32", "V": WIDE}),
    ("neg.K abs.K", "K", "K", {"K": "s32 s64 s16 f32 f64"}),
    ("and.K or.K xor.K", "K", "K K", {"K": BITS}),
    ("not.K", "K", "K", {"K": BITS}),
    ("shl.K", "K", "K u32", {"K": BITS}),
    ("popc.K clz.K", "u32", "K", {"K": WORDS}),
    ("brev.K", "K", "K", {"K": WORDS}),
    ("bfi.K", "K", "K K u32 u32", {"K": WORDS}),
    ("bfe.K", "K", "K u32 u32", {"K": "u32 s32 u64 s64"}),
    ("bfind.K bfind.shiftamt.K", "u32", "K", {"K": "u32 s32 u64 s64"}),
    ("shf.l.W.b32 shf.r.W.b32", "b32", "b32 b32 u32", {"W": "wrap clamp"}),
    ("prmt.b32", "b32", "b32 b32 b32", {}),
    ("sad.K", "K", "K K K", {"K": "s32 u32"}),
    ("dp4a.K.s32 dp4a.s32.K dp2a.lo.K.s32 dp2a.lo.s32.K", "s32", "b32 b32 s32", {"K": "u32 s32"}),
    ("dp4a.u32.u32 dp2a.lo.u32.u32", "u32", "b32 b32 u32", {}),
    ("add.W.f32 sub.W.f32 mul.W.f32 div.W.f32", "f32", "f32 f32", {"W": WAYS}),
    ("add.rn.f64 sub.rn.f64 mul.rn.f64 div.rn.f64", "f64", "f64 f64", {}),
    ("fma.W.f32", "f32", "f32 f32 f32", {"W": WAYS}),
    ("fma.rn.f64", "f64", "f64 f64 f64", {}),
    ("sqrt.W.f32 rcp.W.f32", "f32", "f32", {"W": WAYS}),
    ("sqrt.rn.f64 rcp.rn.f64", "f64", "f64", {}),
    ("min.K max.K copysign.K", "K", "K K", {"K": "f32 f64"}),
    ("setp.W.K setp.Wu.K setp.num.K setp.nan.K", "pred", "K K", {"K": "f32 f64", "W": COMPARE}),
    ("cvt.W.S.K", "S", "K", {"K": "f32 f64", "W": WHOLE, "S": INTEGERS}),
    ("cvt.rzi.u8.K", "u8", "K", {"K": "f32 f64"}),
    ("cvt.rni.s8.K", "s8", "K", {"K": "f32 f64"}),
    ("cvt.W.K.S", "K", "S", {"K": "f32 f64", "W": WAYS, "S": INTEGERS}),
    ("cvt.W.K.K", "K", "K", {"K": "f32 f64", "W": WHOLE}),
    ("cvt.W.f32.f64", "f32", "f64", {"W": WAYS}),
    ("cvt.W.f16.f32", "f16", "f32", {"W": "rn rz"}),
    ("cvt.f64.f32", "f64", "f32", {}),
    ("cvt.f32.f16", "f32", "f16", {}),
    ("cvt.rn.f16x2.f32", "b32", "f32 f32", {}),
    ("cvt.sat.f32.f32", "f32", "f32", {}),
    ("W.ftz.f32 W.sat.f32", "f32", "f32 f32", {"W": "add sub mul"}),
    ("W.rn.f16", "f16", "f16 f16", {"W": "add sub mul"}),
    ("W.rn.f16x2", "b32", "b32 b32", {"W": "add sub mul"}),
    ("fma.rn.f16", "f16", "f16 f16 f16", {}),
    ("fma.rn.ftz.f32 fma.rn.sat.f32", "f32", "f32 f32 f32", {}),
    ("min.NaN.f32 max.NaN.f32", "f32", "f32 f32", {}),
    ("cvt.K.S", "K", "S", {"K": f"s8 u8 {INTEGERS}", "S": f"s8 u8 {INTEGERS}"}),
    ("cvt.pack.sat.u8.s32.b32", "b32", "s32 s32 b32", {}),
    ("cvt.pack.sat.s16.s32", "b32", "s32 s32", {}),
    ("selp.K", "K", "K K pred", {"K": "s32 u64 f32 b16"}),
]


def spellings() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the type of the result and those of the operands, by opcode."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for opcodes, result, operands, letters in FAMILIES:
        lists = {name: one.split() for name, one in letters.items() if isinstance(one, str)}
        for values in itertools.product(*lists.values()):
            one = dict(zip(lists, values, strict=True))
            if one.get("K") == one.get("S", ""):
                # From a type to itself nothing is converted.
                continue
            one |= {"V": WIDE.get(one.get("K", ""), "")}
            said = [
                re.sub("[KWVS]", lambda name, one=one: one[name[0]], text)
                for text in (opcodes, result, operands)
            ]
            found |= dict.fromkeys(said[0].split(), (said[1], tuple(said[2].split())))
    return found


def divisions() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the same of divisions of integers, which no value divides by zero."""
    return {f"{name}.{kind}": (kind, (kind, kind)) for name in ("div", "rem") for kind in INTEGERS.split()}


APPROXIMATE = {
    # The error that PTX ISA 9.0 documents: in units of 2^-23 of the result, or absolute.
    "div.approx.f32": ("f32", ("f32", "f32")),
    "div.full.f32": ("f32", ("f32", "f32")),
    "rcp.approx.f32": ("f32", ("f32",)),
    "sqrt.approx.f32": ("f32", ("f32",)),
    "rsqrt.approx.f32": ("f32", ("f32",)),
    "ex2.approx.f32": ("f32", ("f32",)),
    "lg2.approx.f32": ("f32", ("f32",)),
}


def values_of(kind: str, random: np.random.Generator, count: int = VALUES) -> np.ndarray:
    """Return random values of a type, its ends and what lies near them."""
    if kind == "pred":
        return random.integers(0, 2, count).astype(np.uint32)
    dtype = DTYPES[kind]
    bits = np.frombuffer(random.bytes(count * dtype.itemsize), f"u{dtype.itemsize}").copy()
    found = bits.view(dtype)
    if dtype.kind == "f":
        info = np.finfo(dtype)
        special = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, info.max, info.min]
        special += [info.smallest_normal, info.smallest_subnormal, -info.smallest_subnormal]
        special += [254.5, 255.5, 256.0, -129.0, 32767.5, 65535.5]
        special += [2147483648.0, -2147483649.0, 9.3e18, 1.9e19]
        half = count // 2
        # Numbers whose sums and products neither overflow nor vanish.
        with np.errstate(all="ignore"):
            found[half:] = np.ldexp(random.random(count - half) - 0.5, random.integers(-12, 12, count - half))
    else:
        info = np.iinfo(dtype)
        special = [0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 127, info.max, info.max - 1, info.min, info.min + 1]
        found[count // 2 :] = random.integers(0, 100, count - count // 2)
    with np.errstate(all="ignore"):
        places = random.choice(count, len(special) * 3, replace=False)
        found[places] = np.tile(np.array(special).astype(dtype), 3)
    return found


_REGISTER = {1: "b16", 2: "b16", 4: "b32", 8: "b64"}


def kernel_of(name: str, opcode: str, result: str, operands: tuple[str, ...]) -> str:
    """Return a kernel that applies an instruction to a value of each array and stores the result."""

    def size_of(kind: str) -> int:
        return 4 if kind == "pred" else DTYPES[kind].itemsize

    def place(of: object, size: int) -> str:
        """Compute the address of a thread's value of an array."""
        return f"ld.param.u64 %address, [{name}_{of}]; mad.wide.u32 %address, %index, {size}, %address;"

    lines, given = [], []
    for number, kind in enumerate(operands):
        size, register = size_of(kind), f"%v{number}"
        loaded = f"{'s' if kind == 's8' else 'b' if size > 1 else 'u'}{8 * size}"
        lines.append(f".reg .{_REGISTER[size]} {register}; {place(number, size)}")
        lines.append(f"ld.global.{loaded} {register}, [%address];")
        if kind == "pred":
            lines.append(f".reg .pred %p{number}; setp.ne.u32 %p{number}, {register}, 0;")
            register = f"%p{number}"
        given.append(register)
    if opcode.startswith("lop3"):
        given.append("0xCA")
    size, computed = size_of(result), "%q" if result == "pred" else "%r"
    lines.append(f".reg .pred %q; .reg .{_REGISTER[size]} %r; {opcode} {computed}, {', '.join(given)};")
    if result == "pred":
        lines.append("selp.u32 %r, 1, 0, %q;")
    lines.append(place("out", size))
    lines.append(f"st.global.{'b' if size > 1 else 'u'}{8 * size} [%address], %r; ret;")
    parameters = ",\n".join(f".param .u64 {name}_{one}" for one in (*range(len(operands)), "out"))
    head = (
        ".reg .b32 %index, %block; .reg .b64 %address;\n"
        "mov.u32 %index, %tid.x; mov.u32 %block, %ctaid.x; mad.lo.s32 %index, %block, 128, %index;\n"
    )
    body = head + "\n".join(lines)
    return f".visible .entry {name}(\n{parameters}\n)\n{{\n{body}\n}}\n"


def module_of(kernels: list[str], target: str = "sm_80") -> str:
    """Return a module of kernels."""
    return f".version 7.8\n.target {target}\n.address_size 64\n\n" + "\n".join(kernels)

"""Every instruction that computes from values alone, in the spellings of compilers, with hard values."""

import itertools

import numpy as np

from engine.ptx.arithmetic import DTYPES

INTEGERS = ("s16", "u16", "s32", "u32", "s64", "u64")
WIDE = {"s16": "s32", "u16": "u32", "s32": "s64", "u32": "u64"}
FLOATS = ("f32", "f64")
COMPARE = ("eq", "ne", "lt", "le", "gt", "ge")
WHOLE = ("rni", "rzi", "rmi", "rpi")
VALUES = 1024


def spellings() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the type of the result and those of the operands, by opcode."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}

    def add(opcode: str, result: str, *operands: str) -> None:
        found[opcode] = result, operands

    for kind in INTEGERS:
        for name in ("add", "sub", "mul.lo", "mul.hi", "min", "max"):
            add(f"{name}.{kind}", kind, kind, kind)
        add(f"mad.lo.{kind}", kind, kind, kind, kind)
        add(f"shr.{kind}", kind, kind, "u32")
        for word in COMPARE if kind[0] == "s" else ("eq", "ne", "lo", "ls", "hi", "hs", "lt", "ge"):
            add(f"setp.{word}.{kind}", "pred", kind, kind)
    for kind, wide in WIDE.items():
        add(f"mul.wide.{kind}", wide, kind, kind)
        add(f"mad.wide.{kind}", wide, kind, kind, wide)
    for kind in ("s32", "s64", "s16"):
        add(f"neg.{kind}", kind, kind)
        add(f"abs.{kind}", kind, kind)
    for kind in ("b16", "b32", "b64"):
        for name in ("and", "or", "xor"):
            add(f"{name}.{kind}", kind, kind, kind)
        add(f"not.{kind}", kind, kind)
        add(f"shl.{kind}", kind, kind, "u32")
    for kind in ("b32", "b64"):
        add(f"popc.{kind}", "u32", kind)
        add(f"clz.{kind}", "u32", kind)
        add(f"brev.{kind}", kind, kind)
        add(f"bfi.{kind}", kind, kind, kind, "u32", "u32")
        for sign in "us":
            own = f"{sign}{kind[1:]}"
            add(f"bfe.{own}", own, own, "u32", "u32")
            add(f"bfind.{own}", "u32", own)
            add(f"bfind.shiftamt.{own}", "u32", own)
    for mode, way in itertools.product(("wrap", "clamp"), "lr"):
        add(f"shf.{way}.{mode}.b32", "b32", "b32", "b32", "u32")
    add("prmt.b32", "b32", "b32", "b32", "b32")
    add("sad.s32", "s32", "s32", "s32", "s32")
    add("sad.u32", "u32", "u32", "u32", "u32")
    for a, b in itertools.product("us", "us"):
        result = "s32" if "s" in a + b else "u32"
        add(f"dp4a.{a}32.{b}32", result, "b32", "b32", result)
        add(f"dp2a.lo.{a}32.{b}32", result, "b32", "b32", result)
    for kind in FLOATS:
        for name in ("add", "sub", "mul"):
            for way in ("rn", "rz", "rm", "rp") if kind == "f32" else ("rn",):
                add(f"{name}.{way}.{kind}", kind, kind, kind)
        for way in ("rn", "rz", "rm", "rp") if kind == "f32" else ("rn",):
            add(f"fma.{way}.{kind}", kind, kind, kind, kind)
            add(f"div.{way}.{kind}", kind, kind, kind)
            add(f"sqrt.{way}.{kind}", kind, kind)
            add(f"rcp.{way}.{kind}", kind, kind)
        for name in ("min", "max"):
            add(f"{name}.{kind}", kind, kind, kind)
        for name in ("neg", "abs"):
            add(f"{name}.{kind}", kind, kind)
        for word in (*COMPARE, *(f"{one}u" for one in COMPARE), "num", "nan"):
            add(f"setp.{word}.{kind}", "pred", kind, kind)
        add(f"copysign.{kind}", kind, kind, kind)
        for way, whole in itertools.product(WHOLE, INTEGERS):
            add(f"cvt.{way}.{whole}.{kind}", whole, kind)
        add(f"cvt.rzi.u8.{kind}", "u8", kind)
        add(f"cvt.rni.s8.{kind}", "s8", kind)
        for way in ("rn", "rz", "rm", "rp"):
            for whole in INTEGERS:
                add(f"cvt.{way}.{kind}.{whole}", kind, whole)
        for way in WHOLE:
            add(f"cvt.{way}.{kind}.{kind}", kind, kind)
    for way in ("rn", "rz", "rm", "rp"):
        add(f"cvt.{way}.f32.f64", "f32", "f64")
    for way in ("rn", "rz"):
        add(f"cvt.{way}.f16.f32", "f16", "f32")
    add("cvt.f64.f32", "f64", "f32")
    add("cvt.f32.f16", "f32", "f16")
    add("cvt.rn.f16x2.f32", "b32", "f32", "f32")
    add("cvt.sat.f32.f32", "f32", "f32")
    for name in ("add", "sub", "mul"):
        add(f"{name}.ftz.f32", "f32", "f32", "f32")
        add(f"{name}.sat.f32", "f32", "f32", "f32")
        add(f"{name}.rn.f16", "f16", "f16", "f16")
        add(f"{name}.rn.f16x2", "b32", "b32", "b32")
    add("fma.rn.f16", "f16", "f16", "f16", "f16")
    add("fma.rn.ftz.f32", "f32", "f32", "f32", "f32")
    add("fma.rn.sat.f32", "f32", "f32", "f32", "f32")
    add("min.NaN.f32", "f32", "f32", "f32")
    add("max.NaN.f32", "f32", "f32", "f32")
    for source, result in itertools.permutations(("s8", "u8", *INTEGERS), 2):
        add(f"cvt.{result}.{source}", result, source)
    add("cvt.pack.sat.u8.s32.b32", "b32", "s32", "s32", "b32")
    add("cvt.pack.sat.s16.s32", "b32", "s32", "s32")
    for kind in ("s32", "u64", "f32", "b16"):
        add(f"selp.{kind}", kind, kind, kind, "pred")
    return found


def divisions() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the same of divisions of integers, which no value divides by zero."""
    kinds = ("s32", "u32", "s64", "u64", "s16", "u16")
    return {f"{name}.{kind}": (kind, (kind, kind)) for name in ("div", "rem") for kind in kinds}


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
    sizes = [4 if kind == "pred" else DTYPES[kind].itemsize for kind in operands]
    lines, given = [], []
    for number, (kind, size) in enumerate(zip(operands, sizes, strict=True)):
        register = f"%v{number}"
        loaded = "b32" if kind == "pred" else f"{'s' if kind == 's8' else 'b' if size > 1 else 'u'}{8 * size}"
        lines += [
            f".reg .{'b32' if kind == 'pred' else _REGISTER[size]} {register};",
            f"ld.param.u64 %address, [{name}_{number}];",
            f"mad.wide.u32 %address, %index, {size}, %address;",
            f"ld.global.{loaded} {register}, [%address];",
        ]
        if kind == "pred":
            lines += [f".reg .pred %p{number};", f"setp.ne.u32 %p{number}, {register}, 0;"]
            register = f"%p{number}"
        given.append(register)
    if opcode.startswith("lop3"):
        given.append("0xCA")
    size = 4 if result == "pred" else DTYPES[result].itemsize
    if result == "pred":
        lines += [
            ".reg .pred %q;",
            ".reg .b32 %r;",
            f"{opcode} %q, {', '.join(given)};",
            "selp.u32 %r, 1, 0, %q;",
        ]
    else:
        lines += [f".reg .{_REGISTER[size]} %r;", f"{opcode} %r, {', '.join(given)};"]
    lines += [
        f"ld.param.u64 %address, [{name}_out];",
        f"mad.wide.u32 %address, %index, {size}, %address;",
        f"st.global.{'b' if size > 1 else 'u'}{8 * size} [%address], %r;",
        "ret;",
    ]
    parameters = ",\n".join(f".param .u64 {name}_{one}" for one in (*range(len(operands)), "out"))
    head = [
        ".reg .b32 %index;",
        ".reg .b32 %block;",
        ".reg .b64 %address;",
        "mov.u32 %index, %tid.x;",
        "mov.u32 %block, %ctaid.x;",
        "mad.lo.s32 %index, %block, 128, %index;",
    ]
    return f".visible .entry {name}(\n{parameters}\n)\n{{\n" + "\n".join(head + lines) + "\n}\n"


def module_of(kernels: list[str], target: str = "sm_80") -> str:
    """Return a module of kernels."""
    return f".version 7.8\n.target {target}\n.address_size 64\n\n" + "\n".join(kernels)

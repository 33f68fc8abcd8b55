"""What each instruction computes from values alone: no memory, no other thread, no jump.

Source: PTX ISA 9.0, chapter 9.7.
"""

from functools import partial

import numpy as np

from engine.ptx import floats, integers
from engine.ptx.memory import LOCAL_WINDOW, SHARED_WINDOW
from engine.ptx.rules import Compute, Row
from engine.ptx.types import DTYPES, U32, Values, unsigned

_COMPARE: dict[str, Compute] = {
    "eq": np.equal,
    "ne": np.not_equal,
    **dict.fromkeys(("lt", "lo"), np.less),
    **dict.fromkeys(("le", "ls"), np.less_equal),
    **dict.fromkeys(("gt", "hi"), np.greater),
    **dict.fromkeys(("ge", "hs"), np.greater_equal),
}
_COMPARE_REAL: dict[str, Compute] = {
    "ne": lambda a, b: (a < b) | (a > b),
    "num": lambda a, b: ~floats.unordered(a, b),
    "nan": floats.unordered,
    **{
        f"{name}u": lambda a, b, ordered=_COMPARE[name]: ordered(a, b) | floats.unordered(a, b)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
}
_JOIN = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _joined(compare: Compute, joint: str, a: Values, b: Values, predicate: Values) -> Values:
    return _JOIN[joint](compare(a, b), predicate)


def _as_number(compare: Compute, result: np.dtype, joint: str, a: Values, b: Values, *c: Values) -> Values:
    """Return the result of `set`: 1.0, or all bits set, where a comparison holds."""
    holds = _joined(compare, joint, a, b, *c) if joint else compare(a, b)
    yes = result.type(1) if result.kind == "f" else ~result.type(0)
    return np.where(holds, yes, result.type(0))[()]


def _address(back: str | None, space: str, a: Values) -> Values:
    """Return the result of `cvta`: an address of one memory as a generic one, or back."""
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space, 0)
    shift = a.dtype.type(window if a.dtype.itemsize == 8 else 0)
    return a - shift if back else a + shift


def _converted(result: np.dtype, direction: str, a: Values) -> Values:
    if a.dtype.kind == "f":
        return (floats.between_floats if result.kind == "f" else floats.to_integer)(result, direction, a)
    return floats.from_integer(result, direction, a) if result.kind == "f" else a.astype(result)


def _packed(kind: str, high: Values, low: Values, rest: Values | None = None) -> Values:
    """Return the result of `cvt.pack`: two integers, the first above the second, below what a third has."""
    dtype, own, bits = DTYPES[kind], unsigned(DTYPES[kind]), np.uint32(8 * DTYPES[kind].itemsize)
    upper, lower = (integers.clipped(dtype, one).view(own).astype(U32) for one in (high, low))
    packed = (upper << bits) | lower
    return packed if rest is None else (rest << (bits + bits)) | packed


def choose(a: Values, b: Values, condition: Values) -> Values:
    """Return a where the condition holds, else b."""
    if condition.ndim == 0:
        return a if condition else b
    return np.where(condition, a, b)


def _comparisons(word: str, kind: str, compare: Compute) -> tuple[Row, ...]:
    """Return the rows of a comparison, alone and joined with a predicate."""
    joint, number = rf"{word}\.({'|'.join(_JOIN)})", partial(_as_number, compare)
    return (
        Row("setp", word, f"P:{kind}{kind}", compare),
        Row("setp", joint, f"P:{kind}{kind}P", partial(_joined, compare)),
        Row("set", f"{word}()", f"S:{kind}{kind}", number, typed=True),
        Row("set", joint, f"S:{kind}{kind}P", number, typed=True),
    )


ROWS = (
    Row("mov", "", "T:T", lambda a: a),
    Row("neg", "", "T:T", np.negative),
    Row("abs", "", "T:T", np.abs),
    Row("not", "", "T:T", np.invert),
    Row("and", "", "T:TT", np.bitwise_and),
    Row("or", "", "T:TT", np.bitwise_or),
    Row("xor", "", "T:TT", np.bitwise_xor),
    Row("add", "(?:rn)?", "T:TT", np.add),
    Row("sub", "(?:rn)?", "T:TT", np.subtract),
    Row("mul", "(?:rn)?", "T:TT", np.multiply),
    Row("min", "", "T:TT", floats.least),
    Row("max", "", "T:TT", floats.greatest),
    Row("selp", "", "T:TTP", choose),
    Row("slct", "(?:ftz)?", "S:SST", lambda a, b, c: choose(a, b, c >= 0)),
    # Integers.
    Row("add", "sat", "I:II", integers.saturating_add),
    Row("sub", "sat", "I:II", partial(integers.saturating_add, sign=-1)),
    Row("mul", "lo", "I:II", np.multiply),
    Row("mul", "hi", "I:II", integers.high_product),
    Row("mul", "wide", "W:II", integers.wide_product),
    Row("mad", "(lo|hi)", "I:III", integers.multiply_add),
    Row("mad", "(wide)", "W:IIW", integers.multiply_add),
    Row("mul24", "(lo|hi)", "I:II", integers.product_24),
    Row("mad24", "(lo|hi)", "I:III", integers.product_24),
    Row("add", "cc", "I:IIC", partial(integers.add_with_carry, False, 1)),
    Row("sub", "cc", "I:IIC", partial(integers.add_with_carry, False, -1)),
    Row("mad", r"(lo|hi)\.cc", "I:IIIC", partial(integers.multiply_add_with_carry, False)),
    Row("addc", "(?:cc)?", "I:IIC", partial(integers.add_with_carry, True, 1)),
    Row("subc", "(?:cc)?", "I:IIC", partial(integers.add_with_carry, True, -1)),
    Row("madc", r"(lo|hi)(?:\.cc)?", "I:IIIC", partial(integers.multiply_add_with_carry, True)),
    Row("div", "", "I:II", integers.quotient),
    Row("rem", "", "I:II", integers.remainder),
    Row("sad", "", "I:III", lambda a, b, c: np.where(a > b, a - b, b - a)[()] + c),
    Row("cnot", "", "I:I", lambda a: (a == 0).astype(a.dtype)),
    Row("shl", "", "I:IU", lambda a, b: np.left_shift(a, b.astype(a.dtype))),
    Row("shr", "", "I:IU", lambda a, b: np.right_shift(a, b.astype(a.dtype))),
    Row("shf", r"(l|r)\.?(wrap|clamp|)", "I:IIU", integers.funnel_shift),
    Row("popc", "", "U:I", integers.population),
    Row("clz", "", "U:I", integers.leading_zeros),
    Row("bfind", "", "U:I", integers.find_leading),
    Row("bfind", "shiftamt", "U:I", integers.shift_to_leading),
    Row("brev", "", "I:I", integers.reverse),
    Row("bfe", "", "I:IUU", integers.extract_field),
    Row("bfi", "", "I:IIUU", integers.insert_field),
    Row("lop3", "", "I:IIIU", integers.logic_3),
    Row("prmt", "", "I:III", integers.permute),
    Row("dp4a", "", "D:STD", partial(integers.dot, 8, 0)),
    Row("dp2a", "lo", "D:STD", partial(integers.dot, 16, 0)),
    Row("dp2a", "hi", "D:STD", partial(integers.dot, 16, 2)),
    # Floating-point numbers: `.approx` and `.full` are within 2 units in the last place.
    Row("fma mad", "(?:rn)?", "F:FFF", floats.fma),
    Row("div", "(?:rn|full)?", "F:FF", np.divide),
    Row("div", "approx", "F:FF", floats.reciprocal_product),
    Row("sqrt", "(?:rn|approx)?", "F:F", np.sqrt),
    Row("rcp", "(?:rn|approx)?", "F:F", lambda a: a.dtype.type(1) / a),
    *(Row(name, "(?:approx)?", "F:F", floats.approximate(one)) for name, one in floats.APPROXIMATE.items()),
    *(
        Row(name, "(rz|rm|rp)", "R:RR", partial(floats.directed, name))
        for name in ("add", "sub", "mul", "div")
    ),
    *(Row(name, "(rz|rm|rp)", "R:R", partial(floats.directed, name)) for name in ("sqrt", "rcp")),
    Row("fma mad", "(rz|rm|rp)", "R:RRR", partial(floats.directed, "fma")),
    Row("copysign", "", "F:FF", lambda a, b: np.copysign(b, a)),
    Row("min", "NaN", "F:FF", partial(floats.propagating, floats.least)),
    Row("max", "NaN", "F:FF", partial(floats.propagating, floats.greatest)),
    Row("testp", f"({'|'.join(floats.PROPERTIES)})", "P:F", lambda word, a: floats.PROPERTIES[word](a)),
    # Conversions.
    Row("cvt", "sat", "J:I", integers.clipped, typed=True),
    Row("cvt", "(rn|rz|rm|rp|rna|rni|rzi|rmi|rpi|)", "S:T", _converted, typed=True),
    Row("cvt", r"(rn|rz|rm|rp|rna|)\.?f16x2", "U:TT", floats.two_halves),
    Row("cvt", r"pack\.sat\.([su](?:8|16))", "U:II", _packed),
    Row("cvt", r"pack\.sat\.([su](?:8|16))", "T:SST", _packed),
    Row("cvta", r"(to\.)?(shared|local|global|const|param)(?:::\w+)?", "I:I", _address),
    # Comparisons, of floating-point numbers first.
    *(
        row
        for known, kind in ((_COMPARE_REAL, "F"), (_COMPARE, "T"))
        for word, compare in known.items()
        for row in _comparisons(word, kind, compare)
    ),
)

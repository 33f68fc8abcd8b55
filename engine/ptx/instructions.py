"""What each instruction computes from values alone, or the lanes of a warp together: no memory, no jump.

What NumPy lacks of floating-point numbers is in `arithmetic`. Lanes exchange values in arrays of shape
(warps, 32), zero for lanes that take no part. One that the mask names and that takes no part is reported.
Source: PTX ISA 9.0, chapter 9.7; of lanes sections 9.7.9.6 (`shfl.sync`), 9.7.13 (votes, `redux.sync`) and
9.7.15.5 (`mma`: which lane holds which element).
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from engine.ptx import arithmetic
from engine.ptx.arithmetic import BITWISE, DTYPES, F64, S32, U32, U64, UNSIGNED, WIDER, Values, as_type
from engine.ptx.memory import LOCAL_WINDOW, SHARED_WINDOW, WARP

Compute = Callable[..., Values]


class Row(NamedTuple):
    """A line of the table of instructions.

    `words` is a regular expression of the modifiers before the types, whose groups `compute` gets before the
    operands, and before these the type of the result where it is `typed`.
    """

    names: str  # of instructions
    words: str
    types: str  # a letter for the result, and one for each operand (`engine.ptx.program`)
    compute: Compute
    typed: bool = False
    lanes: bool = False  # those of a warp are computed together


# Integers.


def _quotient(a: Values, b: Values) -> Values:
    """Return a quotient of integers rounded towards zero; -1, all bits set, for a division by zero."""
    quotient = (a - np.fmod(a, b)) // b if a.dtype.kind == "i" else a // b
    chosen: Values = np.where(b == 0, ~a.dtype.type(0), quotient)
    return chosen[()]


def _wide_product(a: Values, b: Values) -> Values:
    wide = WIDER[a.dtype]
    return a.astype(wide) * b.astype(wide)


def _high_product(a: Values, b: Values) -> Values:
    dtype = a.dtype
    if dtype.itemsize < 8:
        return (_wide_product(a, b) >> WIDER[dtype].type(8 * dtype.itemsize)).astype(dtype)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x, y = a.view(U64), b.view(U64)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    high = x1 * y1 + (middle >> half) + ((x0 * y1 + (middle & low)) >> half)
    if dtype.kind == "i":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return high.view(dtype)[()]


_PRODUCTS: dict[str, Compute] = {"lo": np.multiply, "hi": _high_product, "wide": _wide_product}


def _multiply_add(part: str, a: Values, b: Values, c: Values) -> Values:
    return _PRODUCTS[part](a, b) + c


def _funnel_shift(direction: str, mode: str, low: Values, high: Values, count: Values) -> Values:
    """Return the upper, or for "r" the lower, half of 64 bits that are shifted."""
    n = (count & np.uint32(31)) if mode == "wrap" else np.minimum(count, np.uint32(32))
    n, both = n.astype(U64), (high.astype(U64) << np.uint64(32)) | low.astype(U64)
    return (both >> n if direction == "r" else (both << n) >> np.uint64(32)).astype(U32)


def _population(a: Values) -> Values:
    return np.bitwise_count(a).astype(U32)


def _find_leading(a: Values) -> Values:
    """Return the place of the highest bit unlike the sign, -1 where there is none."""
    own = np.where(a < 0, ~a, a)[()].view(UNSIGNED[a.dtype.itemsize]) if a.dtype.kind == "i" else a
    return _population(_smeared(own)) - np.uint32(1)


def _shift_to_leading(a: Values) -> Values:
    place = _find_leading(a)
    return np.where(~place == 0, place, np.uint32(8 * a.dtype.itemsize - 1) - place)[()]


def _smeared(bits: Values) -> Values:
    """Return numbers with every bit below their highest one set."""
    for shift in (1, 2, 4, 8, 16, 32)[: int(bits.dtype.itemsize).bit_length() + 2]:
        bits = bits | (bits >> bits.dtype.type(shift))
    return bits


def _reverse(a: Values) -> Values:
    bits = np.unpackbits(np.reshape(a, (-1, 1)).view(np.uint8), axis=1)
    return np.packbits(bits[:, ::-1], axis=1).view(a.dtype).reshape(a.shape)[()]


# Where a field of bits begins, or how long it is: of 32 bit the low byte says it (seen on an H100).
_PLACE = {4: np.uint32(0xFF), 8: np.uint32(0xFFFFFFFF)}


def _extract_field(a: Values, start: Values, length: Values) -> Values:
    """Return a field of bits, of signed numbers with the sign that it ends in."""
    place_bits, wide = _PLACE[a.dtype.itemsize], np.dtype(f"{a.dtype.kind}8")
    beyond = (np.uint32(64) - np.minimum(length & place_bits, np.uint32(64))).astype(wide)
    shifted = a.astype(wide) >> (start & place_bits).astype(wide)
    return ((shifted << beyond) >> beyond).astype(a.dtype)


def _insert_field(a: Values, b: Values, start: Values, length: Values) -> Values:
    at, count = ((one & _PLACE[a.dtype.itemsize]).astype(a.dtype) for one in (start, length))
    mask = ~(~a.dtype.type(0) << count) << at
    return (b & ~mask) | ((a << at) & mask)


def _logic_3(a: Values, b: Values, c: Values, table: Values) -> Values:
    """Return what a table of 8 bits says of each three bits."""
    bits = a & a.dtype.type(0)
    for number in range(8):
        if int(table) >> number & 1:
            part = (a if number & 4 else ~a) & (b if number & 2 else ~b) & (c if number & 1 else ~c)
            bits = bits | part
    return bits


def _permute(a: Values, b: Values, selection: Values) -> Values:
    """Return four chosen bytes of eight, or the sign of each."""
    both = (b.astype(U64) << np.uint64(32)) | a.astype(U64)
    chosen = np.uint32(0)
    for place in range(4):
        pick = (selection >> np.uint32(4 * place)) & np.uint32(15)
        shift = ((pick & np.uint32(7)) << np.uint32(3)).astype(U64)
        byte: Values = ((both >> shift) & np.uint64(255)).astype(U32)
        sign = np.where(byte & np.uint32(128), np.uint32(255), np.uint32(0))[()]
        byte = np.where(pick & np.uint32(8), sign, byte)[()]
        chosen = chosen | (byte << np.uint32(8 * place))
    return chosen


def _dot(width: int, first: int, a: Values, b: Values, c: Values) -> Values:
    """Return c plus the products of parts of a, `width` bits long, with bytes of b from the first on."""

    def part(values: Values, at: int, bits: int) -> Values:
        own = np.dtype(f"{values.dtype.kind}{bits // 8}")
        return as_type(values.view(U32) >> np.uint32(at * bits), own).astype(np.int64)

    total = c.astype(np.int64)
    for k in range(32 // width):
        total = total + part(a, k, width) * part(b, first + k, 8)
    return total.astype(c.dtype)


def _add_with_carry(takes: bool, sign: int, a: Values, b: Values, flag: Values) -> tuple[Values, Values]:
    """Return a + sign * b with the carry that it takes, and the carry that it gives. PTX ISA, 9.7.2."""
    own = UNSIGNED[a.dtype.itemsize]
    carry, x, y = flag if takes else np.False_, a.view(own), b.view(own)
    if sign < 0:
        return x - y - carry.astype(own), (x < y) | (carry & (x == y))
    total = x + y + carry.astype(own)
    return total, (total < x) | (carry & (total == x))


def _multiply_add_with_carry(takes: bool, part: str, *values: Values) -> tuple[Values, Values]:
    a, b, *rest = values
    return _add_with_carry(takes, 1, _PRODUCTS[part](a, b), *rest)


# Comparisons, and what two types decide.

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
    "num": lambda a, b: ~arithmetic.unordered(a, b),
    "nan": arithmetic.unordered,
    **{
        f"{name}u": lambda a, b, ordered=_COMPARE[name]: ordered(a, b) | arithmetic.unordered(a, b)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
}


def _joined(compare: Compute, joint: str, a: Values, b: Values, predicate: Values) -> Values:
    return BITWISE[joint](compare(a, b), predicate)


def _address(back: str | None, space: str, a: Values) -> Values:
    """Return the result of `cvta`: an address of one memory as a generic one, or back."""
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(space, 0)
    shift = a.dtype.type(window if a.dtype.itemsize == 8 else 0)
    return a - shift if back else a + shift


def _packed(kind: str, high: Values, low: Values, rest: Values | None = None) -> Values:
    """Return the result of `cvt.pack`: two integers, the first above the second, below what a third has."""
    dtype, info = DTYPES[kind], np.iinfo(DTYPES[kind])
    own, bits = UNSIGNED[dtype.itemsize], np.uint32(info.bits)

    def clipped(values: Values) -> Values:
        of = np.iinfo(values.dtype)
        return np.clip(values, max(of.min, info.min), min(of.max, info.max)).astype(own).astype(U32)

    upper, lower = clipped(high), clipped(low)
    packed = (upper << bits) | lower
    return packed if rest is None else (rest << (bits + bits)) | packed


def _choose(a: Values, b: Values, condition: Values) -> Values:
    if condition.ndim == 0:
        return a if condition else b
    return np.where(condition, a, b)


# What the lanes of a warp compute together.

Lanes = np.ndarray
LANE = np.arange(WARP)


class Warps(NamedTuple):
    """The warps of threads at one place: which lanes are here, and which the mask names of these."""

    here: Lanes
    counted: Lanes
    report: Callable[[Lanes, str], None]


def _bits(lanes: Lanes) -> Lanes:
    packed: Lanes = (lanes << LANE).sum(-1).astype(U32)
    return packed


def _shuffle(mode: str, warps: Warps, values: Lanes, by: Lanes, clamp: Lanes) -> Sequence[Lanes]:
    b, c = (by & np.uint32(31)).astype(np.int64), clamp.astype(np.int64)
    segment, limit = c >> 8 & 31, c & 31
    highest = (LANE & segment) | (limit & ~segment)
    goals = {"up": LANE - b, "down": LANE + b, "bfly": LANE ^ b, "idx": (LANE & segment) | (b & ~segment)}
    goal = goals[mode]
    inside = goal >= highest if mode == "up" else goal <= highest
    goal = np.where(inside, goal, LANE) & 31
    row = np.arange(len(values))[:, None]
    absent = inside & ~warps.here[row, goal] & warps.here
    warps.report(absent, "a lane reads the register of a lane that takes no part in the shuffle")
    return values[row, goal], inside


def _vote(mode: str, warps: Warps, holds: Lanes) -> Sequence[Lanes]:
    yes = holds & warps.counted
    every, some = (yes == warps.counted).all(1), yes.any(1)
    vote = {"all": every, "any": some, "uni": every | ~some, "ballot": _bits(yes)}[mode]
    return (vote[:, None],)


_REDUCTIONS: dict[str, Any] = {"add": np.add, "min": np.minimum, "max": np.maximum, **BITWISE}


def _reduce(name: str, warps: Warps, values: Lanes) -> Sequence[Lanes]:
    dtype, info = values.dtype, np.iinfo(values.dtype)
    neutral = {"min": info.max, "max": info.min, "and": ~dtype.type(0)}.get(name, 0)
    counted = np.where(warps.counted, values, dtype.type(neutral))
    return (_REDUCTIONS[name].reduce(counted, axis=1, dtype=dtype, keepdims=True),)


def _match(warps: Warps, values: Lanes) -> Sequence[Lanes]:
    same = values[:, :, None] == values[:, None, :]
    return (_bits(same & warps.counted[:, None, :]),)


def _matrix_product(left_kind: str, right_kind: str, warps: Warps, *registers: Lanes) -> Sequence[Lanes]:
    """Return the product of bytes `mma.sync.m16n8k32`: D = A B + C, rows of A by columns of B.

    Of lane l, group g = l / 4 and place t = l mod 4: A's registers have rows g, g + 8, g, g + 8 and columns
    from 4 t, the last two from 16 + 4 t; B's column g and rows from 4 t and 16 + 4 t; C and D rows g, g,
    g + 8, g + 8 and columns 2 t, 2 t + 1, twice.
    """
    group, place, cells = LANE // 4, LANE % 4, np.arange(4)

    def parts_of(lanes: Lanes, kind: str) -> Lanes:
        return lanes.view(DTYPES[kind]).reshape(*lanes.shape, 4).astype(np.int32)

    message = "lanes of the warp do not take part in a product of matrices"
    warps.report(np.asarray(~warps.here.all(1, keepdims=True)), message)
    # Sums of 32 products of bytes are exact in float64, whose products a library computes.
    left, right = np.zeros((len(warps.here), 16, 32)), np.zeros((len(warps.here), 32, 8))
    for one, lanes in enumerate(registers[:4]):
        columns = (16 * (one // 2) + 4 * place)[:, None] + cells
        left[:, (group + 8 * (one % 2))[:, None], columns] = parts_of(lanes, left_kind)
    for one, lanes in enumerate(registers[4:6]):
        right[:, (16 * one + 4 * place)[:, None] + cells, group[:, None]] = parts_of(lanes, right_kind)
    product = (left @ right).astype(np.int64)
    return [
        (product[:, group + 8 * (one // 2), 2 * place + one % 2] + lanes).astype(S32)
        for one, lanes in enumerate(registers[6:])
    ]


_SHAPE = r"\.m16n8k32\.row\.col"
ROWS = (
    Row("mov ld.param st.param", "", "T:T", lambda a: a),
    Row("neg", "", "T:T", np.negative),
    Row("abs", "", "T:T", np.abs),
    Row("not", "", "T:T", np.invert),
    *(Row(name, "", "T:TT", join) for name, join in BITWISE.items()),
    Row("add", "(?:rn)?", "T:TT", np.add),
    Row("sub", "(?:rn)?", "T:TT", np.subtract),
    Row("mul", "(?:rn)?", "T:TT", np.multiply),
    Row("min", "", "T:TT", arithmetic.least),
    Row("max", "", "T:TT", arithmetic.greatest),
    Row("selp", "", "T:TTP", _choose),
    # Integers.
    Row("mul", "lo", "I:II", np.multiply),
    Row("mul", "hi", "I:II", _high_product),
    Row("mul", "wide", "W:II", _wide_product),
    Row("mad", "(lo|hi)", "I:III", _multiply_add),
    Row("mad", "(wide)", "W:IIW", _multiply_add),
    Row("add", "cc", "I:IIC", partial(_add_with_carry, False, 1)),
    Row("sub", "cc", "I:IIC", partial(_add_with_carry, False, -1)),
    Row("mad", r"(lo|hi)\.cc", "I:IIIC", partial(_multiply_add_with_carry, False)),
    Row("addc", "(?:cc)?", "I:IIC", partial(_add_with_carry, True, 1)),
    Row("subc", "(?:cc)?", "I:IIC", partial(_add_with_carry, True, -1)),
    Row("madc", r"(lo|hi)(?:\.cc)?", "I:IIIC", partial(_multiply_add_with_carry, True)),
    Row("div", "", "I:II", _quotient),
    Row("rem", "", "I:II", lambda a, b: _choose(a, np.fmod(a, b), b == 0)),
    Row("sad", "", "I:III", lambda a, b, c: np.where(a > b, a - b, b - a)[()] + c),
    Row("shl", "", "I:IU", lambda a, b: np.left_shift(a, b.astype(a.dtype))),
    Row("shr", "", "I:IU", lambda a, b: np.right_shift(a, b.astype(a.dtype))),
    Row("shf", r"(l|r)\.?(wrap|clamp|)", "I:IIU", _funnel_shift),
    Row("popc", "", "U:I", _population),
    Row("clz", "", "U:I", lambda a: np.uint32(8 * a.dtype.itemsize) - _population(_smeared(a))),
    Row("bfind", "", "U:I", _find_leading),
    Row("bfind", "shiftamt", "U:I", _shift_to_leading),
    Row("brev", "", "I:I", _reverse),
    Row("bfe", "", "I:IUU", _extract_field),
    Row("bfi", "", "I:IIUU", _insert_field),
    Row("lop3", "", "I:IIIU", _logic_3),
    Row("prmt", "", "I:III", _permute),
    Row("dp4a", "", "D:STD", partial(_dot, 8, 0)),
    Row("dp2a", "lo", "D:STD", partial(_dot, 16, 0)),
    Row("dp2a", "hi", "D:STD", partial(_dot, 16, 2)),
    # Floating-point numbers: `.approx` and `.full` are within 2 units in the last place.
    Row("fma mad", "(?:rn)?", "F:FFF", arithmetic.fma),
    Row("div", "(?:rn|full)?", "F:FF", np.divide),
    Row("div", "approx", "F:FF", arithmetic.reciprocal_product),
    Row("sqrt", "(?:rn|approx)?", "F:F", np.sqrt),
    Row("rcp", "(?:rn|approx)?", "F:F", lambda a: a.dtype.type(1) / a),
    *(
        Row(name, "(?:approx)?", "F:F", lambda a, one=one: one(a.astype(F64)).astype(a.dtype)[()])
        for name, one in arithmetic.APPROXIMATE.items()
    ),
    *(
        Row(name, "(rz|rm|rp)", "R:RR", partial(arithmetic.directed, name))
        for name in ("add", "sub", "mul", "div")
    ),
    *(Row(name, "(rz|rm|rp)", "R:R", partial(arithmetic.directed, name)) for name in ("sqrt", "rcp")),
    Row("fma mad", "(rz|rm|rp)", "R:RRR", partial(arithmetic.directed, "fma")),
    Row("copysign", "", "F:FF", lambda a, b: np.copysign(b, a)),
    Row("min", "NaN", "F:FF", partial(arithmetic.propagating, arithmetic.least)),
    Row("max", "NaN", "F:FF", partial(arithmetic.propagating, arithmetic.greatest)),
    # Conversions.
    Row("cvt", "(rn|rz|rm|rp|rna|rni|rzi|rmi|rpi|)", "S:T", arithmetic.converted, typed=True),
    Row("cvt", r"(rn|rz|rm|rp|rna|)\.?f16x2", "U:TT", arithmetic.two_halves),
    Row("cvt", r"pack\.sat\.([su](?:8|16))", "U:II", _packed),
    Row("cvt", r"pack\.sat\.([su](?:8|16))", "T:SST", _packed),
    Row("cvta", r"(to\.)?(shared|local|global|const|param)(?:::\w+)?", "I:I", _address),
    # Comparisons, of floating-point numbers first.
    *(
        row
        for known, kind in ((_COMPARE_REAL, "F"), (_COMPARE, "T"))
        for word, compare in known.items()
        for row in (
            Row("setp", word, f"P:{kind}{kind}", compare),
            Row("setp", rf"{word}\.({'|'.join(BITWISE)})", f"P:{kind}{kind}P", partial(_joined, compare)),
        )
    ),
    # Of the lanes of a warp.
    Row("shfl", r"sync\.(up|down|bfly|idx)", "I:IUUU", _shuffle, lanes=True),
    Row("vote", r"sync\.(all|any|uni|ballot)", "T:PU", _vote, lanes=True),
    Row("redux", rf"sync\.({'|'.join(_REDUCTIONS)})", "I:IU", _reduce, lanes=True),
    Row("match", r"any\.sync", "U:IU", _match, lanes=True),
    Row("activemask", "", "I:", lambda warps: (_bits(warps.here)[:, None],), lanes=True),
    Row("mma", rf"sync\.aligned{_SHAPE}\.s32\.([su]8)\.([su]8)", "T:UUUUUUTTTT", _matrix_product, lanes=True),
)

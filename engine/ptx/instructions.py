"""What each instruction computes from values alone: no memory, no other thread, no jump.

`ROWS` has the instructions of PTX: how they are spelled, the types of result and operands, and the function.
A spelling that no row has is refused: nothing is guessed. Source: PTX ISA 9.0, chapter 9.7.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from engine.ptx import floats, integers
from engine.ptx.memory import LOCAL_WINDOW, SHARED_WINDOW
from engine.ptx.module import Instruction, listed
from engine.ptx.types import BOOL, DTYPES, F16, F64, S32, U32, Values, as_type, unsigned, wider

Compute = Callable[..., Values]
Types = Sequence[np.dtype]


class Rule(NamedTuple):
    """The types that an instruction reads its operands as, the one that it writes, and what it computes.

    With `has_many` it computes a sequence: a value for each register that is written.
    """

    result: np.dtype
    sources: tuple[np.dtype, ...]
    compute: Compute
    has_many: bool = False


class Row(NamedTuple):
    """A line of the table.

    `names` are instructions; `words` is a regular expression of the modifiers before the types, whose groups
    `compute` gets before the operands. `types` has a letter of `_TYPES` for the result, and one for each
    operand.
    """

    names: str
    words: str
    types: str
    compute: Compute


# T is the type that stands last, I an integer, F a floating-point number, R float32; S stands before it.
_TYPES: dict[str, tuple[int, str]] = {"T": (-1, "?bBhHiIlLqQefd"), "I": (-1, "bBhHiIlLqQ"), "F": (-1, "efd")}
_TYPES |= {"R": (-1, "f"), "S": (-2, "?bBhHiIlLqQefd")}
# U is 32 bits, P a predicate, C the carry flag; W has twice the bits of T, D is signed where S or T is.
_OTHER_TYPES: dict[str, Callable[[Types], np.dtype]] = {
    "U": lambda types: U32,
    "P": lambda types: BOOL,
    "C": lambda types: BOOL,
    "W": lambda types: wider(types[-1]),
    "D": lambda types: S32 if "i" in (types[-2].kind, types[-1].kind) else U32,
}

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


def choose(a: Values, b: Values, condition: Values) -> Values:
    """Return a where the condition holds, else b."""
    if condition.ndim == 0:
        return a if condition else b
    return np.where(condition, a, b)


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
    # Comparisons.
    *(Row("setp", word, "P:FF", compare) for word, compare in _COMPARE_REAL.items()),
    *(Row("setp", word, "P:TT", compare) for word, compare in _COMPARE.items()),
    *(
        Row("setp", rf"{word}\.({'|'.join(_JOIN)})", f"P:{kind}{kind}P", partial(_joined, compare))
        for known, kind in ((_COMPARE_REAL, "F"), (_COMPARE, "T"))
        for word, compare in known.items()
    ),
)
_BY_NAME: dict[str, list[Row]] = defaultdict(list)
for _row in ROWS:
    for _name in _row.names.split():
        _BY_NAME[_name].append(_row)


def rule_of(instruction: Instruction) -> Rule | None:
    """Return what an instruction computes; None where that is more than values."""
    name, operands = instruction.name, instruction.operands
    if name == "mov" and (parts := [one for one in operands if one[0] == "{"]):
        return _parts(instruction.dtype, len(listed(parts[0])), operands[1].startswith("{"))
    if name not in _BY_NAME and name not in _MADE:
        return None
    rule = _rule_of(name, instruction.modifiers)
    if rule is None:
        raise instruction.unknown()
    if "|" in operands[0]:
        compare = rule.compute

        def both(*given: Values) -> tuple[Values, Values]:
            found = compare(*given)
            return found, ~found

        return rule._replace(compute=both, has_many=True)
    return rule


@lru_cache(maxsize=1024)
def _rule_of(name: str, modifiers: tuple[str, ...]) -> Rule | None:
    words, types = [*modifiers], list[np.dtype]()
    while words and words[-1] in DTYPES and words[-1] != "f16x2":
        types.insert(0, DTYPES[words.pop()])
    if name in _MADE:
        return _flagged(_MADE[name], words, types)
    if not types and words[-1:] == ["f16x2"]:
        rule = _flagged(partial(_from_table, name), words[:-1], [F16])
        if rule is None or {rule.result, *rule.sources} != {F16}:
            return None
        return Rule(U32, (U32,) * len(rule.sources), _by_halves(rule.compute))
    return _flagged(partial(_from_table, name), words, types)


def _flagged(make: Callable[[list[str], Types], Rule | None], words: list[str], types: Types) -> Rule | None:
    """Return the rule with what `.ftz` and `.sat` add to it, where it does not read these itself."""
    for flags in ((), ("ftz",), ("sat",), ("ftz", "sat")):
        if not {*flags} <= {*words} or (flags and not any(one.kind == "f" for one in types)):
            continue
        if (rule := make([one for one in words if one not in flags], types)) is not None:
            compute = rule.compute
            if "ftz" in flags:
                compute = partial(_flushing, compute)
            if "sat" in flags and rule.result.kind == "f":
                compute = partial(_saturating, compute)
            return rule._replace(compute=compute)
    return None


def _flushing(compute: Compute, *operands: Values) -> Values:
    return floats.flushed(compute(*map(floats.flushed, operands)))


def _saturating(compute: Compute, *operands: Values) -> Values:
    return floats.saturated(compute(*operands))


def _from_table(name: str, words: list[str], types: Types) -> Rule | None:
    for row in _BY_NAME[name]:
        if (found := re.fullmatch(row.words, ".".join(words))) and (kinds := _kinds(row.types, types)):
            compute = partial(row.compute, *found.groups()) if found.groups() else row.compute
            return Rule(kinds[0], tuple(kinds[1:]), compute, has_many="C" in row.types)
    return None


def _kinds(letters: str, types: Types) -> list[np.dtype]:
    """Return the types that letters stand for; none where other ones are spelled."""
    named = [_TYPES.get(one, (0, "")) for one in letters]
    if len(types) != -min(at for at, _ in named) or any(
        at and types[at].char not in known for at, known in named
    ):
        return []
    letters = letters.replace(":", "")
    return [_OTHER_TYPES[one](types) if one in _OTHER_TYPES else types[_TYPES[one][0]] for one in letters]


def _by_halves(compute: Compute) -> Compute:
    """Return a computation of float16 on both halves of 32-bit registers."""

    def both(*operands: Values) -> Values:
        halves = [[as_type(one >> np.uint32(shift), F16) for one in operands] for shift in (0, 16)]
        low, high = (half_bits(compute(*half).astype(F16)) for half in halves)
        return low | (high << np.uint32(16))

    return both


def half_bits(values: Values) -> Values:
    """Return the bits of float16 in 32-bit registers, with the one NaN that a device makes."""
    return np.where(np.isnan(values), np.uint16(0x7FFF), values.view(np.uint16))[()].astype(U32)


def _parts(whole: np.dtype, count: int, packs: bool) -> Rule:
    """Return the rule of a `mov` between a register and the parts of one."""
    whole = unsigned(whole)
    part = np.dtype(f"u{whole.itemsize // count}")
    shifts = [whole.type(8 * part.itemsize * number) for number in range(count)]

    def pack(*parts: Values) -> Values:
        found = whole.type(0)
        for one, shift in zip(parts, shifts, strict=True):
            found = found | (one.astype(whole) << shift)
        return found

    def unpack(value: Values) -> list[Values]:
        return [(value >> shift).astype(part) for shift in shifts]

    return Rule(whole, (part,) * count, pack) if packs else Rule(part, (whole,), unpack, has_many=True)


# What the table cannot say: conversions, which two types decide.


def _address(words: list[str], types: Types) -> Rule | None:
    """Return the rule of a `cvta`: between addresses of one memory and generic ones."""
    (dtype,), is_back = types, "to" in words
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(words[-1].partition("::")[0], 0)
    shift = dtype.type(window if dtype.itemsize == 8 else 0)
    return Rule(dtype, (dtype,), lambda a: a - shift if is_back else a + shift)


def _set(words: list[str], types: Types) -> Rule | None:
    """Return the rule of a comparison whose result is a number."""
    result, source = types
    if (rule := _from_table("setp", words, [source])) is None:
        return None
    compare, yes, no = (
        rule.compute,
        (result.type(1) if result.kind == "f" else ~result.type(0)),
        result.type(0),
    )
    return rule._replace(result=result, compute=lambda *given: np.where(compare(*given), yes, no)[()])


def _convert(words: list[str], types: Types) -> Rule | None:
    result, source = types[0], types[-1]
    direction, is_pair, is_clipped = words[0] if words else "", words[1:] == ["f16x2"], words == ["sat"]
    if words == ["pack", "sat"] and len(types) > 1:
        return _convert_and_pack(result, types[1], is_chained=len(types) > 2)
    if len(words) > 1 + is_pair or len(types) != 2 - is_pair:
        return None
    if is_clipped and "f" not in (result.kind, source.kind):
        return Rule(result, (source,), partial(integers.clipped, result))
    if direction not in ("", "rn", "rz", "rm", "rp", "rna", *floats.WHOLE):
        return None
    if is_pair:
        return Rule(U32, (source, source), partial(_two_halves, direction))
    convert: Callable[..., Values] = lambda result, direction, a: a.astype(result)  # noqa: E731
    if source.kind == "f":
        convert = floats.between_floats if result.kind == "f" else floats.to_integer
    elif result.kind == "f":
        convert = floats.from_integer
    return Rule(result, (source,), partial(convert, result, direction))


def _convert_and_pack(result: np.dtype, source: np.dtype, *, is_chained: bool) -> Rule:
    """Return the rule of `cvt.pack`: two integers, the first above the second, below what a third has."""
    own, bits = unsigned(result), np.uint32(8 * result.itemsize)

    def compute(high: Values, low: Values, *rest: Values) -> Values:
        upper, lower = (integers.clipped(result, one).view(own).astype(U32) for one in (high, low))
        packed = (upper << bits) | lower
        return (rest[0] << (bits + bits)) | packed if rest else packed

    return Rule(U32, (source, source, U32) if is_chained else (source, source), compute)


def _two_halves(direction: str, high: Values, low: Values) -> Values:
    upper, lower = (
        half_bits(floats.narrowed(F16, direction or "rn", one.astype(F64))) for one in (high, low)
    )
    return (upper << np.uint32(16)) | lower


_MADE = {"cvt": _convert, "cvta": _address, "set": _set}

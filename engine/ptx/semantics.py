"""What each instruction computes from values alone: no memory, no other thread, no jump.

An instruction's name finds a function in `RULES`, which reads its modifiers and returns a `Rule`. Integers of
other kinds than sums are in `integers`, rounding is in `floats`. Source: PTX ISA 9.0, chapter 9.7.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from engine.ptx import floats, integers
from engine.ptx.floats import F16, F32, F64
from engine.ptx.memory import LOCAL_WINDOW, SHARED_WINDOW
from engine.ptx.module import NOWHERE, Instruction, PtxError, listed
from engine.ptx.spelling import (
    BOOL,
    DIRECTIONS,
    U32,
    Compute,
    Rule,
    Spelling,
    alike,
    flushing,
    same,
    with_flags,
)
from engine.ptx.types import Values, as_type, unsigned

TAKES_CARRY = "addc", "subc", "madc"


def rule_of(instruction: Instruction) -> Rule | None:
    """Return what an instruction computes; None where that is more than values."""
    if instruction.name == "mov" and (parts := [one for one in instruction.operands if one[0] == "{"]):
        return _parts(instruction, len(listed(parts[0])))
    try:
        rule = _rule_of(instruction.name, instruction.modifiers)
    except PtxError as error:
        raise error.at(instruction.line) from error
    if rule is not None and "|" in instruction.operands[0]:
        compare = rule.compute

        def both(*operands: Values) -> tuple[Values, Values]:
            found = compare(*operands)
            return found, ~found

        return rule._replace(compute=both, has_many=True)
    return rule


@lru_cache(maxsize=1024)
def _rule_of(name: str, modifiers: tuple[str, ...]) -> Rule | None:
    takes_carry = name in TAKES_CARRY or (name in ("add", "sub", "mad") and "cc" in modifiers)
    make = integers.with_carry if takes_carry else RULES.get(name)
    if make is None:
        return None
    said = Spelling(Instruction(name, modifiers, (), None, NOWHERE))
    return said.done(make(said))


def _parts(instruction: Instruction, count: int) -> Rule:
    """Return the rule of a `mov` between a register and the parts of one."""
    whole = unsigned(instruction.dtype)
    part = np.dtype(f"u{whole.itemsize // count}")
    shifts = [whole.type(8 * part.itemsize * number) for number in range(count)]

    def pack(*parts: Values) -> Values:
        found = whole.type(0)
        for one, shift in zip(parts, shifts, strict=True):
            found = found | (one.astype(whole) << shift)
        return found

    def unpack(value: Values) -> list[Values]:
        return [(value >> shift).astype(part) for shift in shifts]

    if instruction.operands[1].startswith("{"):
        return Rule(whole, (part,) * count, pack)
    return Rule(part, (whole,), unpack, has_many=True)


def _address(said: Spelling) -> Rule:
    """Make a `cvta`: between addresses of one memory and generic ones."""
    dtype, is_back = said.dtype(), said.has("to")
    window = {"shared": SHARED_WINDOW, "local": LOCAL_WINDOW}.get(
        said.one_of("shared", "local", "global", "const", "param").partition("::")[0], 0
    )
    shift = dtype.type(window if dtype.itemsize == 8 else 0)
    return same(1, dtype, lambda a: a - shift if is_back else a + shift)


def _reciprocal_product(a: Values, b: Values) -> Values:
    """Return `div.approx`: it multiplies by the reciprocal, which vanishes for the largest divisors."""
    vanished = a * np.copysign(b.dtype.type(0), b)
    return np.where(np.abs(b) > 2.0**126, vanished, a / b)[()]


# Of real numbers, rounded to nearest: `.approx` and `.full` are within 2 units in the last place.
_REAL: dict[str, Compute] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "fma": floats.fma,
    "div": np.divide,
    "sqrt": np.sqrt,
    "rcp": lambda a: a.dtype.type(1) / a,
    **{name: floats.approximate(function) for name, function in floats.APPROXIMATE.items()},
}
_MAY_BE_APPROXIMATE = "div", "sqrt", "rcp", *floats.APPROXIMATE


def _arithmetic(operation: str, count: int = 2) -> Callable[[Spelling], Rule]:
    def make(said: Spelling) -> Rule:
        is_pair = said.rest[-1:] == ["f16x2"]
        dtype, compute = said.dtype(), _REAL[operation]
        direction = said.one_of(*DIRECTIONS, *(("approx", "full") * (operation in _MAY_BE_APPROXIMATE)))
        if direction in ("rz", "rm", "rp"):
            if dtype != F32:
                raise said.instruction.unknown()
            compute = floats.directed(operation, direction, dtype)
        elif operation == "div" and direction == "approx":
            compute = _reciprocal_product
        elif operation == "div" and dtype.kind in "iu":
            compute = integers.quotient
        elif dtype.kind in "iu" and said.has("sat"):
            compute = _saturating(operation, dtype)
        if is_pair:
            return same(count, U32, _by_halves(compute))
        return same(count, dtype, with_flags(said, dtype, compute))

    return make


def _by_halves(compute: Compute) -> Compute:
    """Return a computation of float16 on both halves of 32-bit registers."""

    def both(*operands: Values) -> Values:
        halves = [
            [as_type(one >> np.uint32(shift), np.dtype(np.uint16)).view(F16) for one in operands]
            for shift in (0, 16)
        ]
        low, high = (half_bits(compute(*half).astype(F16)) for half in halves)
        return low | (high << np.uint32(16))

    return both


def _saturating(operation: str, dtype: np.dtype) -> Compute:
    info, choose = np.iinfo(dtype), {"add": np.add, "sub": np.subtract}
    return lambda a, b: np.clip(choose[operation](a.astype(np.int64), b), info.min, info.max).astype(dtype)


def _product(said: Spelling) -> Rule:
    multiply = integers.multiply(said)
    return multiply if multiply is not None else _arithmetic("mul")(said)


def _multiply_add(said: Spelling) -> Rule:
    multiply = integers.multiply(said)
    if multiply is None:
        # Of float32 `mad` is `fma`.
        return _arithmetic("fma", 3)(said)
    result, product = multiply.result, multiply.compute
    return Rule(result, (*multiply.sources, result), lambda a, b, c: product(a, b) + c)


_COMPARE: dict[str, Compute] = {
    "eq": np.equal,
    "ne": np.not_equal,
    **dict.fromkeys(("lt", "lo"), np.less),
    **dict.fromkeys(("le", "ls"), np.less_equal),
    **dict.fromkeys(("gt", "hi"), np.greater),
    **dict.fromkeys(("ge", "hs"), np.greater_equal),
}
_JOIN: dict[str, Compute] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _unordered(a: Values, b: Values) -> Values:
    return np.isnan(a) | np.isnan(b)


_COMPARE_REAL: dict[str, Compute] = {
    **_COMPARE,
    "ne": lambda a, b: (a < b) | (a > b),
    "num": lambda a, b: ~_unordered(a, b),
    "nan": _unordered,
    **{
        f"{name}u": lambda a, b, ordered=_COMPARE[name]: ordered(a, b) | _unordered(a, b)
        for name in ("eq", "ne", "lt", "le", "gt", "ge")
    },
}


def _comparison(said: Spelling) -> tuple[tuple[np.dtype, ...], Compute]:
    """Return the types of what is compared, with that of a predicate that joins, and what finds out."""
    dtype = said.dtype()
    known = _COMPARE_REAL if dtype.kind == "f" else _COMPARE
    word, joint = said.one_of(*known), said.one_of(*_JOIN)
    if not word:
        raise said.instruction.unknown()
    compare = flushing(said, known[word])
    if not joint:
        return (dtype, dtype), compare
    return (dtype, dtype, BOOL), lambda a, b, c: _JOIN[joint](compare(a, b), c)


def _set_predicate(said: Spelling) -> Rule:
    return Rule(BOOL, *_comparison(said))


def _set(said: Spelling) -> Rule:
    sources, compare = _comparison(said)
    result = said.dtype()
    yes = result.type(1) if result.kind == "f" else ~result.type(0)
    return Rule(result, sources, lambda *given: np.where(compare(*given), yes, result.type(0))[()])


def choose(a: Values, b: Values, condition: Values) -> Values:
    """Return a where the condition holds, else b."""
    if condition.ndim == 0:
        return a if condition else b
    return np.where(condition, a, b)


def _select(said: Spelling) -> Rule:
    dtype = said.dtype()
    return Rule(dtype, (dtype, dtype, BOOL), choose)


def _select_by_sign(said: Spelling) -> Rule:
    sign = said.dtype()
    said.has("ftz")
    dtype = said.dtype()
    return Rule(dtype, (dtype, dtype, sign), lambda a, b, c: choose(a, b, c >= 0))


def _test_property(said: Spelling) -> Rule:
    dtype = said.dtype()
    tests: dict[str, Compute] = {
        "finite": np.isfinite,
        "infinite": np.isinf,
        "number": lambda a: ~np.isnan(a),
        "notanumber": np.isnan,
        # Zero is normal (seen on an H100).
        "normal": lambda a: np.isfinite(a) & ((np.abs(a) >= np.finfo(dtype).smallest_normal) | (a == 0)),
        "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(dtype).smallest_normal),
    }
    word = said.one_of(*tests)
    if not word:
        raise said.instruction.unknown()
    return Rule(BOOL, (dtype,), tests[word])


def _extreme(whole: Compute, real: Compute) -> Callable[[Spelling], Rule]:
    def make(said: Spelling) -> Rule:
        dtype = said.dtype()
        if dtype.kind in "iu":
            return same(2, dtype, whole)
        compute = floats.propagating(real) if said.has("NaN") else real
        return same(2, dtype, with_flags(said, dtype, compute))

    return make


def _convert(said: Spelling) -> Rule:
    if said.has("pack"):
        return _convert_and_pack(said)
    source, result_name = said.dtype(), said.rest[-1] if said.rest else ""
    result = said.dtype()
    direction = said.one_of(*floats.WHOLE, *DIRECTIONS, "rna")
    if result_name == "f16x2":
        return Rule(U32, (source, source), _two_halves(direction))
    if source.kind == "f" and result.kind == "f":
        compute = _between_floats(source, result, direction)
    elif source.kind == "f":
        compute = lambda a: floats.to_integer(a, direction or "rzi", result)  # noqa: E731
    elif result.kind == "f":
        compute = lambda a: floats.from_integer(a, result, direction)  # noqa: E731
    elif "sat" in said.rest:
        least, most = np.iinfo(result).min, np.iinfo(result).max
        least, most = max(least, np.iinfo(source).min), min(most, np.iinfo(source).max)
        compute = lambda a: np.clip(a, source.type(least), source.type(most)).astype(result)  # noqa: E731
    else:
        compute = lambda a: a.astype(result)  # noqa: E731
    return Rule(result, (source,), with_flags(said, result, compute))


def _convert_and_pack(said: Spelling) -> Rule:
    """Make `cvt.pack`: two integers saturated, the first above the second, and below what a third has."""
    is_chained = said.rest[-1:] == ["b32"]
    if is_chained:
        said.rest.pop()
    source, result = said.dtype(), said.dtype()
    if not said.has("sat"):
        raise said.instruction.unknown()
    info, bits = np.iinfo(result), np.uint32(8 * result.itemsize)
    own = unsigned(result)

    def compute(high: Values, low: Values, rest: Values = None) -> Values:
        upper, lower = (
            np.clip(one, max(info.min, np.iinfo(source).min), info.max).astype(result).view(own).astype(U32)
            for one in (high, low)
        )
        packed = (upper << bits) | lower
        return packed if rest is None else (rest << (bits + bits)) | packed

    return Rule(U32, (source, source, U32) if is_chained else (source, source), compute)


def _between_floats(source: np.dtype, result: np.dtype, direction: str) -> Compute:
    if direction in floats.WHOLE:
        return lambda a: floats.WHOLE[direction](a).astype(result)
    if direction in ("", "rn") or result.itemsize >= source.itemsize:
        return lambda a: a.astype(result)
    return lambda a: floats.narrowed(a.astype(F64), result, direction)


def _two_halves(direction: str) -> Compute:
    def compute(high: Values, low: Values) -> Values:
        upper, lower = (
            half_bits(floats.narrowed(one.astype(F64), F16, direction or "rn")) for one in (high, low)
        )
        return (upper << np.uint32(16)) | lower

    return compute


def half_bits(values: Values) -> Values:
    """Return the bits of float16 in 32-bit registers, with the one NaN that a device makes."""
    return np.where(np.isnan(values), np.uint16(0x7FFF), values.view(np.uint16))[()].astype(U32)


RULES: dict[str, Callable[[Spelling], Rule]] = {
    **integers.RULES,
    **{name: _arithmetic(name) for name in ("add", "sub", "div")},
    **{name: _arithmetic(name, 1) for name in ("sqrt", "rcp", *floats.APPROXIMATE)},
    "mul": _product,
    "mad": _multiply_add,
    "fma": _arithmetic("fma", 3),
    "neg": alike(1, np.negative),
    "abs": alike(1, np.abs),
    "copysign": alike(2, lambda a, b: np.copysign(b, a)),
    "mov": alike(1, lambda a: a),
    "min": _extreme(np.minimum, floats.least),
    "max": _extreme(np.maximum, floats.greatest),
    "setp": _set_predicate,
    "set": _set,
    "selp": _select,
    "slct": _select_by_sign,
    "testp": _test_property,
    "cvt": _convert,
    "cvta": _address,
}

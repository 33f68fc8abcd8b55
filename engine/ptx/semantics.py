"""What each instruction computes from values alone: no memory, no other thread, no jump.

An instruction's name finds a function in `RULES`, which reads its modifiers and returns a `Rule`. Integers of
other kinds than sums are in `integers`, rounding is in `floats`. Source: PTX ISA 9.0, chapter 9.7.
"""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from engine.ptx import floats, integers
from engine.ptx.errors import PtxError
from engine.ptx.floats import F16, F32, F64
from engine.ptx.module import NOWHERE, Instruction
from engine.ptx.spelling import (
    BOOL,
    DIRECTIONS,
    U32,
    Compute,
    Rule,
    Spelling,
    alike,
    same,
    unknown,
    with_flags,
)
from engine.ptx.types import Values, as_type, unsigned


def rule_of(instruction: Instruction) -> Rule | None:
    """Return what an instruction computes; None where that is more than values."""
    try:
        return _rule_of(instruction.name, instruction.modifiers)
    except PtxError as error:
        raise error.at(instruction.line) from error


@lru_cache(maxsize=1024)
def _rule_of(name: str, modifiers: tuple[str, ...]) -> Rule | None:
    make = RULES.get(name)
    if make is None:
        return None
    said = Spelling(Instruction(name, modifiers, (), None, NOWHERE))
    return said.done(make(said))


def _arithmetic(plain: Compute, operation: str, count: int = 2) -> Callable[[Spelling], Rule]:
    def make(said: Spelling) -> Rule:
        is_pair = said.rest[-1:] == ["f16x2"]
        dtype = said.dtype()
        compute = plain
        if operation == "fma":
            compute = {F32: floats.fma32, F64: floats.fma64, F16: floats.fma16}.get(dtype, plain)
            if is_pair:
                compute = floats.fma16
        direction = said.one_of(*DIRECTIONS)
        if direction not in ("", "rn"):
            if dtype != F32:
                raise unknown(said.instruction)
            compute = floats.directed(operation, direction, dtype)
        if dtype.kind in "iu" and said.has("sat"):
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


def _divide(said: Spelling) -> Rule:
    dtype = said.dtype()
    if dtype.kind in "iu":
        return same(2, dtype, integers.quotient)
    # `.approx` and `.full` are within 2 units in the last place: rounded once is.
    direction = said.one_of(*DIRECTIONS, "approx", "full")
    compute: Compute = np.divide
    if direction in ("rz", "rm", "rp"):
        compute = floats.directed("div", direction, dtype)
    elif direction == "approx":
        # It multiplies by the reciprocal, which vanishes there.
        compute = lambda a, b: np.where(np.abs(b) > 2.0**126, a * np.copysign(b.dtype.type(0), b), a / b)[()]  # noqa: E731
    return same(2, dtype, with_flags(said, dtype, compute))


def _product(said: Spelling) -> Rule:
    multiply = integers.multiply(said)
    return multiply if multiply is not None else _arithmetic(np.multiply, "mul")(said)


def _multiply_add(said: Spelling) -> Rule:
    multiply = integers.multiply(said)
    if multiply is None:
        # Of float32 `mad` is `fma`.
        return _arithmetic(np.multiply, "fma", 3)(said)
    result, sources, product = multiply
    return Rule(result, (*sources, result), lambda a, b, c: product(a, b) + c)


def _approximate(said: Spelling) -> Rule:
    name, dtype = said.instruction.name, said.dtype()
    direction = said.one_of(*DIRECTIONS, "approx")
    if name in ("sqrt", "rcp") and direction in ("rz", "rm", "rp"):
        return same(1, dtype, with_flags(said, dtype, floats.directed(name, direction, dtype)))
    exact: dict[str, Compute] = {"sqrt": np.sqrt, "rcp": lambda a: dtype.type(1) / a}
    compute = exact.get(name) or floats.approximate(floats.APPROXIMATE[name])
    return same(1, dtype, with_flags(said, dtype, compute))


_COMPARE: dict[str, Compute] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}

_UNORDERED = {f"{name}u": function for name, function in list(_COMPARE.items())[:6]}

_JOIN: dict[str, Compute] = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def _comparison(said: Spelling) -> tuple[np.dtype, Compute, str]:
    """Return what is compared as which type, and how a further predicate joins."""
    dtype = said.dtype()
    is_flushed = said.has("ftz")
    word = said.rest.pop(0) if said.rest else ""
    joint = said.one_of(*_JOIN)
    if word == "num":
        compute: Compute = lambda a, b: ~(np.isnan(a) | np.isnan(b))  # noqa: E731
    elif word == "nan":
        compute = lambda a, b: np.isnan(a) | np.isnan(b)  # noqa: E731
    elif word in _UNORDERED and dtype.kind == "f":
        ordered = _UNORDERED[word]
        compute = lambda a, b: ordered(a, b) | np.isnan(a) | np.isnan(b)  # noqa: E731
    elif word == "ne" and dtype.kind == "f":
        compute = lambda a, b: (a < b) | (a > b)  # noqa: E731
    elif word in _COMPARE:
        compute = _COMPARE[word]
    else:
        raise unknown(said.instruction)
    if is_flushed:
        inner = compute
        compute = lambda a, b: inner(floats.flushed(a), floats.flushed(b))  # noqa: E731
    return dtype, compute, joint


def _set_predicate(said: Spelling) -> Rule:
    dtype, compare, joint = _comparison(said)
    if not joint:
        return Rule(BOOL, (dtype, dtype), compare)
    join = _JOIN[joint]
    return Rule(BOOL, (dtype, dtype, BOOL), lambda a, b, c: join(compare(a, b), c))


def _set(said: Spelling) -> Rule:
    dtype, compare, joint = _comparison(said)
    result = said.dtype()
    yes = result.type(1) if result.kind == "f" else ~result.type(0)

    def compute(a: Values, b: Values, c: Values = True) -> Values:
        found = _JOIN[joint](compare(a, b), c) if joint else compare(a, b)
        return np.where(found, yes, result.type(0))[()]

    return Rule(result, (dtype, dtype, BOOL) if joint else (dtype, dtype), compute)


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
        raise unknown(said.instruction)
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
    direction = said.one_of("rni", "rzi", "rmi", "rpi", *DIRECTIONS, "rna")
    is_flushed, is_saturated = said.has("ftz"), said.has("sat")
    if result_name == "f16x2":
        return Rule(U32, (source, source), _two_halves(direction))
    if source.kind == "f" and result.kind == "f":
        compute = _between_floats(source, result, direction)
    elif source.kind == "f":
        compute = lambda a: floats.to_integer(a, direction or "rzi", result)  # noqa: E731
    elif result.kind == "f":
        compute = lambda a: floats.from_integer(a, result, direction)  # noqa: E731
    elif is_saturated:
        least, most = np.iinfo(result).min, np.iinfo(result).max
        least, most = max(least, np.iinfo(source).min), min(most, np.iinfo(source).max)
        compute = lambda a: np.clip(a, source.type(least), source.type(most)).astype(result)  # noqa: E731
    else:
        compute = lambda a: a.astype(result)  # noqa: E731
    inner = compute
    if is_flushed:
        compute = lambda a: _flushed_if_real(inner(_flushed_if_real(a)))  # noqa: E731
    if is_saturated and result.kind == "f":
        unclipped = compute
        compute = lambda a: floats.saturated(unclipped(a))  # noqa: E731
    return Rule(result, (source,), compute)


def _convert_and_pack(said: Spelling) -> Rule:
    """Make `cvt.pack`: two integers saturated, the first above the second, and below what a third has."""
    is_chained = said.rest[-1:] == ["b32"]
    if is_chained:
        said.rest.pop()
    source, result = said.dtype(), said.dtype()
    if not said.has("sat"):
        raise unknown(said.instruction)
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


def _flushed_if_real(values: Values) -> Values:
    return floats.flushed(values) if values.dtype == F32 else values


def _between_floats(source: np.dtype, result: np.dtype, direction: str) -> Compute:
    if direction in ("rni", "rzi", "rmi", "rpi"):
        return lambda a: floats.to_whole(a, direction).astype(result)
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
    "add": _arithmetic(np.add, "add"),
    "sub": _arithmetic(np.subtract, "sub"),
    "mul": _product,
    "mad": _multiply_add,
    "fma": _arithmetic(np.multiply, "fma", 3),
    "div": _divide,
    "neg": alike(1, np.negative),
    "abs": alike(1, np.abs),
    "copysign": alike(2, lambda a, b: np.copysign(b, a)),
    "sqrt": _approximate,
    "rcp": _approximate,
    "rsqrt": _approximate,
    "sin": _approximate,
    "cos": _approximate,
    "ex2": _approximate,
    "lg2": _approximate,
    "tanh": _approximate,
    "mov": alike(1, lambda a: a),
    "min": _extreme(np.minimum, floats.least),
    "max": _extreme(np.maximum, floats.greatest),
    "setp": _set_predicate,
    "set": _set,
    "selp": _select,
    "slct": _select_by_sign,
    "testp": _test_property,
    "cvt": _convert,
}

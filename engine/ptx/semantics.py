"""What each instruction computes from values alone: no memory, no other thread, no jump.

An instruction's name finds a function in `RULES`, which reads its modifiers and returns a `Rule`. A modifier
that no rule reads is refused: nothing is guessed. Source: PTX ISA 9.0, chapter 9.7.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from engine.ptx import floats
from engine.ptx.errors import PtxError
from engine.ptx.floats import F16, F32, F64
from engine.ptx.module import Instruction
from engine.ptx.types import DTYPES, Values, as_type, unsigned, wider

U32, S32, U64, BOOL = (np.dtype(kind) for kind in (np.uint32, np.int32, np.uint64, np.bool_))
Compute = Callable[..., Values]


class Rule(NamedTuple):
    """The types that an instruction reads its operands as, the one that it writes, and what it computes."""

    result: np.dtype
    sources: tuple[np.dtype, ...]
    compute: Compute


class Spelling:
    """The modifiers of an instruction, taken one after another; what is left over is refused."""

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        self.rest = list(instruction.modifiers)

    def has(self, word: str) -> bool:
        """Return whether a modifier is there, and take it."""
        if word in self.rest:
            self.rest.remove(word)
            return True
        return False

    def one_of(self, *words: str) -> str:
        """Return the first of these that is there, and take it; empty where none is."""
        return next((word for word in words if self.has(word)), "")

    def dtype(self) -> np.dtype:
        """Return the type that stands last, and take it."""
        if not self.rest or self.rest[-1] not in DTYPES:
            raise unknown(self.instruction)
        return DTYPES[self.rest.pop()]

    def done(self, rule: Rule) -> Rule:
        """Return a rule where every modifier was taken."""
        if self.rest:
            raise unknown(self.instruction)
        return rule


def unknown(instruction: Instruction, why: str = "the interpreter does not know it") -> PtxError:
    """Return the refusal of an instruction."""
    where = instruction.line
    place = f" (line {where.line} of {where.file.rpartition('/')[2] or 'the source'})" if where.line else ""
    return PtxError(f"the instruction {instruction.spelling}{place}", why)


def rule_of(instruction: Instruction) -> Rule | None:
    """Return what an instruction computes; None where that is more than values."""
    make = RULES.get(instruction.name)
    if make is None:
        return None
    said = Spelling(instruction)
    return said.done(make(said))


def _same(count: int, dtype: np.dtype, compute: Compute) -> Rule:
    return Rule(dtype, (dtype,) * count, compute)


def _with_flags(said: Spelling, dtype: np.dtype, compute: Compute) -> Compute:
    """Return the computation with what `.ftz` and `.sat` add."""
    if said.has("ftz") and dtype == F32:
        inner = compute

        def compute(*operands: Values) -> Values:
            return floats.flushed(inner(*map(floats.flushed, operands)))

    if said.has("sat") and dtype.kind == "f":
        whole = compute
        return lambda *operands: floats.saturated(whole(*operands))
    return compute


_DIRECTIONS = "rn", "rz", "rm", "rp"


def _arithmetic(plain: Compute, operation: str, count: int = 2) -> Callable[[Spelling], Rule]:
    def make(said: Spelling) -> Rule:
        is_pair = said.rest[-1:] == ["f16x2"]
        dtype = said.dtype()
        compute = plain
        if operation == "fma":
            compute = {F32: floats.fma32, F64: floats.fma64, F16: floats.fma16}.get(dtype, plain)
            if is_pair:
                compute = floats.fma16
        direction = said.one_of(*_DIRECTIONS)
        if direction not in ("", "rn"):
            if dtype != F32:
                raise unknown(said.instruction)
            compute = floats.directed(operation, direction, dtype)
        if dtype.kind in "iu" and said.has("sat"):
            compute = _saturating(operation, dtype)
        if is_pair:
            return _same(count, U32, _by_halves(compute))
        return _same(count, dtype, _with_flags(said, dtype, compute))

    return make


def _by_halves(compute: Compute) -> Compute:
    """Return a computation of float16 on both halves of 32-bit registers."""

    def both(*operands: Values) -> Values:
        halves = [
            [as_type(one >> np.uint32(shift), np.dtype(np.uint16)).view(F16) for one in operands]
            for shift in (0, 16)
        ]
        low, high = (_half_bits(compute(*half).astype(F16)) for half in halves)
        return low | (high << np.uint32(16))

    return both


def _half_bits(values: Values) -> Values:
    """Return the bits of float16 in 32-bit registers, with the one NaN that a device makes."""
    return np.where(np.isnan(values), np.uint16(0x7FFF), values.view(np.uint16))[()].astype(U32)


def _saturating(operation: str, dtype: np.dtype) -> Compute:
    info, choose = np.iinfo(dtype), {"add": np.add, "sub": np.subtract}
    return lambda a, b: np.clip(choose[operation](a.astype(np.int64), b), info.min, info.max).astype(dtype)


def quotient(a: Values, b: Values) -> Values:
    """Return a quotient of integers rounded towards zero; -1, all bits set, for a division by zero."""
    found = (a - np.fmod(a, b)) // b if a.dtype.kind == "i" else a // b
    zero = b == 0
    return np.where(zero, ~a.dtype.type(0), found)[()] if np.any(zero) else found


def _remainder(a: Values, b: Values) -> Values:
    found = np.fmod(a, b)
    zero = b == 0
    if not np.any(zero):
        return found
    chosen: Values = np.where(zero, a, found)
    return chosen[()]


def _divide(said: Spelling) -> Rule:
    dtype = said.dtype()
    if dtype.kind in "iu":
        return _same(2, dtype, quotient)
    # `.approx` and `.full` are within 2 units in the last place: rounded once is.
    direction = said.one_of(*_DIRECTIONS, "approx", "full")
    compute: Compute = np.divide
    if direction in ("rz", "rm", "rp"):
        compute = floats.directed("div", direction, dtype)
    elif direction == "approx":
        # It multiplies by the reciprocal, which vanishes there.
        compute = lambda a, b: np.where(np.abs(b) > 2.0**126, a * np.copysign(b.dtype.type(0), b), a / b)[()]  # noqa: E731
    return _same(2, dtype, _with_flags(said, dtype, compute))


def _product(said: Spelling) -> Rule:
    multiply = _multiply(said)
    return multiply if multiply is not None else _arithmetic(np.multiply, "mul")(said)


def _multiply(said: Spelling) -> Rule | None:
    part = said.one_of("wide", "hi", "lo")
    if not part:
        return None
    dtype = said.dtype()
    if part == "lo":
        return _same(2, dtype, np.multiply)
    if part == "wide":
        wide = wider(dtype)
        return Rule(wide, (dtype, dtype), lambda a, b: a.astype(wide) * b.astype(wide))
    return _same(2, dtype, _high_product(dtype))


def _high_product(dtype: np.dtype) -> Compute:
    bits = 8 * dtype.itemsize
    if bits < 64:
        wide = wider(dtype)
        shift = wide.type(bits)
        return lambda a, b: ((a.astype(wide) * b.astype(wide)) >> shift).astype(dtype)

    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)

    def compute(a: Values, b: Values) -> Values:
        x, y = a.view(U64), b.view(U64)
        x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
        middle = x1 * y0 + ((x0 * y0) >> half)
        high = x1 * y1 + (middle >> half) + ((x0 * y1 + (middle & low)) >> half)
        if dtype.kind == "i":
            high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
        return high.view(dtype)[()]

    return compute


def _multiply_add(said: Spelling) -> Rule:
    multiply = _multiply(said)
    if multiply is None:
        # Of float32 `mad` is `fma`.
        return _arithmetic(np.multiply, "fma", 3)(said)
    result, sources, product = multiply
    return Rule(result, (*sources, result), lambda a, b, c: product(a, b) + c)


def _multiply_24(said: Spelling) -> Rule:
    part, dtype, adds = said.one_of("lo", "hi"), said.dtype(), said.instruction.name == "mad24"
    wide, shift, eight = wider(dtype), np.int64(16 if part == "hi" else 0), dtype.type(8)

    def compute(a: Values, b: Values, c: Values = 0) -> Values:
        x, y = ((one << eight) >> eight for one in (a, b))
        return ((x.astype(wide) * y.astype(wide)) >> wide.type(shift)).astype(dtype) + c

    return _same(3 if adds else 2, dtype, compute)


def _absolute_difference(said: Spelling) -> Rule:
    return _same(3, said.dtype(), lambda a, b, c: np.where(a > b, a - b, b - a)[()] + c)


def _negate(said: Spelling) -> Rule:
    dtype = said.dtype()
    if dtype.kind != "f":
        return _same(1, dtype, np.negative)
    return _same(1, dtype, _with_flags(said, dtype, np.negative))


def _absolute(said: Spelling) -> Rule:
    dtype = said.dtype()
    return _same(1, dtype, _with_flags(said, dtype, np.abs))


def _extreme(whole: Compute, real: Compute) -> Callable[[Spelling], Rule]:
    def make(said: Spelling) -> Rule:
        dtype = said.dtype()
        if dtype.kind in "iu":
            return _same(2, dtype, whole)
        compute = floats.propagating(real) if said.has("NaN") else real
        return _same(2, dtype, _with_flags(said, dtype, compute))

    return make


def _bitwise(function: Compute, count: int = 2) -> Callable[[Spelling], Rule]:
    return lambda said: _same(count, said.dtype(), function)


def _not(said: Spelling) -> Rule:
    return _same(1, said.dtype(), np.invert)


def _complement_if_zero(said: Spelling) -> Rule:
    dtype = said.dtype()
    return _same(1, dtype, lambda a: np.where(a == 0, dtype.type(1), dtype.type(0))[()])


def _shift(function: Compute) -> Callable[[Spelling], Rule]:
    """Return what makes a shift: past the width nothing, or the sign, is left, as in NumPy."""

    def make(said: Spelling) -> Rule:
        dtype = said.dtype()
        return Rule(dtype, (dtype, U32), lambda a, b: function(a, b.astype(dtype)))

    return make


def _funnel_shift(said: Spelling) -> Rule:
    direction, mode = said.one_of("l", "r"), said.one_of("wrap", "clamp")
    said.dtype()

    def compute(low: Values, high: Values, count: Values) -> Values:
        n = (count & np.uint32(31)) if mode == "wrap" else np.minimum(count, np.uint32(32))
        both = (high.astype(U64) << np.uint64(32)) | low.astype(U64)
        n = n.astype(U64)
        if direction == "r":
            return (both >> n).astype(U32)
        return ((both << n) >> np.uint64(32)).astype(U32)

    return Rule(U32, (U32, U32, U32), compute)


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


def _copy_sign(said: Spelling) -> Rule:
    return _same(2, said.dtype(), lambda a, b: np.copysign(b, a))


def _convert(said: Spelling) -> Rule:
    if said.has("pack"):
        return _convert_and_pack(said)
    source, result_name = said.dtype(), said.rest[-1] if said.rest else ""
    result = said.dtype()
    direction = said.one_of("rni", "rzi", "rmi", "rpi", *_DIRECTIONS, "rna")
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
            _half_bits(floats.narrowed(one.astype(F64), F16, direction or "rn")) for one in (high, low)
        )
        return (upper << np.uint32(16)) | lower

    return compute


def _approximate(said: Spelling) -> Rule:
    name, dtype = said.instruction.name, said.dtype()
    direction = said.one_of(*_DIRECTIONS, "approx")
    if name in ("sqrt", "rcp") and direction in ("rz", "rm", "rp"):
        return _same(1, dtype, _with_flags(said, dtype, floats.directed(name, direction, dtype)))
    exact: dict[str, Compute] = {"sqrt": np.sqrt, "rcp": lambda a: dtype.type(1) / a}
    compute = exact.get(name) or floats.approximate(floats.APPROXIMATE[name])
    return _same(1, dtype, _with_flags(said, dtype, compute))


def _population(said: Spelling) -> Rule:
    return Rule(U32, (said.dtype(),), lambda a: np.bitwise_count(a).astype(U32))


def _smeared(bits: Values) -> Values:
    """Return numbers with every bit below their highest one set."""
    kind = bits.dtype.type
    for shift in (1, 2, 4, 8, 16, 32)[: int(bits.dtype.itemsize).bit_length() + 2]:
        bits = bits | (bits >> kind(shift))
    return bits


def _leading_zeros(said: Spelling) -> Rule:
    dtype = said.dtype()
    bits = np.uint32(8 * dtype.itemsize)
    return Rule(U32, (dtype,), lambda a: bits - np.bitwise_count(_smeared(a)).astype(U32))


def _find_leading(said: Spelling) -> Rule:
    dtype = said.dtype()
    as_shift = said.has("shiftamt")
    bits = np.uint32(8 * dtype.itemsize)

    def compute(a: Values) -> Values:
        own = np.where(a < 0, ~a, a)[()].view(unsigned(dtype)) if dtype.kind == "i" else a
        found = np.bitwise_count(_smeared(own)).astype(U32) - np.uint32(1)
        return np.where(own == 0, found, bits - np.uint32(1) - found)[()] if as_shift else found

    return Rule(U32, (dtype,), compute)


def _reverse(said: Spelling) -> Rule:
    dtype = said.dtype()
    kind, bits = dtype.type, 8 * dtype.itemsize

    def compute(a: Values) -> Values:
        found = a
        for shift in (1, 2, 4, 8, 16, 32)[: bits.bit_length() - 1]:
            mask = kind(sum(((1 << shift) - 1) << at for at in range(0, bits, 2 * shift)))
            found = ((found >> kind(shift)) & mask) | ((found & mask) << kind(shift))
        return found

    return _same(1, dtype, compute)


def _field(values: Values, bits: int) -> Values:
    """Return where a field begins, or how long it is: of 32 bit the low byte says it (seen on an H100)."""
    return values & np.uint32(255) if bits == 32 else values


def _extract_field(said: Spelling) -> Rule:
    dtype = said.dtype()
    own, bits = unsigned(dtype), 8 * dtype.itemsize

    def compute(a: Values, start: Values, length: Values) -> Values:
        at, count = _field(start, bits), _field(length, bits)
        top = np.minimum(at.astype(np.int64) + count, bits) - 1
        shifted = a >> at.astype(dtype)
        kept = np.minimum(count, np.uint32(bits)).astype(own)
        mask = np.where(kept >= bits, ~own.type(0), (own.type(1) << kept) - own.type(1))[()]
        found = shifted.view(own) & mask
        if dtype.kind == "i":
            sign = (a >> np.maximum(top, 0).astype(dtype)) & dtype.type(1)
            found = np.where((sign != 0) & (count != 0), found | ~mask, found)
        return np.where(count == 0, own.type(0), found)[()].view(dtype)

    return Rule(dtype, (dtype, U32, U32), compute)


def _insert_field(said: Spelling) -> Rule:
    dtype = said.dtype()
    bits = 8 * dtype.itemsize

    def compute(a: Values, b: Values, start: Values, length: Values) -> Values:
        at = _field(start, bits).astype(dtype)
        count = np.minimum(_field(length, bits), np.uint32(bits)).astype(dtype)
        ones = np.where(count >= bits, ~dtype.type(0), (dtype.type(1) << count) - dtype.type(1))[()]
        mask = ones << at
        return (b & ~mask) | ((a << at) & mask)

    return Rule(dtype, (dtype, dtype, U32, U32), compute)


def _logic_3(said: Spelling) -> Rule:
    dtype = said.dtype()

    def compute(a: Values, b: Values, c: Values, table: Values) -> Values:
        found = a & dtype.type(0)
        for number in range(8):
            if int(table) >> number & 1:
                part = (a if number & 4 else ~a) & (b if number & 2 else ~b) & (c if number & 1 else ~c)
                found = found | part
        return found

    return Rule(dtype, (dtype, dtype, dtype, U32), compute)


def _permute(said: Spelling) -> Rule:
    mode = said.one_of("f4e", "b4e", "rc8", "ecl", "ecr", "rc16")
    said.dtype()
    if mode:
        raise unknown(said.instruction)

    def compute(a: Values, b: Values, selection: Values) -> Values:
        both = (b.astype(U64) << np.uint64(32)) | a.astype(U64)
        found = np.uint32(0)
        for place in range(4):
            pick = (selection >> np.uint32(4 * place)) & np.uint32(15)
            shift = ((pick & np.uint32(7)) << np.uint32(3)).astype(U64)
            byte: Values = ((both >> shift) & np.uint64(255)).astype(U32)
            sign = np.where(byte & np.uint32(128), np.uint32(255), np.uint32(0))[()]
            byte = np.where(pick & np.uint32(8), sign, byte)[()]
            found = found | (byte << np.uint32(8 * place))
        return found

    return Rule(U32, (U32, U32, U32), compute)


def _dot(said: Spelling) -> Rule:
    """Make `dp4a` (4 products of bytes) and `dp2a` (2 of 16 with 8 bit)."""
    name, half = said.instruction.name, said.one_of("lo", "hi")
    right, left = said.dtype(), said.dtype()
    result = S32 if "i" in (left.kind, right.kind) else U32
    width = 8 if name == "dp4a" else 16
    first = 2 if half == "hi" else 0

    def part(values: Values, at: int, bits: int, dtype: np.dtype) -> Values:
        own = np.dtype(f"{dtype.kind}{bits // 8}")
        return as_type(values >> np.uint32(at * bits), unsigned(own)).view(own).astype(np.int64)

    def compute(a: Values, b: Values, c: Values) -> Values:
        total = c.astype(np.int64)
        for k in range(32 // width):
            total = total + part(a, k, width, left) * part(b, first + k, 8, right)
        return total.astype(result)

    return Rule(result, (U32, U32, result), compute)


def _move(said: Spelling) -> Rule:
    return _same(1, said.dtype(), lambda a: a)


RULES: dict[str, Callable[[Spelling], Rule]] = {
    "add": _arithmetic(np.add, "add"),
    "sub": _arithmetic(np.subtract, "sub"),
    "mul": _product,
    "mad": _multiply_add,
    "fma": _arithmetic(np.multiply, "fma", 3),
    "mul24": _multiply_24,
    "mad24": _multiply_24,
    "sad": _absolute_difference,
    "div": _divide,
    "rem": lambda said: _same(2, said.dtype(), _remainder),
    "neg": _negate,
    "abs": _absolute,
    "min": _extreme(np.minimum, floats.least),
    "max": _extreme(np.maximum, floats.greatest),
    "and": _bitwise(np.bitwise_and),
    "or": _bitwise(np.bitwise_or),
    "xor": _bitwise(np.bitwise_xor),
    "not": _not,
    "cnot": _complement_if_zero,
    "shl": _shift(np.left_shift),
    "shr": _shift(np.right_shift),
    "shf": _funnel_shift,
    "setp": _set_predicate,
    "set": _set,
    "selp": _select,
    "slct": _select_by_sign,
    "testp": _test_property,
    "copysign": _copy_sign,
    "cvt": _convert,
    "sqrt": _approximate,
    "rcp": _approximate,
    "rsqrt": _approximate,
    "sin": _approximate,
    "cos": _approximate,
    "ex2": _approximate,
    "lg2": _approximate,
    "tanh": _approximate,
    "popc": _population,
    "clz": _leading_zeros,
    "bfind": _find_leading,
    "brev": _reverse,
    "bfe": _extract_field,
    "bfi": _insert_field,
    "lop3": _logic_3,
    "prmt": _permute,
    "dp4a": _dot,
    "dp2a": _dot,
    "mov": _move,
}

"""Instructions of integers: products and quotients, shifts, fields of bits, bytes. PTX ISA, 9.7.1, 9.7.8."""

from collections.abc import Callable

import numpy as np

from engine.ptx.spelling import BOOL, S32, U32, U64, Compute, Rule, Spelling, alike, same
from engine.ptx.types import Values, as_type, unsigned, wider


def quotient(a: Values, b: Values) -> Values:
    """Return a quotient of integers rounded towards zero; -1, all bits set, for a division by zero."""
    found = (a - np.fmod(a, b)) // b if a.dtype.kind == "i" else a // b
    chosen: Values = np.where(b == 0, ~a.dtype.type(0), found)
    return chosen[()]


def _remainder(a: Values, b: Values) -> Values:
    chosen: Values = np.where(b == 0, a, np.fmod(a, b))
    return chosen[()]


def multiply(said: Spelling) -> Rule | None:
    """Return the rule of a product of which a part is named: low, high, or wide; else None."""
    part = said.one_of("wide", "hi", "lo")
    if not part:
        return None
    dtype = said.dtype()
    if part == "lo":
        return same(2, dtype, np.multiply)
    if part == "wide":
        wide = wider(dtype)
        return Rule(wide, (dtype, dtype), lambda a, b: a.astype(wide) * b.astype(wide))
    return same(2, dtype, _high_product(dtype))


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


def _multiply_24(said: Spelling) -> Rule:
    part, dtype, adds = said.one_of("lo", "hi"), said.dtype(), said.instruction.name == "mad24"
    wide, shift, eight = wider(dtype), np.int64(16 if part == "hi" else 0), dtype.type(8)

    def compute(a: Values, b: Values, c: Values = 0) -> Values:
        x, y = ((one << eight) >> eight for one in (a, b))
        return ((x.astype(wide) * y.astype(wide)) >> wide.type(shift)).astype(dtype) + c

    return same(3 if adds else 2, dtype, compute)


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

    def compute(a: Values) -> Values:
        bits = np.unpackbits(np.reshape(a, (-1, 1)).view(np.uint8), axis=1)
        return np.packbits(bits[:, ::-1], axis=1).view(dtype).reshape(a.shape)[()]

    return same(1, dtype, compute)


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
        raise said.instruction.unknown()

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


def with_carry(said: Spelling) -> Rule:
    """Make what adds or subtracts with carry: it takes the carry flag last, and gives the new one last.

    Source: PTX ISA, 9.7.2.
    """
    name = said.instruction.name
    takes, operation = name.endswith("c"), name[:3]
    said.has("cc")
    product = multiply(said) if operation == "mad" else None
    dtype = said.dtype() if product is None else product.result
    if dtype.kind not in "iu" or (operation == "mad") is (product is None):
        raise said.instruction.unknown()
    own = unsigned(dtype)

    def compute(*operands: Values) -> tuple[Values, Values]:
        *given, flag = operands
        carry = flag if takes else np.False_
        if product is not None:
            given = [product.compute(given[0], given[1]), given[2]]
        a, b = (one.view(own) for one in given)
        if operation == "sub":
            return a - b - carry.astype(own), (a < b) | (carry & (a == b))
        total = a + b + carry.astype(own)
        return total, (total < a) | (carry & (total == a))

    return Rule(dtype, (dtype,) * (2 if product is None else 3) + (BOOL,), compute, has_many=True)


RULES: dict[str, Callable[[Spelling], Rule]] = {
    "mul24": _multiply_24,
    "mad24": _multiply_24,
    "sad": alike(3, lambda a, b, c: np.where(a > b, a - b, b - a)[()] + c),
    "rem": alike(2, _remainder),
    "and": alike(2, np.bitwise_and),
    "or": alike(2, np.bitwise_or),
    "xor": alike(2, np.bitwise_xor),
    "not": alike(1, np.invert),
    "cnot": alike(1, lambda a: np.where(a == 0, a.dtype.type(1), a.dtype.type(0))[()]),
    "shl": _shift(np.left_shift),
    "shr": _shift(np.right_shift),
    "shf": _funnel_shift,
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
}

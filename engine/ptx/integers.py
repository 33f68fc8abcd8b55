"""What NumPy lacks of integers: products and quotients, fields of bits, bytes. PTX ISA 9.0, 9.7.1."""

from collections.abc import Callable

import numpy as np

from engine.ptx.types import U32, U64, Values, as_type, unsigned, wider


def quotient(a: Values, b: Values) -> Values:
    """Return a quotient of integers rounded towards zero; -1, all bits set, for a division by zero."""
    found = (a - np.fmod(a, b)) // b if a.dtype.kind == "i" else a // b
    chosen: Values = np.where(b == 0, ~a.dtype.type(0), found)
    return chosen[()]


def remainder(a: Values, b: Values) -> Values:
    """Return the remainder of that quotient."""
    chosen: Values = np.where(b == 0, a, np.fmod(a, b))
    return chosen[()]


def saturating_add(a: Values, b: Values, sign: int = 1) -> Values:
    """Return a + sign * b, or the nearest that the type has."""
    info = np.iinfo(a.dtype)
    return np.clip(a.astype(np.int64) + np.int64(sign) * b, info.min, info.max).astype(a.dtype)


def clipped(dtype: np.dtype, values: Values) -> Values:
    """Return the nearest numbers that another type has."""
    own, info = np.iinfo(values.dtype), np.iinfo(dtype)
    return np.clip(values, max(own.min, info.min), min(own.max, info.max)).astype(dtype)


def wide_product(a: Values, b: Values) -> Values:
    """Return a product in twice the bits."""
    wide = wider(a.dtype)
    return a.astype(wide) * b.astype(wide)


def high_product(a: Values, b: Values) -> Values:
    """Return the upper half of a product."""
    dtype = a.dtype
    if dtype.itemsize < 8:
        return (wide_product(a, b) >> wider(dtype).type(8 * dtype.itemsize)).astype(dtype)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    x, y = a.view(U64), b.view(U64)
    x0, x1, y0, y1 = x & low, x >> half, y & low, y >> half
    middle = x1 * y0 + ((x0 * y0) >> half)
    high = x1 * y1 + (middle >> half) + ((x0 * y1 + (middle & low)) >> half)
    if dtype.kind == "i":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return high.view(dtype)[()]


PRODUCTS: dict[str, Callable[..., Values]] = {"lo": np.multiply, "hi": high_product, "wide": wide_product}


def multiply_add(part: str, a: Values, b: Values, c: Values) -> Values:
    """Return a part of a product plus c."""
    return PRODUCTS[part](a, b) + c


def product_24(part: str, a: Values, b: Values, c: Values = 0) -> Values:
    """Return the lower or upper 32 bits of the 48 of a product of the low 24 bits of each, plus c."""
    eight = a.dtype.type(8)
    wide = wide_product((a << eight) >> eight, (b << eight) >> eight)
    return (wide >> wide.dtype.type(16 if part == "hi" else 0)).astype(a.dtype) + c


def funnel_shift(direction: str, mode: str, low: Values, high: Values, count: Values) -> Values:
    """Return the upper, or for "r" the lower, half of 64 bits that are shifted."""
    n = (count & np.uint32(31)) if mode == "wrap" else np.minimum(count, np.uint32(32))
    n, both = n.astype(U64), (high.astype(U64) << np.uint64(32)) | low.astype(U64)
    return (both >> n if direction == "r" else (both << n) >> np.uint64(32)).astype(U32)


def population(a: Values) -> Values:
    """Return how many bits are set."""
    return np.bitwise_count(a).astype(U32)


def leading_zeros(a: Values) -> Values:
    """Return how many zeros stand above the highest bit that is set."""
    return np.uint32(8 * a.dtype.itemsize) - population(_smeared(a))


def find_leading(a: Values) -> Values:
    """Return the place of the highest bit unlike the sign, -1 where there is none."""
    own = np.where(a < 0, ~a, a)[()].view(unsigned(a.dtype)) if a.dtype.kind == "i" else a
    return population(_smeared(own)) - np.uint32(1)


def shift_to_leading(a: Values) -> Values:
    """Return by how much a shift brings that bit to the top."""
    found = find_leading(a)
    return np.where(~found == 0, found, np.uint32(8 * a.dtype.itemsize - 1) - found)[()]


def _smeared(bits: Values) -> Values:
    """Return numbers with every bit below their highest one set."""
    for shift in (1, 2, 4, 8, 16, 32)[: int(bits.dtype.itemsize).bit_length() + 2]:
        bits = bits | (bits >> bits.dtype.type(shift))
    return bits


def reverse(a: Values) -> Values:
    """Return numbers with their bits in reverse order."""
    bits = np.unpackbits(np.reshape(a, (-1, 1)).view(np.uint8), axis=1)
    return np.packbits(bits[:, ::-1], axis=1).view(a.dtype).reshape(a.shape)[()]


def _ones(count: Values, dtype: np.dtype) -> Values:
    """Return numbers whose lowest bits, so many, are set."""
    one, kept = dtype.type(1), count.astype(dtype)
    return np.where(count >= 8 * dtype.itemsize, ~dtype.type(0), (one << kept) - one)[()]


def _place(values: Values, bits: int) -> Values:
    """Return where a field begins, or how long it is: of 32 bit the low byte says it (seen on an H100)."""
    return values & np.uint32(255) if bits == 32 else values


def extract_field(a: Values, start: Values, length: Values) -> Values:
    """Return a field of bits, of signed numbers with the sign that it ends in."""
    dtype, bits = a.dtype, 8 * a.dtype.itemsize
    own, at, count = unsigned(dtype), _place(start, bits), _place(length, bits)
    mask = _ones(count, own)
    found = (a >> at.astype(dtype)).view(own) & mask
    if dtype.kind == "i":
        top = np.minimum(at.astype(np.int64) + count, bits) - 1
        sign = (a >> np.maximum(top, 0).astype(dtype)) & dtype.type(1)
        found = np.where((sign != 0) & (count != 0), found | ~mask, found)[()]
    return found.view(dtype)


def insert_field(a: Values, b: Values, start: Values, length: Values) -> Values:
    """Return b with the low bits of a as one of its fields."""
    bits = 8 * a.dtype.itemsize
    at = _place(start, bits).astype(a.dtype)
    mask = _ones(_place(length, bits), a.dtype) << at
    return (b & ~mask) | ((a << at) & mask)


def logic_3(a: Values, b: Values, c: Values, table: Values) -> Values:
    """Return what a table of 8 bits says of each three bits."""
    found = a & a.dtype.type(0)
    for number in range(8):
        if int(table) >> number & 1:
            part = (a if number & 4 else ~a) & (b if number & 2 else ~b) & (c if number & 1 else ~c)
            found = found | part
    return found


def permute(a: Values, b: Values, selection: Values) -> Values:
    """Return four chosen bytes of eight, or the sign of each."""
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


def dot(width: int, first: int, a: Values, b: Values, c: Values) -> Values:
    """Return c plus the products of parts of a, `width` bits long, with bytes of b from the first on."""

    def part(values: Values, at: int, bits: int) -> Values:
        own = np.dtype(f"{values.dtype.kind}{bits // 8}")
        return as_type(values.view(U32) >> np.uint32(at * bits), own).astype(np.int64)

    total = c.astype(np.int64)
    for k in range(32 // width):
        total = total + part(a, k, width) * part(b, first + k, 8)
    return total.astype(c.dtype)


def add_with_carry(takes: bool, sign: int, a: Values, b: Values, flag: Values) -> tuple[Values, Values]:
    """Return a + sign * b with the carry that it takes, and the carry that it gives. PTX ISA, 9.7.2."""
    own = unsigned(a.dtype)
    carry, x, y = flag if takes else np.False_, a.view(own), b.view(own)
    if sign < 0:
        return x - y - carry.astype(own), (x < y) | (carry & (x == y))
    total = x + y + carry.astype(own)
    return total, (total < x) | (carry & (total == x))


def multiply_add_with_carry(
    takes: bool, part: str, a: Values, b: Values, c: Values, flag: Values
) -> tuple[Values, Values]:
    """Return the same of a part of a product plus c."""
    return add_with_carry(takes, 1, PRODUCTS[part](a, b), c, flag)

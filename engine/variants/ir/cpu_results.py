"""Results on the CPU: made whole numbers of the picture's type where it has these, and stored.

Whole numbers are saturated and rounded half to even; NaN becomes 0.
"""

from llvmlite import ir

from engine.variants.ir.cpu_vectors import CAN_PACK, VECTOR, Vectors
from engine.variants.ir.value import F32, I32, Operand, Value, constant

_INTEGERS = ir.VectorType(I32, VECTOR)


def store_results(
    vectors: Vectors,
    results: list[Value],
    pointer: Value,
    index: Operand = 0,
    past_cache: Value | None = None,
    fits: Value | None = None,
) -> None:
    """Store vectors of results side by side, from an element on, in the pointer's type.

    `past_cache` is a condition: whether past the cache; float32 only, and only whole, aligned vectors. So is
    `fits`: whether no result can lie beyond the integers of 32 bits.
    """
    element = pointer.llvm.type.pointee
    if element == F32:
        made = results
    elif CAN_PACK and element.width == 8 and len(results) > 1:
        made = _bytes(vectors, results, fits)
    else:
        made = [_whole(vectors, values, element) for values in results]

    def store(is_past: bool) -> None:
        first = 0
        for values in made:
            vectors.store(values, pointer, index + first, past_cache=is_past)
            first += values.llvm.type.count

    if element == F32 and past_cache is not None:
        vectors.when(past_cache, lambda: store(True), lambda: store(False))
    else:
        store(False)


def _whole(vectors: Vectors, values: Value, element: ir.Type) -> Value:
    """Return a vector of floats as whole numbers."""
    largest = vectors.all(float(2**element.width - 1))
    # Both comparisons are false for NaN: the first one makes it 0.
    above = vectors.select(values > vectors.zero, values, vectors.zero)
    within = vectors.select(above < largest, above, largest)
    # A number of this size has no bits for fractions: the sum is rounded half to even, and its last bits are
    # the whole number. One operation less than rounding and converting.
    return (within + 2.0**23).bits_as(_INTEGERS).trunc(ir.VectorType(element, VECTOR))


def _bytes(vectors: Vectors, results: list[Value], fits: Value | None) -> list[Value]:
    """Return two to four vectors of floats as bytes, in vectors of four, two and one times as many.

    Conversion rounds, and packing saturates: four operations per vector instead of six, and a store for
    four of them.
    """
    words, octets = ir.VectorType(ir.IntType(16), 2 * VECTOR), ir.VectorType(ir.IntType(8), 4 * VECTOR)
    largest = vectors.all(255.0)

    def clamped() -> list[Value]:
        # False for NaN, which is then converted to the least integer, and that is packed to 0.
        return [vectors.select(largest < values, largest, values) for values in results]

    # An infinite one too would be packed to 0. AVX2: 8-bit 3 x 3 takes 8 % less time without.
    within = clamped() if fits is None or VECTOR == 16 else vectors.when(fits, lambda: results, clamped)
    whole = [_rounded(vectors, values) for values in within]
    a, b, c, d = whole + [whole[-1]] * (4 - len(whole))
    family, width = ("avx512", ".512") if VECTOR == 16 else ("avx2", "")
    pairs = [vectors.called(f"x86.{family}.packssdw{width}", words, *pair) for pair in ((a, b), (c, d))]
    packed = vectors.called(f"x86.{family}.packuswb{width}", octets, *pairs)
    # Packing goes by parts of 128 bits: four results of each vector, as often as it has such parts.
    fours = packed.bits_as(_INTEGERS)
    order = [4 * part + vector for vector in range(4) for part in range(VECTOR // 4)]
    in_order = vectors.shuffled(fours, fours, order).bits_as(octets)
    parts, first = [], 0
    for count in (4, 2, 1):
        if count <= len(results) - first:
            chosen = list(range(first * VECTOR, (first + count) * VECTOR))
            parts.append(in_order if count == 4 else vectors.shuffled(in_order, in_order, chosen))
            first += count
    return parts


def _rounded(vectors: Vectors, values: Value) -> Value:
    """Return floats as integers, rounded half to even."""
    if VECTOR == 8:
        return vectors.called("x86.avx.cvt.ps2dq.256", _INTEGERS, values)
    nothing = vectors.value(constant(0, _INTEGERS))
    all_elements, as_set = vectors.value(constant(-1, ir.IntType(VECTOR))), vectors.integer(4)
    return vectors.called("x86.avx512.mask.cvtps2dq.512", _INTEGERS, values, nothing, all_elements, as_set)

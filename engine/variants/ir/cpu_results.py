"""Results on the CPU, emitted as LLVM IR: made whole numbers of the picture's type where it has these, and stored.

Whole numbers are saturated and rounded half to even; NaN becomes 0.
"""

from llvmlite import ir
from numba.core import cgutils

from engine.variants.ir.cpu_vectors import CAN_PACK, FLOAT, VECTOR, Vectors, number

_INT16, _INT32 = ir.IntType(16), ir.IntType(32)
_INTEGERS = ir.VectorType(_INT32, VECTOR)


def _own_type(vectors: Vectors, results: list[ir.Value], element: ir.Type) -> list[ir.Value]:
    """Return vectors of results that lie side by side in the type of a sample, `element`; they may become fewer and longer."""
    if element == FLOAT:
        return results
    if CAN_PACK and element.width == 8 and len(results) > 1:
        return _bytes(vectors, results)
    return [_whole(vectors, values, element) for values in results]


def store_results(
    vectors: Vectors, results: list[ir.Value], pointer: ir.Value, index: ir.Value, past_cache: ir.Value
) -> None:
    """Store vectors of results side by side, from an element on, in the pointer's type.

    `past_cache` is a bit: whether past the cache; float32 only, and only whole, aligned vectors.
    """
    builder, element = vectors.builder, pointer.type.pointee
    made = _own_type(vectors, results, element)
    if element != FLOAT:
        _store(vectors, made, pointer, index, past_cache=False)
        return
    with builder.if_else(past_cache) as (past, into):
        with past:
            _store(vectors, made, pointer, index, past_cache=True)
        with into:
            _store(vectors, made, pointer, index, past_cache=False)


def _store(
    vectors: Vectors, made: list[ir.Value], pointer: ir.Value, index: ir.Value, *, past_cache: bool
) -> None:
    lanes = 0
    for values in made:
        vectors.store_samples(values, pointer, vectors.builder.add(index, number(lanes)), past_cache)
        lanes += values.type.count


def _whole(vectors: Vectors, values: ir.Value, element: ir.Type) -> ir.Value:
    """Return a vector of floats as whole numbers."""
    builder, largest = vectors.builder, vectors.all(float(2**element.width - 1))
    # Both comparisons are false for NaN: the first one makes it 0.
    above = builder.select(builder.fcmp_ordered(">", values, vectors.zero), values, vectors.zero)
    within = builder.select(builder.fcmp_ordered("<", above, largest), above, largest)
    # A number of this size has no bits for fractions: the sum is rounded half to even, and its last bits are the whole
    # number. One operation less than rounding and converting.
    rounded = builder.bitcast(builder.fadd(within, vectors.all(2.0**23)), _INTEGERS)
    return builder.trunc(rounded, ir.VectorType(element, VECTOR))


def _bytes(vectors: Vectors, results: list[ir.Value]) -> list[ir.Value]:
    """Return two to four vectors of floats as bytes, in vectors of 64, 32 and 16.

    Conversion rounds, and packing saturates: four operations a vector instead of six, and a store for four of them.
    """
    builder = vectors.builder
    words, octets = ir.VectorType(_INT16, 2 * VECTOR), ir.VectorType(ir.IntType(8), 4 * VECTOR)
    bits = ir.IntType(VECTOR)
    convert = _function(vectors, "mask.cvtps2dq.512", _INTEGERS, vectors.floats, _INTEGERS, bits, _INT32)
    to_words = _function(vectors, "packssdw.512", words, _INTEGERS, _INTEGERS)
    to_bytes = _function(vectors, "packuswb.512", octets, words, words)
    largest, nothing = vectors.all(255.0), ir.Constant(_INTEGERS, [0] * VECTOR)
    all_lanes, as_set = ir.Constant(bits, -1), ir.Constant(_INT32, 4)
    whole = []
    for values in results:
        # False for NaN, which is then converted to the least integer, and that is packed to 0.
        within = builder.select(builder.fcmp_ordered("<", largest, values), largest, values)
        whole.append(builder.call(convert, [within, nothing, all_lanes, as_set]))
    a, b, c, d = whole + [whole[-1]] * (4 - len(whole))
    packed = builder.call(to_bytes, [builder.call(to_words, pair) for pair in ([a, b], [c, d])])
    # Packing goes by quarters of a vector: four results of each one, four times.
    fours = builder.bitcast(packed, _INTEGERS)
    order = ir.Constant(_INTEGERS, [4 * quarter + vector for vector in range(4) for quarter in range(4)])
    in_order = builder.bitcast(builder.shuffle_vector(fours, fours, order), octets)
    parts, first = [], 0
    for count in (4, 2, 1):
        if count <= len(results) - first:
            lanes = list(range(first * VECTOR, (first + count) * VECTOR))
            chosen = ir.Constant(ir.VectorType(_INT32, len(lanes)), lanes)
            parts.append(in_order if count == 4 else builder.shuffle_vector(in_order, in_order, chosen))
            first += count
    return parts


def _function(vectors: Vectors, name: str, result: ir.Type, *operands: ir.Type) -> ir.Function:
    kind = ir.FunctionType(result, operands)
    return cgutils.get_or_insert_function(vectors.builder.module, kind, f"llvm.x86.avx512.{name}")

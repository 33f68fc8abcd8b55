"""The running sums of a box mask: input rows added down the columns, neighbours summed along a row.

Lines of float32 values are read and written in whole vectors, so up to VECTOR - 1 past their length.
"""

from functools import partial

from numba import types
from numba.extending import intrinsic

from engine.variants.ir.cpu_vectors import VECTOR, Vectors, sample_type
from engine.variants.ir.value import F32, Value

# Vectors under way at once: an addition takes three cycles, and two begin in each cycle.
_VECTORS = 4


@intrinsic
def take_row(typingctx, source, sample, weight, count, lines, line, front, ends, window, begins):
    """Add an input row to the sums down the columns, and sum up the windows that it completes.

    `source` is the address of `count` samples of the type of the flat array `sample`. `line`, `front`, `ends`
    and `window` are elements of the flat float32 array `lines`: where the weighted row goes; the sum of its
    segment so far, 0 if the row `begins` one; the sum of the end of the segment before; where the sum of the
    last two goes, the windows.
    """
    integers = (types.int64,) * 5
    signature = types.void(types.int64, sample, types.float32, types.int64, lines, *integers[:4], types.int64)

    def codegen(context, builder, signature, arguments):
        vectors = Vectors(context, builder)
        source, _, weight, count, array, *places, begins = vectors.arguments(signature, arguments)
        source, data = vectors.at_address(source, sample_type(sample.dtype)), vectors.pointer(array)
        line, front, ends, window = (data + place for place in places)
        weights, first = vectors.splat(weight), vectors.flag(begins)

        def strip(at: Value, across: int) -> None:
            for v in range(across):
                here = at + v * VECTOR
                weighted = vectors.load(source, here) * weights
                total = vectors.select(first, vectors.zero, vectors.load(front, here)) + weighted
                windows = total + vectors.load(ends, here)
                for values, target in ((weighted, line), (total, front), (windows, window)):
                    vectors.store(values, target, here)

        vectors.strips(count, _VECTORS, strip)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def add_line(typingctx, lines, source, target, count):
    """Add a line of values to another one; both are elements of `lines`."""

    def codegen(context, builder, signature, arguments):
        vectors = Vectors(context, builder)
        array, source, target, count = vectors.arguments(signature, arguments)
        data = vectors.pointer(array)
        source, target = data + source, data + target

        def strip(at: Value, across: int) -> None:
            for v in range(across):
                here = at + v * VECTOR
                vectors.store(vectors.load(target, here) + vectors.load(source, here), target, here)

        vectors.strips(count, _VECTORS, strip)
        return context.get_dummy_value()

    return types.void(lines, types.int64, types.int64, types.int64), codegen


@intrinsic
def add_neighbours(typingctx, lines, line, step, terms, out, start, begins, count):
    """Add to each of `count` results the sum of 0 to 4 `terms` of a line, `step` apart.

    `line` is the element of the flat float32 array `lines` with the first result's first term, `out` the
    address of the float32 results. If it `begins`, they begin with `start`; else they are added to.
    """

    def codegen(context, builder, signature, arguments):
        vectors = Vectors(context, builder)
        array, line, step, terms, out, start, begins, count = vectors.arguments(signature, arguments)
        line, out = vectors.pointer(array) + line, vectors.at_address(out, F32)
        initial, first = vectors.splat(start), vectors.flag(begins)

        def sums_of(number_of_terms: int) -> None:
            vectors.strips(count, _VECTORS, partial(strip, number_of_terms))

        def strip(number_of_terms: int, at: Value, across: int) -> None:
            for v in range(across):
                here = at + v * VECTOR
                values = [vectors.load(line, here + step * term) for term in range(number_of_terms)]
                # In pairs: as few additions after one another as can be.
                while len(values) > 1:
                    pairs = zip(values[::2], [*values[1::2], None], strict=False)
                    values = [a if b is None else a + b for a, b in pairs]
                total = vectors.select(first, initial, vectors.load(out, here))
                for value in values:
                    total = total + value
                vectors.store(total, out, here)

        vectors.switch(terms, range(5), sums_of)
        return context.get_dummy_value()

    integer = types.int64
    return types.void(lines, *(integer,) * 4, types.float32, integer, integer), codegen

"""The running sums of a box mask, emitted as LLVM IR: rows taken in down the columns, neighbours summed along a row.

Each reads and writes lines of float32 values in whole vectors, so up to a vector less one past their length.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.variants.ir.cpu_vectors import FLOAT, VECTOR, Vectors, data_of, number, pointer_at, sample_type

# Vectors under way at once: an addition takes three cycles, and two begin in each.
_VECTORS = 4


@intrinsic
def take_row(typingctx, source, sample, weight, count, lines, line, front, ends, window, begins):
    """Take an input row into the sums down the columns, and sum up the windows that it completes.

    Parameters
    ----------
    source : int64
        Address of the first sample.
    sample : flat array
        Only its type matters: that of the samples.
    weight : float32
    count : int64
        Samples.
    lines : flat float32 array
    line, front, ends, window : int64
        Elements of `lines`: where the weighted row goes; the sum of the segment so far, which it is added to; the sum of
        the segment before from some row on; where the sum of both goes, the windows.
    begins : int64
        Whether the row is the first one of its segment: the sum so far is 0.
    """
    integers = (types.int64,) * 5
    signature = types.void(types.int64, sample, types.float32, types.int64, lines, *integers[:4], types.int64)

    def codegen(context, builder, signature, arguments):
        source, _, weight, count, array, *places, begins = arguments
        vectors = Vectors(builder)
        source = pointer_at(builder, source, sample_type(sample.dtype))
        data = data_of(context, builder, lines, array)
        line, front, ends, window = (builder.gep(data, [place]) for place in places)
        weights, first = vectors.splat(weight), builder.trunc(begins, ir.IntType(1))

        def strip(at: ir.Value, across: int) -> None:
            for v in range(across):
                here = builder.add(at, number(v * VECTOR))
                weighted = builder.fmul(vectors.load(source, here), weights)
                so_far = builder.select(first, vectors.zero, vectors.load(front, here))
                total = builder.fadd(so_far, weighted)
                windows = builder.fadd(total, vectors.load(ends, here))
                for values, target in ((weighted, line), (total, front), (windows, window)):
                    vectors.store(values, target, here)

        vectors.strips(count, _VECTORS, strip)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def add_line(typingctx, lines, source, target, count):
    """Add a line of values to another one; both are elements of `lines`."""

    def codegen(context, builder, signature, arguments):
        array, source, target, count = arguments
        vectors, data = Vectors(builder), data_of(context, builder, lines, array)
        source, target = (builder.gep(data, [place]) for place in (source, target))

        def strip(at: ir.Value, across: int) -> None:
            for v in range(across):
                here = builder.add(at, number(v * VECTOR))
                vectors.store(
                    builder.fadd(vectors.load(target, here), vectors.load(source, here)), target, here
                )

        vectors.strips(count, _VECTORS, strip)
        return context.get_dummy_value()

    return types.void(lines, types.int64, types.int64, types.int64), codegen


@intrinsic
def add_neighbours(typingctx, lines, line, step, terms, out, start, begins, count):
    """Add to each result the sum of `terms` values of a line from its own place on, `step` apart.

    Parameters
    ----------
    lines : flat float32 array
    line : int64
        Element of the first result's first value.
    step, terms : int64
        Terms are 0 to 4.
    out : int64
        Address of the results, float32.
    start : float32
        What results begin with.
    begins : int64
        Whether they do; else they are added to.
    count : int64
        Results.
    """

    def codegen(context, builder, signature, arguments):
        array, line, step, terms, out, start, begins, count = arguments
        vectors = Vectors(builder)
        line = builder.gep(data_of(context, builder, lines, array), [line])
        out = pointer_at(builder, out, FLOAT)
        initial, first = vectors.splat(start), builder.trunc(begins, ir.IntType(1))
        done = builder.append_basic_block("neighbours_added")
        choice = builder.switch(terms, done)
        for number_of_terms in range(5):
            block = builder.append_basic_block(f"terms_{number_of_terms}")
            choice.add_case(number(number_of_terms), block)
            builder.position_at_end(block)

            def strip(at: ir.Value, across: int, terms: int = number_of_terms) -> None:
                for v in range(across):
                    here = builder.add(at, number(v * VECTOR))
                    values: list[Any] = []
                    for _ in range(terms):
                        place = builder.add(here, builder.mul(step, number(len(values))))
                        values.append(vectors.load(line, place))
                    # In pairs: as few additions after one another as can be.
                    while len(values) > 1:
                        pairs = zip(values[::2], [*values[1::2], None], strict=False)
                        values = [a if b is None else builder.fadd(a, b) for a, b in pairs]
                    total = builder.select(first, initial, vectors.load(out, here))
                    for value in values:
                        total = builder.fadd(total, value)
                    vectors.store(total, out, here)

            vectors.strips(count, _VECTORS, strip)
            builder.branch(done)
        builder.position_at_end(done)
        return context.get_dummy_value()

    integer = types.int64
    return (
        types.void(lines, integer, integer, integer, integer, types.float32, integer, integer),
        codegen,
    )

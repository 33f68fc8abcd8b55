"""A register tile for the CPU: ROWS x VECTORS vectors of sums that stay in registers while the mask is walked.

The loops over mask rows and columns stay loops, with bounds known only at run time, so that one compilation serves
every mask size. The tile walks down its input rows: a vector that was loaded serves every result row that it lies under,
and a weight every vector of a row, so that 6 multiply-adds need 5 loads, not 7.
"""

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_F32 = ir.FloatType()
_INT = ir.IntType(64)


def _vector_floats() -> int:
    """Return the floats of this machine's widest vector: 16 (AVX-512), 8 (AVX), else 4."""
    features = llvm.get_host_cpu_features()
    if features.get("avx512f"):
        return 16
    return 8 if features.get("avx") else 4


VECTOR = _vector_floats()
# 3 x 2 partial sums, 3 x 2 totals, 2 input vectors and a weight are 15 of the 16 registers that AVX has. With AVX-512's 32
# larger tiles gave nothing (4 x 2, 3 x 3, 4 x 3, 3 x 4, 5 x 2 lie within 10 %) and take longer to compile.
ROWS, VECTORS = 3, 2
COLUMNS = VECTORS * VECTOR


def _not_unrolled(module: ir.Module) -> ir.MDValue:
    """Return the mark of a loop that the compiler shall leave as it is: unrolling all ten took 1 s."""
    name = "llvm.loop.unroll.disable"
    mark = module.add_metadata([module.add_metadata([ir.MetaDataString(module, name)])])
    # The mark of a loop names itself first.
    mark.operands = (mark, *mark.operands)
    return mark


@intrinsic
def register_tile(
    typingctx, source, at, pitch, weights, mask_rows, mask_columns, step, offset, out, out_at, out_pitch
):
    """Correlate ROWS x COLUMNS results from a flat float32 buffer into another.

    Parameters
    ----------
    source, weights, out : flat float32 arrays
    at, out_at : int64
        Element index of the tile's first input cell (mask cell 0, 0) and of its first result.
    pitch, out_pitch : int64
        Elements from one row to the next.
    mask_rows, mask_columns : int64
    step : int64
        Elements from one mask column to the next: the number of interleaved channels.
    offset : float32
        Added to every result.
    """
    signature = types.void(
        source,
        types.int64,
        types.int64,
        weights,
        types.int64,
        types.int64,
        types.int64,
        types.float32,
        out,
        types.int64,
        types.int64,
    )

    def codegen(context, builder, signature, arguments):
        source, at, pitch, weights, mask_rows, mask_columns, step, offset, out, out_at, out_pitch = arguments
        pointer = {
            name: context.make_array(signature.args[index])(context, builder, value).data
            for name, index, value in (("source", 0, source), ("weights", 3, weights), ("out", 8, out))
        }
        vector = ir.VectorType(_F32, VECTOR)
        zero = ir.Constant(vector, [0.0] * VECTOR)
        fma = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{VECTOR}f32"
        )

        def splat(scalar):
            one = builder.insert_element(ir.Constant(vector, ir.Undefined), scalar, ir.Constant(_INT, 0))
            order = ir.Constant(ir.VectorType(ir.IntType(32), VECTOR), [0] * VECTOR)
            return builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), order)

        def address(base, index):
            return builder.bitcast(builder.gep(base, [index]), vector.as_pointer())

        tile = [(row, column) for row in range(ROWS) for column in range(VECTORS)]
        totals = {cell: cgutils.alloca_once_value(builder, zero) for cell in tile}
        not_unrolled = _not_unrolled(builder.module)
        one, last = ir.Constant(_INT, 1), ir.Constant(_INT, ROWS - 1)

        def add_input_row(number, first, lowest, highest):
            """Add an input row to the result rows lowest .. highest, which it meets under mask rows number - row."""
            met = [cell for cell in tile if lowest <= cell[0] <= highest]
            weight_rows = {
                row: builder.gep(
                    pointer["weights"],
                    [builder.mul(builder.sub(number, ir.Constant(_INT, row)), mask_columns)],
                )
                for row in range(lowest, highest + 1)
            }
            entry, columns = builder.block, builder.append_basic_block("mask_columns")
            builder.branch(columns)
            builder.position_at_end(columns)
            mask_column = builder.phi(_INT)
            mask_column.add_incoming(ir.Constant(_INT, 0), entry)
            partials = {cell: builder.phi(vector) for cell in met}
            for partial in partials.values():
                partial.add_incoming(zero, entry)
            cells = builder.add(first, builder.mul(mask_column, step))
            values = [
                builder.load(
                    address(pointer["source"], builder.add(cells, ir.Constant(_INT, column * VECTOR))),
                    align=4,
                )
                for column in range(VECTORS)
            ]
            weights = {
                row: splat(builder.load(builder.gep(row_start, [mask_column])))
                for row, row_start in weight_rows.items()
            }
            added = {
                (row, column): builder.call(fma, [values[column], weights[row], partial])
                for (row, column), partial in partials.items()
            }
            following = builder.add(mask_column, one)
            mask_column.add_incoming(following, columns)
            for cell, partial in partials.items():
                partial.add_incoming(added[cell], columns)
            done = builder.append_basic_block("mask_columns_done")
            again = builder.cbranch(builder.icmp_signed("<", following, mask_columns), columns, done)
            again.set_metadata("llvm.loop", not_unrolled)
            builder.position_at_end(done)
            for cell in met:
                builder.store(builder.fadd(builder.load(totals[cell]), added[cell]), totals[cell])

        with cgutils.for_range(builder, builder.add(mask_rows, last), intp=_INT) as input_row:
            number = input_row.index
            first = builder.add(at, builder.mul(number, pitch))
            # The first mask row that result row `lowest` has left, and the last that `highest` has reached.
            beyond = builder.sub(builder.add(number, one), mask_rows)
            none = ir.Constant(_INT, 0)
            lowest = builder.select(builder.icmp_signed(">", beyond, none), beyond, none)
            highest = builder.select(builder.icmp_signed("<", number, last), number, last)
            case = builder.add(builder.mul(lowest, ir.Constant(_INT, ROWS)), highest)
            after = builder.append_basic_block("after_input_row")
            choice = builder.switch(case, after)
            for low in range(ROWS):
                for high in range(low, ROWS):
                    block = builder.append_basic_block(f"rows_{low}_to_{high}")
                    choice.add_case(ir.Constant(_INT, low * ROWS + high), block)
                    builder.position_at_end(block)
                    add_input_row(number, first, low, high)
                    builder.branch(after)
            builder.position_at_end(after)

        bias = splat(offset)
        for row in range(ROWS):
            for column in range(VECTORS):
                result = builder.fadd(builder.load(totals[row, column]), bias)
                builder.store(
                    result,
                    address(pointer["out"], builder.add(out_at, ir.Constant(_INT, column * VECTOR))),
                    align=4,
                )
            out_at = builder.add(out_at, out_pitch)
        return context.get_dummy_value()

    return signature, codegen

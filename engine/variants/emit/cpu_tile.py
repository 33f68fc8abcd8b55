"""A register tile for the CPU: ROWS x VECTORS vectors of sums that stay in registers while the mask is walked.

The loops over mask rows and columns stay loops, with bounds known only at run time, so that one compilation serves
every mask size. Each multiply-add takes its input straight from memory (one unaligned load a fused multiply-add),
which needs no shuffles and keeps both of a core's multiply-add units within reach.
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
# AVX-512 has 32 registers: 4 x 2 partial sums + 4 x 2 totals + weight = 17. With 16 registers 3 x 2 is what fits.
ROWS, VECTORS = (4, 2) if VECTOR == 16 else (3, 2)
COLUMNS = VECTORS * VECTOR


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
        partials = {cell: cgutils.alloca_once(builder, vector) for cell in tile}

        with cgutils.for_range(builder, mask_rows, intp=_INT) as mask_row:
            for cell in tile:
                builder.store(zero, partials[cell])
            first = builder.add(at, builder.mul(mask_row.index, pitch))
            weight_row = builder.mul(mask_row.index, mask_columns)
            with cgutils.for_range(builder, mask_columns, intp=_INT) as mask_column:
                weight = splat(
                    builder.load(
                        builder.gep(pointer["weights"], [builder.add(weight_row, mask_column.index)])
                    )
                )
                cells = builder.add(first, builder.mul(mask_column.index, step))
                for row in range(ROWS):
                    for column in range(VECTORS):
                        value = builder.load(
                            address(
                                pointer["source"], builder.add(cells, ir.Constant(_INT, column * VECTOR))
                            ),
                            align=4,
                        )
                        partial = partials[row, column]
                        builder.store(builder.call(fma, [value, weight, builder.load(partial)]), partial)
                    cells = builder.add(cells, pitch)
            for cell in tile:
                builder.store(
                    builder.fadd(builder.load(totals[cell]), builder.load(partials[cell])), totals[cell]
                )

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

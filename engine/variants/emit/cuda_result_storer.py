"""The results of a thread of `register-blocked`, stored by vectors; emitted as LLVM IR."""

from typing import Any

from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.emit.cuda_ir import I64, constant, data_of, shape_of, store_vector, wide, with_twin
from engine.variants.emit.register_tile_shape import VECTOR, TileShape


def result_storer(shape: TileShape) -> Any:
    """Return the function that writes a thread's results: `store(out, row, sample, samples, sums, offset)`.

    `row` and `sample` are those of its first result; what lies at or past the picture's rows or past `samples` is not
    written.

    Parameters
    ----------
    shape : TileShape
    """

    @intrinsic
    def store(typingctx, out, row, sample, samples, sums, offset):
        signature = types.void(out, row, sample, samples, sums, offset)

        def codegen(context, builder, signature, arguments):
            kinds = signature.args
            out_data = data_of(context, builder, kinds[0], arguments[0])
            height, row_pixels, channels = shape_of(context, builder, kinds[0], arguments[0])
            pitch = builder.mul(row_pixels, channels)
            row, sample, samples = (wide(builder, value) for value in arguments[1:4])
            aligned = builder.icmp_unsigned(
                "==", builder.and_(pitch, constant(VECTOR - 1, I64)), constant(0, I64)
            )
            for group in range(shape.groups):
                x = builder.add(sample, constant(group * 32 * VECTOR, I64))
                is_whole = builder.icmp_signed("<=", builder.add(x, constant(VECTOR, I64)), samples)
                for i in range(shape.rows):
                    y = builder.add(row, constant(i, I64))
                    first = (i * shape.groups + group) * VECTOR
                    values = [
                        builder.fadd(builder.extract_value(arguments[4], first + k), arguments[5])
                        for k in range(VECTOR)
                    ]
                    at = builder.gep(out_data, [builder.add(builder.mul(y, pitch), x)])
                    is_row = builder.icmp_signed("<", y, height)
                    with builder.if_then(builder.and_(is_row, builder.and_(aligned, is_whole))):
                        store_vector(builder, at, values)
                    in_parts = builder.not_(builder.and_(aligned, is_whole))
                    with builder.if_then(builder.and_(is_row, in_parts)):
                        for k, value in enumerate(values):
                            inside = builder.icmp_signed("<", builder.add(x, constant(k, I64)), samples)
                            with builder.if_then(inside):
                                builder.store(value, builder.gep(at, [constant(k, I64)]))
            return context.get_dummy_value()

        return signature, codegen

    def twin(out: Any, row: int, sample: int, samples: int, sums: tuple[Any, ...], offset: Any) -> None:
        height, _, channels = out.shape
        for i in range(shape.rows):
            for place in range(shape.groups * VECTOR):
                group, k = divmod(place, VECTOR)
                x = sample + group * 32 * VECTOR + k
                if row + i < height and x < samples:
                    out[row + i, x // channels, x % channels] = (
                        sums[i * shape.groups * VECTOR + place] + offset
                    )

    return with_twin(store, twin)

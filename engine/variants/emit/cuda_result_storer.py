"""The results of a thread, stored by vectors; emitted as LLVM IR."""

from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.emit.cuda_ir import (
    I64,
    constant,
    data_of,
    moved,
    shape_of,
    store_vector,
    wide,
    with_twin,
)
from engine.variants.emit.cuda_quantise import quantised_twin, quantised_value
from engine.variants.emit.register_tile_shape import VECTOR, TileShape


def result_storer(shape: TileShape, itemsize: int = 4) -> Any:
    """Return the function that writes a thread's results: `store(out, row, sample, samples, sums, offset)`.

    `row` and `sample` are those of its first result; what lies at or past the picture's rows or past `samples` is not
    written.

    Parameters
    ----------
    shape : TileShape
    itemsize : int
        Bytes of a sample of the result: 4 is float32, fewer are unsigned integers (`cuda_quantise.py`).
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
            results = [
                builder.fadd(builder.extract_value(arguments[4], place), arguments[5])
                for place in range(shape.rows * shape.across)
            ]
            if itemsize < 4:
                results = [quantised_value(builder, value, itemsize) for value in results]
            remainder = builder.and_(pitch, constant(VECTOR - 1, I64))
            is_aligned = builder.icmp_unsigned("==", remainder, constant(0, I64))
            first = builder.gep(out_data, [builder.add(builder.mul(row, pitch), sample)])
            rows = [first]
            for _ in range(shape.rows - 1):
                rows.append(builder.gep(rows[-1], [pitch]))

            def is_row(i: int) -> ir.Value:
                return builder.icmp_signed("<", builder.add(row, constant(i, I64)), height)

            def is_sample(last: int) -> ir.Value:
                return builder.icmp_signed("<", builder.add(sample, constant(last, I64)), samples)

            def whole_row(i: int) -> None:
                for place in range(0, shape.across, VECTOR):
                    values = results[i * shape.across + place : i * shape.across + place + VECTOR]
                    store_vector(builder, moved(builder, rows[i], place), values, itemsize)

            all_samples = builder.and_(is_aligned, is_sample(shape.across - 1))
            with builder.if_else(builder.and_(all_samples, is_row(shape.rows - 1))) as (then, otherwise):
                with then:
                    for i in range(shape.rows):
                        whole_row(i)
                with otherwise:
                    for i in range(shape.rows):
                        for k in range(shape.across):
                            with builder.if_then(builder.and_(is_row(i), is_sample(k))):
                                value = results[i * shape.across + k]
                                builder.store(value, moved(builder, rows[i], k))
            return context.get_dummy_value()

        return signature, codegen

    def twin(out: Any, row: int, sample: int, samples: int, sums: tuple[Any, ...], offset: Any) -> None:
        height, _, channels = out.shape
        for i in range(shape.rows):
            for k in range(shape.across):
                x = sample + k
                if row + i < height and x < samples:
                    result = sums[i * shape.across + k] + offset
                    out[row + i, x // channels, x % channels] = quantised_twin(result, itemsize)

    return with_twin(store, twin)

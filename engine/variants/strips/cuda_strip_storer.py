"""Rows of results of a thread, stored by vectors as far as they are its strip's; emitted as LLVM IR."""

from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.ir.cuda_ir import I64, constant, data_of, moved, shape_of, wide, with_twin
from engine.variants.ir.cuda_quantise import StoredSamples, quantised_twin
from engine.variants.ir.register_tile import VECTOR


def strip_storer(rows: int, itemsize: int) -> Any:
    """Return the function that writes 4 results in each of some rows.

    `store(out, row, first, end, sample, samples, results, offset)`: `row` and `sample` are those of the first result; what
    lies before row `first`, at or past row `end`, or at or past `samples` is not written.

    Parameters
    ----------
    rows : int
    itemsize : int
        Bytes of a sample of the result: 4 is float32, fewer are unsigned integers (`cuda_quantise.py`).
    """

    @intrinsic
    def store(typingctx, out, row, first, end, sample, samples, results, offset):
        signature = types.void(out, row, first, end, sample, samples, results, offset)

        def codegen(context, builder, signature, arguments):
            kinds = signature.args
            data = data_of(context, builder, kinds[0], arguments[0])
            _, row_pixels, channels = shape_of(context, builder, kinds[0], arguments[0])
            pitch = builder.mul(row_pixels, channels)
            row, first, end, sample, samples = (wide(builder, value) for value in arguments[1:6])
            values = [
                builder.fadd(builder.extract_value(arguments[6], place), arguments[7])
                for place in range(rows * VECTOR)
            ]
            stored = StoredSamples(builder, values, itemsize)
            start = builder.gep(data, [builder.add(builder.mul(row, pitch), sample)])
            pointers = [start]
            for _ in range(rows - 1):
                pointers.append(builder.gep(pointers[-1], [pitch]))
            remainder = builder.and_(pitch, constant(VECTOR - 1, I64))
            last = builder.add(sample, constant(VECTOR - 1, I64))
            is_whole = builder.and_(
                builder.icmp_unsigned("==", remainder, constant(0, I64)),
                builder.icmp_signed("<", last, samples),
            )

            def is_row(i: int) -> ir.Value:
                number = builder.add(row, constant(i, I64))
                return builder.and_(
                    builder.icmp_signed(">=", number, first), builder.icmp_signed("<", number, end)
                )

            all_rows = builder.and_(
                builder.icmp_signed(">=", row, first),
                builder.icmp_signed("<", builder.add(row, constant(rows - 1, I64)), end),
            )
            with builder.if_else(builder.and_(all_rows, is_whole)) as (then, otherwise):
                with then:
                    for i in range(rows):
                        stored.store(pointers[i], i * VECTOR, VECTOR)
                with otherwise:
                    for i in range(rows):
                        with builder.if_then(is_row(i)):
                            for k in range(VECTOR):
                                place = builder.add(sample, constant(k, I64))
                                with builder.if_then(builder.icmp_signed("<", place, samples)):
                                    stored.store_one(moved(builder, pointers[i], k), i * VECTOR + k)
            return context.get_dummy_value()

        return signature, codegen

    def twin(
        out: Any, row: int, first: int, end: int, sample: int, samples: int, results: Any, offset: Any
    ) -> None:
        channels = out.shape[2]
        for i in range(rows):
            for k in range(VECTOR):
                x = sample + k
                if first <= row + i < end and x < samples:
                    result = results[i * VECTOR + k] + offset
                    out[row + i, x // channels, x % channels] = quantised_twin(result, itemsize)

    return with_twin(store, twin)

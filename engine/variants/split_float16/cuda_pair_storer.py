"""Rows of two pairs of results of a lane, half a strip apart, stored as far as they are the strip's; emitted as LLVM IR."""

from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.ir.cuda_ir import F32, constant, data_of, moved, narrow, shape_of, wide, with_twin
from engine.variants.ir.register_tile import VECTOR

PAIR = 2


def pair_storer(rows: int, apart: int) -> Any:
    """Return the function that writes two pairs of float32 results in each of some rows, the second one `apart` after the first.

    `store(out, row, first, end, sample, samples, results)`: `row` and `sample` are those of the first result, `sample` is even; what lies
    before row `first`, at or past row `end`, or at or past `samples` is not written.

    Parameters
    ----------
    rows, apart : int
    """
    places = [0, 1, apart, apart + 1]

    @intrinsic
    def store(typingctx, out, row, first, end, sample, samples, results):
        signature = types.void(out, row, first, end, sample, samples, results)

        def codegen(context, builder, signature, arguments):
            kinds = signature.args
            data = data_of(context, builder, kinds[0], arguments[0])
            _, row_pixels, channels = shape_of(context, builder, kinds[0], arguments[0])
            pitch = builder.mul(row_pixels, channels)
            at = builder.add(builder.mul(wide(builder, arguments[1]), pitch), wide(builder, arguments[4]))
            row, first, end, sample, samples = (narrow(builder, value) for value in arguments[1:6])
            values = [builder.extract_value(arguments[6], place) for place in range(rows * VECTOR)]
            pointers = [moved(builder, data, at)]
            for _ in range(rows - 1):
                pointers.append(moved(builder, pointers[-1], pitch))
            above = builder.sub(row, first)
            below = builder.sub(end, builder.add(row, constant(rows)))
            right = builder.sub(samples, builder.add(sample, constant(places[-1] + 1)))
            # Negative if anything lies outside, or pairs are not aligned to both of them.
            odd = builder.shl(narrow(builder, pitch), constant(31))
            signs = builder.or_(builder.or_(above, below), builder.or_(right, odd))
            with builder.if_else(builder.icmp_signed(">=", signs, constant(0))) as (then, otherwise):
                with then:
                    for i, pointer in enumerate(pointers):
                        for k in range(0, VECTOR, PAIR):
                            own = values[VECTOR * i + k : VECTOR * i + k + PAIR]
                            _store_pair(builder, moved(builder, pointer, places[k]), own)
                with otherwise:
                    for i, pointer in enumerate(pointers):
                        number = builder.add(row, constant(i))
                        is_row = builder.and_(
                            builder.icmp_signed(">=", number, first), builder.icmp_signed("<", number, end)
                        )
                        with builder.if_then(is_row):
                            for k, place in enumerate(places):
                                x = builder.add(sample, constant(place))
                                with builder.if_then(builder.icmp_signed("<", x, samples)):
                                    builder.store(values[VECTOR * i + k], moved(builder, pointer, place))
            return context.get_dummy_value()

        return signature, codegen

    def twin(out: Any, row: int, first: int, end: int, sample: int, samples: int, results: Any) -> None:
        channels = out.shape[2]
        for i in range(rows):
            for k, place in enumerate(places):
                x = sample + place
                if first <= row + i < end and x < samples:
                    out[row + i, x // channels, x % channels] = types.float32(results[i * VECTOR + k])

    return with_twin(store, twin)


def _store_pair(builder: ir.IRBuilder, pointer: ir.Value, values: list[ir.Value]) -> None:
    vector = ir.Constant(ir.VectorType(F32, PAIR), ir.Undefined)
    for k, value in enumerate(values):
        vector = builder.insert_element(vector, value, constant(k))
    target = builder.bitcast(pointer, vector.type.as_pointer(pointer.type.addrspace))
    builder.store(vector, target, align=4 * PAIR)

"""The multiply-adds of `register-blocked`, emitted as LLVM IR.

Through one intrinsic they compile in 0.2 to 0.6 s; the same as unrolled Python statements took 7 s (5 x 5) and 267 s
(15 x 15).
"""

from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.emit.cuda_ir import F32, I32, I64, constant, data_of, fma, load_vector, wide, with_twin
from engine.variants.emit.register_tile_shape import VECTOR, TileShape


def accumulator(shape: TileShape) -> Any:
    """Return the function that computes a thread's results, without offset: `accumulate(tile, at, taps)` -> sums.

    The `rows` x `groups` x 4 sums begin with row 0. Result row i meets input row r under mask row m = r - i, where
    there is one. Each (result, mask row) pair has a float32 partial sum of its own, a chain of fused multiply-adds.

    Parameters
    ----------
    shape : TileShape
        Where it is `unrolled` every input row has code of its own; else a loop walks down the rows, because code that
        the instruction cache does not hold runs at a third to three quarters of the speed (H200, 51 KB of it).
    """
    across = shape.groups * VECTOR
    count = shape.rows * across
    walked = shape.rows + shape.mask_rows - 1

    @intrinsic
    def accumulate(typingctx, tile, at, taps):
        signature = types.UniTuple(types.float32, count)(tile, at, taps)

        def codegen(context, builder, signature, arguments):
            kinds = signature.args
            tile_data = data_of(context, builder, kinds[0], arguments[0], shared=True)
            taps_data = data_of(context, builder, kinds[2], arguments[2], shared=True)
            start = builder.gep(tile_data, [wide(builder, arguments[1])])

            def windows_of(pointer: ir.Value) -> list[list[ir.Value]]:
                windows = []
                for group in range(shape.groups):
                    window: list[ir.Value] = []
                    for sample in range(0, shape.window, VECTOR):
                        offset = constant(group * 32 * VECTOR + sample, I64)
                        window += load_vector(builder, builder.gep(pointer, [offset]), 4)
                    windows.append(window)
                return windows

            def weights_of(pointer: ir.Value) -> list[ir.Value]:
                weights: list[ir.Value] = []
                for n in range(0, shape.tap_pitch, VECTOR):
                    weights += load_vector(builder, builder.gep(pointer, [constant(n, I64)]), 4)
                return weights

            def partial_sums(windows: list[list[ir.Value]], weights: list[ir.Value]) -> list[ir.Value]:
                sums: list[ir.Value] = []
                for n in range(shape.mask_columns):
                    for place in range(across):
                        group, k = divmod(place, VECTOR)
                        value = windows[group][shape.shift + k + n * shape.channels]
                        if n == 0:
                            sums.append(builder.fmul(value, weights[0]))
                        else:
                            sums[place] = fma(builder, value, weights[n], sums[place])
                return sums

            def unrolled() -> list[ir.Value]:
                weights = [
                    weights_of(builder.gep(taps_data, [constant(m * shape.tap_pitch, I64)]))
                    for m in range(shape.mask_rows)
                ]
                totals: list[ir.Value | None] = [None] * count
                for row in range(walked):
                    windows = windows_of(builder.gep(start, [constant(row * shape.tile_samples, I64)]))
                    for i in range(shape.rows):
                        if not 0 <= row - i < shape.mask_rows:
                            continue
                        for place, partial in enumerate(partial_sums(windows, weights[row - i]), i * across):
                            before = totals[place]
                            totals[place] = partial if before is None else builder.fadd(before, partial)
                return totals

            def looped() -> list[ir.Value]:
                zero, entry = ir.Constant(F32, 0.0), builder.block
                body, after = (builder.append_basic_block(name) for name in ("input_row", "rows_done"))
                builder.branch(body)
                builder.position_at_end(body)
                row = builder.phi(I32)
                row.add_incoming(constant(0), entry)
                carried = [builder.phi(F32) for _ in range(count)]
                for value in carried:
                    value.add_incoming(zero, entry)
                totals: list[ir.Value] = list(carried)
                begin = builder.mul(row, constant(shape.tile_samples))
                windows = windows_of(builder.gep(start, [builder.sext(begin, I64)]))
                for i in range(shape.rows):
                    mask_row = builder.sub(row, constant(i))
                    before, first, outer = list(totals), i * across, builder.block
                    with builder.if_then(builder.icmp_unsigned("<", mask_row, constant(shape.mask_rows))):
                        tap = builder.sext(builder.mul(mask_row, constant(shape.tap_pitch)), I64)
                        partial = partial_sums(windows, weights_of(builder.gep(taps_data, [tap])))
                        for place in range(across):
                            totals[first + place] = builder.fadd(totals[first + place], partial[place])
                        inner = builder.block
                    for place in range(first, first + across):
                        joined = builder.phi(F32)
                        joined.add_incoming(totals[place], inner)
                        joined.add_incoming(before[place], outer)
                        totals[place] = joined
                following = builder.add(row, constant(1))
                row.add_incoming(following, builder.block)
                for value, total in zip(carried, totals, strict=True):
                    value.add_incoming(total, builder.block)
                builder.cbranch(builder.icmp_unsigned("<", following, constant(walked)), body, after)
                builder.position_at_end(after)
                return totals

            totals = unrolled() if shape.unrolled else looped()
            return context.make_tuple(builder, signature.return_type, totals)

        return signature, codegen

    def twin(tile: Any, at: int, taps: Any) -> tuple[Any, ...]:
        def weights_of(m: int) -> list[Any]:
            return [taps[m * shape.tap_pitch + n] for n in range(shape.tap_pitch)]

        totals: list[Any] = [types.float32(0.0)] * count
        kept = [weights_of(m) for m in range(shape.mask_rows)] if shape.unrolled else []
        for row in range(walked):
            begin = at + row * shape.tile_samples
            windows = [
                [tile[begin + group * 32 * VECTOR + sample] for sample in range(shape.window)]
                for group in range(shape.groups)
            ]
            for i in range(shape.rows):
                if not 0 <= row - i < shape.mask_rows:
                    continue
                weights = kept[row - i] if shape.unrolled else weights_of(row - i)
                for place in range(across):
                    group, k = divmod(place, VECTOR)
                    partial = windows[group][shape.shift + k] * weights[0]
                    for n in range(1, shape.mask_columns):
                        value = windows[group][shape.shift + k + n * shape.channels]
                        partial = value * weights[n] + partial
                    totals[i * across + place] = totals[i * across + place] + partial
        return tuple(totals)

    return with_twin(accumulate, twin)

"""The input tile of a block of `register-blocked`, loaded by vectors; emitted as LLVM IR."""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.emit.cuda_ir import (
    F32,
    I64,
    constant,
    data_of,
    load_vector,
    narrow,
    shape_of,
    store_vector,
    wide,
    with_twin,
)
from engine.variants.emit.register_tile_shape import VECTOR, TileShape

# Vectors that a thread has under way at once while it fills the tile; 16 take 64 registers.
IN_FLIGHT = 16


def tile_loader(shape: TileShape, itemsize: int, rule: Callable[[int, int], int]) -> Any:
    """Return the function that fills the input tile: `load(tile, image, top, lane, warp, left)`.

    Row j of the tile comes from the row of the picture that the border's rule has for top + j, from sample `left` (a
    multiple of 4) on. Where that leaves the picture's row, samples at its ends stand in, and row 0 for a row of ghost
    cells: the caller has to mend them. A warp loads whole rows, 32 vectors at once; what a row has past the output
    tile's width the block's threads share. No thread waits for another.

    Parameters
    ----------
    shape : TileShape
    itemsize : int
        Bytes of a sample of the picture.
    rule : callable of (int, int) -> int
        The border's index rule, -1 for a ghost cell.
    """
    main = shape.groups * 32
    extra = shape.tile_samples // VECTOR - main
    extras = shape.tile_rows * extra
    rows_a_warp = -(-shape.tile_rows // shape.warps)
    rows_at_once = max(1, IN_FLIGHT // shape.groups)

    @intrinsic
    def load(typingctx, tile, image, top, lane, warp, left):
        signature = types.void(tile, image, top, lane, warp, left)

        def codegen(context, builder, signature, arguments):
            kinds = signature.args
            tile_data = data_of(context, builder, kinds[0], arguments[0], shared=True)
            image_data = data_of(context, builder, kinds[1], arguments[1])
            height, row_pixels, channels = shape_of(context, builder, kinds[1], arguments[1])
            wide_pitch, top = builder.mul(row_pixels, channels), wide(builder, arguments[2])
            pitch = narrow(builder, wide_pitch)
            rule_type = types.int64(types.int64, types.int64)
            lane, warp, left = (narrow(builder, value) for value in arguments[3:6])
            remainder = builder.and_(pitch, constant(VECTOR - 1))
            is_aligned = builder.icmp_unsigned("==", remainder, constant(0))

            def clamped(sample: ir.Value, most: ir.Value) -> ir.Value:
                low = builder.select(builder.icmp_signed("<", sample, constant(0)), constant(0), sample)
                return builder.select(builder.icmp_signed(">", low, most), most, low)

            def row_pointer(row: ir.Value) -> ir.Value:
                index = builder.add(top, builder.sext(row, I64))
                source = context.compile_internal(builder, rule, rule_type, [index, height])
                none = constant(0, I64)
                source = builder.select(builder.icmp_signed("<", source, none), none, source)
                return builder.gep(image_data, [builder.mul(source, wide_pitch)])

            def fetch(pointer: ir.Value, sample: ir.Value, whole: bool) -> list[ir.Value]:
                """Return 4 samples from `sample` of the tile's row on."""
                x = builder.add(left, sample)
                if whole:
                    at = builder.sext(clamped(x, builder.sub(pitch, constant(VECTOR))), I64)
                    values = load_vector(builder, builder.gep(pointer, [at]), itemsize)
                else:
                    last = builder.sub(pitch, constant(1))
                    places = (clamped(builder.add(x, constant(k)), last) for k in range(VECTOR))
                    values = [
                        builder.load(builder.gep(pointer, [builder.sext(place, I64)])) for place in places
                    ]
                return [value if value.type == F32 else builder.uitofp(value, F32) for value in values]

            def put(row: ir.Value, sample: ir.Value, values: list[ir.Value]) -> None:
                at = builder.add(builder.mul(row, constant(shape.tile_samples)), sample)
                store_vector(builder, builder.gep(tile_data, [builder.sext(at, I64)]), values)

            def load_rows(first: int, last: int, whole: bool) -> None:
                """Load this warp's rows number first .. last - 1, all under way before the first is stored."""
                samples = [
                    builder.mul(builder.add(lane, constant(32 * group)), constant(VECTOR))
                    for group in range(shape.groups)
                ]
                under_way = []
                for number in range(first, last):
                    row = builder.add(warp, constant(number * shape.warps))
                    pointer = row_pointer(row)
                    under_way += [(row, sample, fetch(pointer, sample, whole)) for sample in samples]
                for row, sample, values in under_way:
                    put(row, sample, values)

            def load_extras(whole: bool) -> None:
                thread = builder.add(builder.mul(warp, constant(32)), lane)
                for first in range(0, extras, shape.threads):
                    number = builder.add(thread, constant(first))
                    with builder.if_then(builder.icmp_unsigned("<", number, constant(extras))):
                        row = builder.udiv(number, constant(extra))
                        column = builder.sub(number, builder.mul(row, constant(extra)))
                        sample = builder.mul(builder.add(column, constant(main)), constant(VECTOR))
                        put(row, sample, fetch(row_pointer(row), sample, whole))

            def load_all(whole: bool) -> None:
                # All warps have this many rows; one more has only some.
                sure = shape.tile_rows // shape.warps
                for first in range(0, sure, rows_at_once):
                    load_rows(first, min(first + rows_at_once, sure), whole)
                if rows_a_warp > sure:
                    row = builder.add(warp, constant(sure * shape.warps))
                    with builder.if_then(builder.icmp_unsigned("<", row, constant(shape.tile_rows))):
                        load_rows(sure, sure + 1, whole)
                load_extras(whole)

            # Rows that begin anywhere (packed, of a width that is no multiple of 4) allow single samples only.
            with builder.if_else(is_aligned) as (then, otherwise):
                with then:
                    load_all(True)
                with otherwise:
                    load_all(False)
            return context.get_dummy_value()

        return signature, codegen

    def twin(tile: Any, image: Any, top: int, lane: int, warp: int, left: int) -> None:
        height, row_pixels, channels = image.shape
        pitch = row_pixels * channels
        whole = pitch % VECTOR == 0

        def copy(row: int, sample: int) -> None:
            source = max(rule(top + row, height), 0)
            for k in range(VECTOR):
                x = left + sample
                x = min(max(x, 0), pitch - VECTOR) + k if whole else min(max(x + k, 0), pitch - 1)
                value = image[source, x // channels, x % channels]
                tile[row * shape.tile_samples + sample + k] = types.float32(value)

        for row in range(warp, shape.tile_rows, shape.warps):
            for group in range(shape.groups):
                copy(row, (lane + 32 * group) * VECTOR)
        for number in range(warp * 32 + lane, extras, shape.threads):
            row, column = divmod(number, extra)
            copy(row, (main + column) * VECTOR)

    return with_twin(load, twin)

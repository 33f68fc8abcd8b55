"""Sums of the segments of rows, from each cell to either end; emitted as LLVM IR."""

from itertools import accumulate
from typing import Any

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.emit.box_strip import LANES, BoxStrip
from engine.variants.emit.cuda_ir import SHARED, constant, data_of, loop, moved, narrow, with_twin


def emit_segment_sums(
    strip: BoxStrip,
    builder: ir.IRBuilder,
    data: ir.Value,
    at: ir.Value,
    lane: ir.Value,
    weight: ir.Value,
) -> None:
    """Emit a thread's part of the sums of a batch's segments; as of `add_up` below."""
    channels, segment = strip.channels, strip.segment
    batch, back = moved(builder, data, at), moved(builder, data, strip.back_at)
    with loop(builder, lane, constant(strip.jobs), LANES) as job:
        unit = builder.udiv(job, constant(strip.batch_rows))
        row = builder.sub(job, builder.mul(unit, constant(strip.batch_rows)))
        number = builder.udiv(unit, constant(channels))
        channel = builder.sub(unit, builder.mul(number, constant(channels)))
        first = builder.add(builder.mul(number, constant(segment * channels)), channel)
        in_batch = builder.add(builder.mul(row, constant(strip.tile.tile_samples)), first)
        fronts = moved(builder, batch, in_batch)
        backs = moved(builder, back, builder.add(builder.mul(row, constant(strip.back_pitch)), first))
        cells = [moved(builder, fronts, cell * channels) for cell in range(segment)]
        products = [builder.fmul(builder.load(cell), weight) for cell in cells]
        for total, cell in zip(accumulate(products, builder.fadd), cells, strict=True):
            builder.store(total, cell)
        is_first = builder.icmp_unsigned("<", number, constant(strip.first_segments))
        with builder.if_then(is_first):
            for place, total in enumerate(accumulate(products[::-1], builder.fadd)):
                builder.store(total, moved(builder, backs, (segment - 1 - place) * channels))


def segment_summer(strip: BoxStrip) -> Any:
    """Return the function `add_up(tile, at, lane, weight)`: it adds up the segments of the batch that begins at `at`.

    Each cell is multiplied by the weight. In its place goes the sum from its segment's first cell to it; the sum from it to
    the segment's last cell goes into a row of its own at `BoxStrip.back_at`, for segments that windows begin in. A thread
    has one segment of one channel at a time in registers; neighbouring threads have neighbouring rows.
    """
    rows, channels, segment = strip.batch_rows, strip.channels, strip.segment
    row_cells = strip.tile.tile_samples

    @intrinsic
    def add_up(typingctx, tile, at, lane, weight):
        signature = types.void(tile, at, lane, weight)

        def codegen(context, builder, signature, arguments):
            data = data_of(context, builder, signature.args[0], arguments[0], space=SHARED)
            at, lane = (narrow(builder, value) for value in arguments[1:3])
            emit_segment_sums(strip, builder, data, at, lane, arguments[3])
            return context.get_dummy_value()

        return signature, codegen

    def twin(tile: Any, at: int, lane: int, weight: Any) -> None:
        for job in range(lane, strip.jobs, LANES):
            unit, row = divmod(job, rows)
            number, channel = divmod(unit, channels)
            first = number * segment * channels + channel
            front, back = at + row * row_cells + first, strip.back_at + row * strip.back_pitch + first
            products = [tile[front + cell * channels] * weight for cell in range(segment)]
            for cell, total in enumerate(accumulate(products)):
                tile[front + cell * channels] = total
            if number < strip.first_segments:
                for place, total in enumerate(accumulate(products[::-1])):
                    tile[back + (segment - 1 - place) * channels] = total

    return with_twin(add_up, twin)

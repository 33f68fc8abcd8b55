"""Results of a warp in 4 rows, stored in whole lines by way of shared memory; emitted as LLVM IR.

Of several channels a lane has 32 to 64 bytes of a row, of which it stores 16 at once: lanes beside one another would write to places 32 to
64 bytes apart. So each row is laid out in shared memory first, and lanes store neighbouring pieces.
"""

from typing import Any

from llvmlite import ir

from engine.variants.digit_sums.digit_shape import PIECE, PIXELS, DigitShape
from engine.variants.ir.cuda_ir import (
    I32,
    I64,
    VOID,
    assembly,
    constant,
    data_of,
    load_vector,
    moved,
    narrow,
    shape_of,
    store_vector,
)
from engine.variants.ir.cuda_quantise import StoredWords
from engine.variants.register_blocked.cuda_result_storer import emit_stores


def emit_staged_stores(
    context: Any,
    builder: ir.IRBuilder,
    kind: Any,
    out: ir.Value,
    place: list[ir.Value],
    stage: ir.Value,
    lane: ir.Value,
    words: list[ir.Value],
    shape: DigitShape,
) -> None:
    """Emit the stores of the results of a warp, all of whose lanes are there.

    Where some of them lie outside the picture, or its rows do not begin at whole pieces, lanes store their own.

    Parameters
    ----------
    context, builder : Numba's
    kind, out : of the array of results
    place : list of int32 values
        Row and sample of the warp's first result, and the samples in a row of the picture.
    stage : pointer
        To the bytes in shared memory that are the warp's own, `shape.stage_bytes` of them.
    lane : int32 value
    words : list of int32 values
        The lane's results, bytes of one row.
    shape : DigitShape
    """
    row, sample, samples = place
    height, row_pixels, channels = (narrow(builder, side) for side in shape_of(context, builder, kind, out))
    pitch = builder.mul(row_pixels, channels)
    along, row_of_four = builder.lshr(lane, constant(2)), builder.and_(lane, constant(3))
    across = builder.mul(along, constant(shape.across))
    conditions = (
        builder.icmp_unsigned("==", builder.and_(pitch, constant(PIECE - 1)), constant(0)),
        builder.icmp_signed("<=", builder.add(row, constant(PIXELS)), height),
        builder.icmp_signed("<=", builder.add(sample, constant(shape.out_samples)), samples),
    )
    is_whole = builder.and_(builder.and_(conditions[0], conditions[1]), conditions[2])
    with builder.if_else(is_whole) as (then, otherwise):
        with then:
            below = builder.mul(row_of_four, constant(shape.stage_pitch))
            own = _words_at(builder, stage, builder.add(below, across))
            for first in range(0, len(words), 4):
                store_vector(builder, moved(builder, own, first), words[first : first + 4])
            assembly(builder, "bar.warp.sync 0xffffffff;", "~{memory}", [], VOID)
            _emit_pieces(builder, data_of(context, builder, kind, out), place, pitch, stage, lane, shape)
        with otherwise:
            own_place = [builder.add(row, row_of_four), builder.add(sample, across), samples]
            emit_stores(context, builder, kind, out, own_place, StoredWords(builder, words), shape, 1)


def _emit_pieces(
    builder: ir.IRBuilder,
    out: ir.Value,
    place: list[ir.Value],
    pitch: ir.Value,
    stage: ir.Value,
    lane: ir.Value,
    shape: DigitShape,
) -> None:
    """Copy what lies in the stage, a piece a lane and round."""
    pieces = shape.out_samples // PIECE
    numbers = [builder.add(lane, constant(first)) for first in range(0, PIXELS * pieces, 32)]
    copied = []
    for number in numbers:
        row = builder.udiv(number, constant(pieces))
        sample = builder.mul(builder.sub(number, builder.mul(row, constant(pieces))), constant(PIECE))
        source = builder.add(builder.mul(row, constant(shape.stage_pitch)), sample)
        loaded = load_vector(builder, _words_at(builder, stage, source), 4)
        row, sample = builder.add(place[0], row), builder.add(place[1], sample)
        above = builder.mul(builder.zext(row, I64), builder.zext(pitch, I64))
        copied.append((builder.gep(out, [builder.add(above, builder.zext(sample, I64))]), loaded))
    for target, loaded in copied:
        store_vector(builder, _words_at(builder, target, constant(0)), loaded)


def _words_at(builder: ir.IRBuilder, pointer: ir.Value, at: ir.Value) -> ir.Value:
    """Return the pointer to the word that begins so many bytes after a pointer to bytes."""
    return builder.bitcast(moved(builder, pointer, at), I32.as_pointer(pointer.type.addrspace))

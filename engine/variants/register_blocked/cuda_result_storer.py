"""The results of a thread, stored by vectors; emitted as LLVM IR."""

from collections.abc import Sequence
from typing import Any, Protocol

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.ir.cuda_ir import I64, constant, data_of, moved, narrow, shape_of, with_twin
from engine.variants.ir.cuda_quantise import StoredSamples, quantised_twin

MOST_BYTES = 16
"""That a thread stores at once."""


class ResultBlock(Protocol):
    """What a thread has results of: `rows` rows of `across` samples, whole fours or one; whole fours altogether."""

    @property
    def rows(self) -> int:
        """Rows of results."""

    @property
    def across(self) -> int:
        """Samples of results in a row."""


def result_storer(shape: ResultBlock, itemsize: int = 4) -> Any:
    """Return the function that writes a thread's results: `store(out, row, sample, samples, results)`.

    `row` and `sample` are those of its first result; what lies at or past the picture's rows or past `samples` is not
    written.

    Parameters
    ----------
    shape : ResultBlock
    itemsize : int
        Bytes of a sample of the result: 4 is float32, fewer are unsigned integers (`cuda_quantise.py`).
    """

    @intrinsic
    def store(typingctx, out, row, sample, samples, results):
        signature = types.void(out, row, sample, samples, results)

        def codegen(context, builder, signature, arguments):
            place = [narrow(builder, value) for value in arguments[1:4]]
            values = [
                builder.extract_value(arguments[4], number) for number in range(shape.rows * shape.across)
            ]
            stored = StoredSamples(builder, values, itemsize)
            emit_stores(context, builder, signature.args[0], arguments[0], place, stored, shape, itemsize)
            return context.get_dummy_value()

        return signature, codegen

    def twin(out: Any, row: int, sample: int, samples: int, results: tuple[Any, ...]) -> None:
        store_in_turn(out, row, sample, samples, results, shape, itemsize)

    return with_twin(store, twin)


def emit_stores(
    context: Any,
    builder: ir.IRBuilder,
    kind: Any,
    out: ir.Value,
    place: list[ir.Value],
    stored: StoredSamples,
    shape: ResultBlock,
    itemsize: int,
) -> None:
    """Emit the stores of a thread's results.

    Parameters
    ----------
    context, builder : Numba's
    kind, out : of the array of results
    place : list of int32 values
        Row and sample of the first result, and the samples in a row of the picture.
    stored : StoredSamples
        The results.
    shape, itemsize : as for `result_storer`
    """
    # As many as every thread's first result is aligned to.
    at_once = min(shape.across & -shape.across, MOST_BYTES // itemsize)
    row, sample, samples = place
    out_data = data_of(context, builder, kind, out)
    # 32 bits where nothing larger can be: index arithmetic of 64 takes two to three times the instructions.
    height, row_pixels, channels = (narrow(builder, side) for side in shape_of(context, builder, kind, out))
    narrow_pitch = builder.mul(row_pixels, channels)
    pitch = builder.zext(narrow_pitch, I64)
    rows_left, samples_left = builder.sub(height, row), builder.sub(samples, sample)
    remainder = builder.and_(narrow_pitch, constant(at_once - 1))
    is_aligned = builder.icmp_unsigned("==", remainder, constant(0))
    above = builder.mul(builder.zext(row, I64), pitch)
    rows = [builder.gep(out_data, [builder.add(above, builder.zext(sample, I64))])]
    for _ in range(shape.rows - 1):
        rows.append(builder.gep(rows[-1], [pitch]))

    def is_row(i: int) -> ir.Value:
        return builder.icmp_signed(">", rows_left, constant(i))

    def is_sample(last: int) -> ir.Value:
        return builder.icmp_signed(">", samples_left, constant(last))

    def whole_row(i: int) -> None:
        for k in range(0, shape.across, at_once):
            target, number = moved(builder, rows[i], k), i * shape.across + k
            if shape.across == 1:
                stored.store_one(target, number)
            else:
                stored.store(target, number, at_once)

    all_samples = builder.and_(is_aligned, is_sample(shape.across - 1))
    with builder.if_else(builder.and_(all_samples, is_row(shape.rows - 1))) as (then, otherwise):
        with then:
            for i in range(shape.rows):
                whole_row(i)
        with otherwise:
            for i in range(shape.rows):
                for k in range(shape.across):
                    with builder.if_then(builder.and_(is_row(i), is_sample(k))):
                        stored.store_one(moved(builder, rows[i], k), i * shape.across + k)


def store_in_turn(
    out: Any,
    row: int,
    sample: int,
    samples: int,
    results: Sequence[Any],
    shape: ResultBlock,
    itemsize: int,
) -> None:
    """Do what `emit_stores` emits, one result after another, in plain Python."""
    height, _, channels = out.shape
    for i in range(shape.rows):
        for k in range(shape.across):
            y, x = row + i, sample + k
            if y < height and x < samples:
                result = results[i * shape.across + k]
                out[y, x // channels, x % channels] = quantised_twin(result, itemsize)

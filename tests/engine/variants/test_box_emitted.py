"""The emitted steps of `box`, compiled for this machine's processor, against their twins in plain Python."""

from typing import Any

import numpy as np
import pytest
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from engine.variants.emit.box_strip import LANES, BoxStrip, box_strip
from engine.variants.emit.cuda_column_walk import ResultPlace, StepPlace, column_walker, emit_step
from engine.variants.emit.cuda_ir import I32, I64
from engine.variants.emit.cuda_segment_sums import emit_segment_sums, segment_summer

SHAPES = [((1, 1), 1), ((2, 3), 3), ((3, 5), 1), ((9, 9), 1), ((10, 8), 4), ((11, 15), 3), ((15, 16), 1)]
SHAPES += [((17, 43), 2), ((20, 4), 1), ((31, 7), 3), ((63, 63), 1), ((1, 127), 1), ((127, 1), 2)]
WEIGHT = np.float32(2.0)


def data_of(context: Any, builder: ir.IRBuilder, kind: Any, value: ir.Value) -> ir.Value:
    return context.make_array(kind)(context, builder, value).data


def on_the_processor(strip: BoxStrip) -> tuple[Any, Any]:
    """Return the functions of the two twins, made of the emitted code."""

    @intrinsic
    def add_up(typingctx, tile, at, lane, weight):
        def codegen(context, builder, signature, arguments):
            data = data_of(context, builder, signature.args[0], arguments[0])
            at, lane = (builder.trunc(value, I32) for value in arguments[1:3])
            emit_segment_sums(strip, builder, data, at, lane, arguments[3])
            return context.get_dummy_value()

        return types.void(tile, at, lane, weight), codegen

    @intrinsic
    def walk(typingctx, tile, places, weight, own, out, corner, offset):
        def codegen(context, builder, signature, arguments):
            tile, out = (
                data_of(context, builder, signature.args[place], arguments[place]) for place in (0, 4)
            )
            # at, back_at, slot, previous, total, lane; row, rows; first row, first sample, samples, pitch.
            places, own, corner = (
                [builder.extract_value(arguments[place], number) for number in range(count)]
                for place, count in ((1, 6), (3, 2), (5, 4))
            )
            place = StepPlace(*(builder.trunc(value, I32) for value in places))
            row, rows = (builder.trunc(value, I32) for value in own)
            target = ResultPlace(out, corner[3], row, rows, *corner[:3], arguments[6])
            assert corner[3].type == I64
            emit_step(strip, 4, builder, tile, arguments[2], place, target)
            return context.get_dummy_value()

        return types.void(tile, places, weight, own, out, corner, offset), codegen

    return (
        njit(lambda tile, at, lane, weight: add_up(tile, at, lane, weight)),
        njit(
            lambda tile, p, weight, own, out, corner, offset: walk(tile, p, weight, own, out, corner, offset)
        ),
    )


@pytest.mark.parametrize(("mask_shape", "channels"), SHAPES)
def test_that_the_emitted_steps_and_their_plain_twins_agree_on_whole_numbers(
    mask_shape: tuple[int, int], channels: int
) -> None:
    strip = box_strip(mask_shape, mask_shape[1] // 2, channels)
    add_up, walk = on_the_processor(strip)
    plain_up, plain_walk = segment_summer(strip).py_func, column_walker(strip).py_func
    width, first_sample = 2 * strip.out_samples // channels - 5, strip.out_samples
    samples, offset = width * channels, np.float32(3.0)
    memory = np.random.default_rng(5).integers(0, 9, strip.shared_cells).astype(np.float32)
    ours, plain = memory.copy(), memory.copy()
    pitch = (width + 3) * channels
    out, wanted = (np.full((3 * strip.step_rows, width + 3, channels), np.nan, np.float32) for _ in range(2))
    if strip.segment:
        for lane in range(LANES):
            add_up(ours, strip.tile_cells, lane, WEIGHT)
            plain_up(plain, strip.tile_cells, lane, WEIGHT)
        assert np.array_equal(ours, plain)
    step = strip.step_rows * strip.out_samples
    for number, row in enumerate((-strip.step_rows, 0, strip.step_rows)):
        at = strip.tile_cells + number % strip.steps * strip.step_rows * strip.tile.tile_samples
        slot = number % max(1, strip.slots) * step
        previous = (number - 1) % max(1, strip.slots) * step
        total = number % max(1, strip.totals) * strip.out_samples
        rows = 2 * strip.step_rows - 1
        for lane in range(LANES):
            places, corner = (
                (at, strip.back_at, slot, previous, total, lane),
                (1, first_sample, samples, pitch),
            )
            walk(ours, places, WEIGHT, (row, rows), out.reshape(-1), corner, offset)
            plain_walk(
                plain, at, strip.back_at, slot, previous, total, WEIGHT, lane, row, rows, wanted, 1,
                first_sample, samples, offset,
            )  # fmt: skip
        assert np.array_equal(ours, plain)
        assert np.array_equal(out, wanted, equal_nan=True)
    assert np.isfinite(out).sum() == rows * (samples - first_sample)

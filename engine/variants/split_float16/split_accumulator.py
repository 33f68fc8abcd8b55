"""What a kernel of `split-float16` calls: a group's sums (`split_sums.py`), the start, storing."""

import itertools
from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.quantise import row_pointers, stored_samples
from engine.variants.ir.register_tile import VECTOR
from engine.variants.split_float16.split_shape import PAIR, SplitShape
from engine.variants.split_float16.split_sums import SCALING, ZEROS_ONLY, SplitSums
from engine.variants.strips.strip_shape import LANES


def split_accumulator(shape: SplitShape) -> Any:
    """Return the function `accumulate(tile, at, lane, accumulators, scaling, weights, mask, unit, offset)`.

    It returns the results of a group's rows, 4 each: those of a lane's left pair and of its right one, 64
    samples on; then the accumulators afterwards and the scaling. `at` is where the group begins in the tile;
    `accumulators` are those of `zero_accumulators` or of the call before, `scaling` is that of
    `first_scaling` or of the call before; `weights` are the lane's (`lane_weights`), `mask` the weights as
    float32, `unit` what the halves count, `offset` what every result begins with. Row j of the results is
    complete with input row j of the group. All lanes of a warp have to call it together.
    """
    results = types.UniTuple(types.float32, VECTOR * shape.group_rows)
    returns = types.Tuple((results, types.UniTuple(types.float32, shape.kept), SCALING))

    def accumulate(code, tile, at, lane, accumulators, scaling, weights, mask, unit, offset):
        rows, lane = code.shared(tile) + at, code.narrow(lane)
        own = code.pointer(mask)
        sums = SplitSums(code, shape, rows, lane, weights, own, unit, offset)
        return sums.accumulate(accumulators, scaling)

    return device_function(returns, accumulate)


def first_scaling() -> Any:
    """Return the function `fresh()` of the scaling before the first group."""

    def fresh(code):
        scale, inverse, *bits = ZEROS_ONLY
        return [code.f32(scale), code.f32(inverse), *(code.integer(number) for number in bits)]

    return device_function(SCALING, fresh)


def lane_weights(shape: SplitShape) -> Any:
    """Return the function `held(fragments, lane)` of a lane's words of weights (`fragments_of`)."""

    def held(code, fragments, lane):
        first = code.pointer(fragments) + code.narrow(lane)
        return [(first + LANES * number).load() for number in range(shape.fragments)]

    return device_function(types.UniTuple(types.uint32, shape.fragments), held)


def pair_storer(rows: int, apart: int) -> Any:
    """Return the function that writes two pairs of float32, `apart` samples from each other, in some rows.

    `store(out, row, first, end, sample, samples, results)`: `row` and `sample` are those of the first result,
    `sample` is even; nothing is written before row `first`, from row `end` on, or from sample `samples` on.
    """

    def store(code, out, row, first, end, sample, samples, results):
        data = code.pointer(out)
        _, row_pixels, channels = code.shape(out)
        pitch = row_pixels * channels
        pointers = row_pointers(data + (code.wide(row) * pitch + code.wide(sample)), pitch, rows)
        row, first, end, sample, samples = (
            code.narrow(value) for value in (row, first, end, sample, samples)
        )
        # Negative if any row lies outside, or pairs are not aligned to both of them.
        signs = row - first | end - (row + rows) | code.odd_sign(pitch)

        def is_row(i):
            return code.all_of(row + i >= first, row + i < end)

        def both_pairs():
            for number, (pointer, place) in enumerate(itertools.product(pointers, (0, apart))):
                stored_samples(code, results, 4).store(pointer + place, PAIR * number, PAIR)

        def each_pair():
            for pair in range(2):
                at = sample + pair * apart
                own = [value for i in range(rows) for value in results[4 * i + PAIR * pair :][:PAIR]]
                for _ in code.where(at < samples):
                    stored_samples(code, own, 4).store_rows(
                        [pointer + pair * apart for pointer in pointers],
                        range(PAIR),
                        PAIR,
                        signs | samples - (at + PAIR) >= 0,
                        is_row,
                        lambda i, place, at=at: at + place < samples,
                    )

        code.when(signs | samples - (sample + apart + PAIR) >= 0, both_pairs, each_pair)

    return device_function(types.void, store)

"""What a kernel calls of `split_sums.py`: a group's sums, their reference implementation, and the start."""

from typing import Any

from numba import types

from engine.variants.ir.device_function import device_function
from engine.variants.ir.register_tile import VECTOR
from engine.variants.ir.warp import Warp
from engine.variants.split_float16.split_shape import PAIR, SplitShape
from engine.variants.split_float16.split_sums import PLACES, SCALING, ZEROS_ONLY, SplitSums
from engine.variants.strips.strip_shape import LANES


def split_accumulator(shape: SplitShape) -> Any:
    """Return the function `accumulate(tile, at, lane, accumulators, scaling, weights, mask, unit, offset)`.

    It returns the results of a group's rows, 4 each: those of a lane's left pair and of its right one, 64
    samples on; then the accumulators afterwards and the scaling. `at` is where the group begins in the tile;
    `accumulators` are those of `zero_accumulators` or of the call before, `scaling` is that of
    `first_scaling` or of the call before; `weights` are the lane's (`lane_weights`), `mask` the weights as
    float32, `unit` what the halves count, `offset` what every result begins with. Row j of the results is
    complete with input row j of the group. All lanes of a warp have to call it together. Its reference
    implementation computes all groups in float32.
    """
    results = types.UniTuple(types.float32, VECTOR * shape.group_rows)
    returns = types.Tuple((results, types.UniTuple(types.float32, shape.kept), SCALING))

    def accumulate(code, tile, at, lane, accumulators, scaling, weights, mask, unit, offset):
        rows, lane = code.shared(tile) + at, code.narrow(lane)
        own = code.pointer(mask)
        sums = SplitSums(code, Warp(code), shape, rows, lane, weights, own, unit, offset)
        return sums.accumulate(accumulators, scaling)

    return device_function(returns, accumulate, _directly(shape))


def _directly(shape: SplitShape) -> Any:
    def accumulate(tile, at, lane, accumulators, scaling, weights, mask, unit, offset):
        sums: list[list[Any]] = [[offset] * VECTOR for _ in range(shape.touched)]
        for result in range(shape.group_rows, shape.touched):
            first = VECTOR * (result - shape.group_rows)
            sums[result] = list(accumulators[first : first + VECTOR])
        for row in range(shape.group_rows):
            start = at + row * shape.along.tile_samples + PAIR * lane + shape.shift
            for result in range(shape.touched):
                mask_row = shape.mask_row(result, row)
                if mask_row is None:
                    continue
                for place, first in enumerate(PLACES):
                    total = types.float32(0.0)
                    for column in range(shape.mask_columns):
                        total = tile[start + first + column] * mask[mask_row, column] + total
                    sums[result][place] = sums[result][place] + total
        results = tuple(value for row in sums[shape.mask_rows - 1 :][::-1] for value in row)
        waits = tuple(value for row in sums[: shape.mask_rows - 1] for value in row)
        return results, waits or accumulators, scaling

    return accumulate


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
    places = [0, 1, apart, apart + 1]

    def store(code, out, row, first, end, sample, samples, results):
        data = code.pointer(out)
        _, row_pixels, channels = code.shape(out)
        pitch = row_pixels * channels
        pointers = [data + (code.wide(row) * pitch + code.wide(sample))]
        row, first, end, sample, samples = (
            code.narrow(value) for value in (row, first, end, sample, samples)
        )
        for _ in range(rows - 1):
            pointers.append(pointers[-1] + pitch)
        above, below = row - first, end - (row + rows)
        right = samples - (sample + (places[-1] + 1))
        # Negative if anything lies outside, or pairs are not aligned to both of them.
        signs = above | below | (right | code.odd_sign(pitch))

        def whole_rows() -> None:
            for i, pointer in enumerate(pointers):
                for k in range(0, VECTOR, PAIR):
                    (pointer + places[k]).store(results[VECTOR * i + k : VECTOR * i + k + PAIR])

        def one_by_one() -> None:
            for i, pointer in enumerate(pointers):
                number = row + i
                for _ in code.where(code.all_of(number >= first, number < end)):
                    for k, place in enumerate(places):
                        for _ in code.where(sample + place < samples):
                            (pointer + place).store(results[VECTOR * i + k])

        code.when(signs >= 0, whole_rows, one_by_one)

    return device_function(types.void, store)

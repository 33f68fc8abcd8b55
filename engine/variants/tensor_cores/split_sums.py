"""What a kernel of `split-float16` calls: a group's sums as float16 halves on tensor cores, storing.

A lane loads three pairs of neighbouring cells of each row: 2 and 2 of the strip's 128, and of the first lanes
2 past them. It scales them by a power of two that the warp has agreed on, splits each into an upper and a
lower float16 (`weight_halves.py`) and passes the words on to the lanes that need them for the overlapping
rows of the products. A mask row's products with the group's rows form chains of tensor-core multiplications,
uppers apart from what holds a lower part; the two sums are added to the result that the mask row belongs to.
Sums of results that wait for further rows move up meanwhile, as in `low_rank/product_sums.py`.

With the scale every cell of the group is in float16's normal range, or 0. Where no scale does that (NaN,
infinity, cells more than 2^27 times smaller than the largest one, or this one not within 2^-47 to 2^74), the
group is multiplied in float32, cell by cell. A scale is kept as long as it suits.
"""

from functools import partial
from itertools import pairwise, product

from llvmlite import ir
from numba import types

from engine.variants.ir.cuda_code import CudaCode
from engine.variants.ir.device_function import DeviceFunction, device_function
from engine.variants.ir.quantise import row_pointers, stored_samples
from engine.variants.ir.register_tile import VECTOR
from engine.variants.ir.value import F32, I32, Value, in_pairs
from engine.variants.tensor_cores.split_shape import PAIR, SplitShape
from engine.variants.tensor_cores.weight_halves import LOWER_SCALE, ROOM_ABOVE, ROOM_BELOW, SCALED_TO
from engine.variants.tiles.strip_shape import LANES

Values = list[Value]

HALF_STRIP = LANES * PAIR
"""Cells from a lane's first pair to its second one, and results."""

PLACES = (0, 1, HALF_STRIP, HALF_STRIP + 1)
"""Where a lane's 4 results lie in a row, from its first one on."""

_MANTISSA_BITS, _BIAS = 23, 127
# With the largest cell of 2^-47 to 2^74 no unit of a sum under- or overflows, whatever the weights.
_LEAST_EXPONENT, _MOST_EXPONENT = 80, 200

SCALING = types.Tuple((types.float32, types.float32, types.uint32, types.uint32))
"""A scale, its inverse, and the bits of the smallest (doubled, less 1) and largest suitable magnitude."""

ZEROS_ONLY = (1.0, 0.0, 2**32 - 1, 0)
"""A scaling that suits a group of zeros, and no other."""


def _suited(code: CudaCode, cells: Values, scaling: Values) -> tuple[Values, Value]:
    """Return a scaling for a warp's cells, the old one where it suits them, and whether it does."""
    line = "{ .reg .f32 a, b; abs.f32 a, $1; abs.f32 b, $2; max.NaN.f32 $0, a, b; }"
    larger = in_pairs(cells, lambda one, other: code.assembly(line, "=f,f,f", [one, other], F32))
    # The bits of NaN, if there is one, are past all others.
    largest = larger.bits_as(I32)
    # Doubled, less 1, the bits of 0 are the largest.
    smallest = in_pairs(
        [(cell.bits_as(I32) << 1) - 1 for cell in cells],
        lambda one, other: code.select(code.is_below(one, other), one, other),
    )

    def suits(largest: Value, smallest: Value, scaling: Values) -> Value:
        is_above = code.compared(smallest, ">=", scaling[2])
        return code.all_of(is_above, code.compared(largest, "<=", scaling[3]))

    def power(exponent: Value) -> Value:
        return exponent << _MANTISSA_BITS

    def fresh_one() -> Values:
        """Return whether there is a scaling, and it; for zeros where there is none."""
        most, least = code.of_all_lanes("max", largest), code.of_all_lanes("min", smallest)
        exponent = most >> _MANTISSA_BITS
        is_one = code.is_below(exponent - _LEAST_EXPONENT, _MOST_EXPONENT - _LEAST_EXPONENT + 1)
        found = [
            power(2 * _BIAS + SCALED_TO - exponent).bits_as(F32),
            power(exponent - SCALED_TO).bits_as(F32),
            (power(exponent - ROOM_BELOW) << 1) - 1,
            power(exponent + ROOM_ABOVE),
        ]
        fresh = [code.select(is_one, value, other) for value, other in zip(found, ZEROS_ONLY, strict=True)]
        return [suits(most, least, fresh), *fresh]

    does_not = code.any_lane(code.negated(suits(largest, smallest, scaling)))
    is_suited, *found = code.when(does_not, fresh_one, [code.true, *scaling], likely=False)
    return found, is_suited


def _halves(code: CudaCode, pair: Values, scale: Value) -> tuple[Value, Value]:
    """Return two cells' upper parts in a word, and their lower parts in another."""

    def packed(values: Values) -> Value:
        """Return two float32 rounded to float16, in a word (PTX ISA 9.7.9)."""
        return code.assembly("cvt.rn.f16x2.f32 $0, $2, $1;", "=r,f,f", values, I32)

    scaled = [cell * scale for cell in pair]
    word = packed(scaled)
    line = "{ .reg .f16 a, b; mov.b32 {a, b}, $2; cvt.f32.f16 $0, a; cvt.f32.f16 $1, b; }"
    uppers = code.parts(code.assembly(line, "=f,=f,r", [word], ir.LiteralStructType([F32, F32])))
    lowers = [(value - upper) * LOWER_SCALE for value, upper in zip(scaled, uppers, strict=True)]
    return word, packed(lowers)


def _factors(code: CudaCode, eights: int, lane: Value, pairs: list[tuple[Value, Value]]) -> list[Values]:
    """Return the words of a row's products, upper and lower: of each eight those of rows g and g + 8.

    The lane is 4 g + t. Row g begins 8 cells before row g + 1: an eight further on, a lane needs the words
    that the lane 4 further on had.
    """
    parts = []
    for words in zip(*pairs, strict=True):
        found = list(words[:2])
        for eight in range(1, eights):
            source = (lane + 4 * eight) & (LANES - 1)
            is_first = code.is_below(lane, 4 * eight)
            for own, following in pairwise(words):
                found.append(code.from_lane(source, code.select(is_first, following, own)))
        parts.append(found)
    return parts


def split_accumulator(shape: SplitShape) -> DeviceFunction:
    """Return the function `accumulate(tile, at, lane, accumulators, scaling, weights, mask, unit, offset)`.

    It returns the results of a group's rows, 4 each: those of a lane's left pair and of its right one, 64
    samples on; then the accumulators afterwards and the scaling. `at` is where the group begins in the tile;
    `accumulators` are those of `zero_accumulators` or of the call before: 4 sums for each result that waits
    for further rows, the newest first. `scaling` is that of `first_scaling` or of the call before; `weights`
    are the lane's (`lane_weights`), `unit` what their halves count, `mask` the weights as float32 for groups
    that are not split, `offset` what every result begins with. Row j of the results is complete with input
    row j of the group. All lanes of a warp have to call it together.
    """
    results_type = types.UniTuple(types.float32, VECTOR * shape.group_rows)
    returns = types.Tuple((results_type, types.UniTuple(types.float32, shape.kept), SCALING))

    def accumulate(code, tile, at, lane, accumulators, scaling, weights, mask, unit, offset):
        rows, lane, mask = code.shared(tile) + at, code.narrow(lane), code.pointer(mask)
        own = lane * PAIR

        def pairs_of(row):
            """Load a lane's pairs of a row; lanes with none past the strip load their first one again."""
            starts = [own, own + HALF_STRIP]
            if shape.halo_lanes:
                has_third = code.is_below(lane, shape.halo_lanes)
                starts.append(code.select(has_third, own + 2 * HALF_STRIP, own))
            return [(rows + start + row * shape.along.tile_samples).load(PAIR) for start in starts]

        def before(result, k):
            """Return the sum that a result has from earlier groups; the offset if it has none."""
            waiting = result - shape.group_rows
            return accumulators[VECTOR * waiting + k] if waiting >= 0 else offset

        def split_sums(cells, scaling):
            """Return the sums of all results that the rows enter, the newest first, by tensor cores."""
            back = scaling[1] * unit
            back_lower = back * (1 / LOWER_SCALE)
            factors = [
                _factors(code, shape.eights, lane, [_halves(code, pair, scaling[0]) for pair in row])
                for row in cells
            ]
            sums: Values = []
            for result in range(shape.touched):
                upper, lower = [code.f32(0.0)] * VECTOR, [code.f32(0.0)] * VECTOR
                for row, (uppers, lowers) in enumerate(factors):
                    # The last result has only the group's last row under the mask.
                    mask_row = result - (shape.group_rows - 1) + row
                    for first, count in shape.products if 0 <= mask_row < shape.mask_rows else ():
                        # The lane's words of these eights of the mask row, upper parts and lower ones.
                        word, samples = mask_row * shape.eights + first, slice(2 * first, 2 * (first + count))
                        words, lower_words = weights[word:], weights[word + shape.fragments // 2 :]
                        kind = f"m16n8k{8 * count}.row.col.f32.f16.f16.f32"
                        upper = code.multiplied(kind, uppers[samples], words[:count], upper)
                        lower = code.multiplied(kind, lowers[samples], words[:count], lower)
                        lower = code.multiplied(kind, uppers[samples], lower_words[:count], lower)
                for k in range(VECTOR):
                    sums.append(code.fma(upper[k], back, code.fma(lower[k], back_lower, before(result, k))))
            return sums

        def direct_sums():
            """Return the same in float32, in loops: few groups need it, and all would pay for registers."""
            sums = [[code.slot() for _ in range(VECTOR)] for _ in range(shape.touched)]
            for result, slots in enumerate(sums):
                store_all(slots, [before(result, k) for k in range(VECTOR)])
            for number in code.loop(0, shape.touched):
                result = shape.touched - 1 - number
                for row in code.loop(0, shape.group_rows):
                    mask_row = result - (shape.group_rows - 1) + row
                    for _ in code.where(code.is_below(mask_row, shape.mask_rows)):
                        for slot, value in zip(sums[-1], row_sum(row, mask_row), strict=True):
                            slot.store(slot.load() + value)
                # The next round's result moves to where this one was: after all rounds each is back.
                moved_on = [[slot.load() for slot in slots] for slots in [sums[-1], *sums[:-1]]]
                for slots, values in zip(sums, moved_on, strict=True):
                    store_all(slots, values)
            return [slot.load() for slots in sums for slot in slots]

        def store_all(slots, values):
            for slot, value in zip(slots, values, strict=True):
                slot.store(value)

        def row_sum(row, mask_row):
            """Return a mask row's sums for a lane's 4 results, over an input row of the group."""
            first_weight = mask + mask_row * shape.mask_columns
            cells = rows + (own + (row * shape.along.tile_samples + shape.shift))
            totals: Values = [code.f32(0.0)] * VECTOR
            for column in range(shape.mask_columns):
                weight = (first_weight + column).load()
                for k, apart in enumerate(PLACES):
                    totals[k] = code.fma((cells + (column + apart)).load(), weight, totals[k])
            return totals

        if code.has_warp:
            cells = [pairs_of(row) for row in range(shape.group_rows)]
            scaling, suits = _suited(code, [cell for row in cells for pair in row for cell in pair], scaling)
            sums = code.when(suits, lambda: split_sums(cells, scaling), direct_sums)
        else:
            sums = direct_sums()
        # The last rows of results have the group's first row under the mask's last one: they are complete.
        first = VECTOR * (shape.mask_rows - 1)
        complete = [sums[at : at + VECTOR] for at in range(first, len(sums), VECTOR)]
        results = [value for row in reversed(complete) for value in row]
        # A mask of one row keeps nothing, but a tuple has to have something in it.
        return results, sums[:first] or accumulators, scaling

    return device_function(returns, accumulate)


def _first_scaling(code: CudaCode) -> Values:
    scale, inverse, *bits = ZEROS_ONLY
    return [code.f32(scale), code.f32(inverse), *(code.integer(number) for number in bits)]


first_scaling = device_function(SCALING, _first_scaling)
"""The function `first_scaling()` of the scaling before the first group."""


def lane_weights(shape: SplitShape) -> DeviceFunction:
    """Return the function `held(fragments, lane)` of a lane's words of weights (`fragments_of`)."""

    def held(code, fragments, lane):
        first = code.pointer(fragments) + code.narrow(lane)
        return [(first + LANES * number).load() for number in range(shape.fragments)]

    return device_function(types.UniTuple(types.uint32, shape.fragments), held)


def pair_storer(rows: int) -> DeviceFunction:
    """Return the function that writes two pairs of float32, half a strip from each other, in some rows.

    `store(out, row, first, end, sample, samples, results)`: `row` and `sample` are those of the first result,
    `sample` is even; nothing is written before row `first`, from row `end` on, or from sample `samples` on.
    """

    def store(code, out, row, first, end, sample, samples, results):
        _, row_pixels, channels = code.shape(out)
        pitch = row_pixels * channels
        pointers = row_pointers(code.pointer(out) + (code.wide(row) * pitch + code.wide(sample)), pitch, rows)
        row, first, end, sample, samples = (
            code.narrow(value) for value in (row, first, end, sample, samples)
        )
        # Negative if any row lies outside, or pairs are not aligned to both of them.
        signs = row - first | end - (row + rows) | code.odd_sign(pitch)

        def is_row(i):
            return code.all_of(row + i >= first, row + i < end)

        def is_before_end(at, i, k):
            return at + k < samples

        def both_pairs():
            for number, (pointer, apart) in enumerate(product(pointers, (0, HALF_STRIP))):
                stored_samples(code, results, 4).store(pointer + apart, PAIR * number, PAIR)

        def each_pair():
            for pair in range(2):
                at = sample + pair * HALF_STRIP
                own = [value for i in range(rows) for value in results[4 * i + PAIR * pair :][:PAIR]]
                for _ in code.where(at < samples):
                    targets = [pointer + pair * HALF_STRIP for pointer in pointers]
                    is_whole = signs | samples - (at + PAIR) >= 0
                    stored_samples(code, own, 4).store_rows(
                        targets, range(PAIR), PAIR, is_whole, is_row, partial(is_before_end, at)
                    )

        code.when(signs | samples - (sample + HALF_STRIP + PAIR) >= 0, both_pairs, each_pair)

    return device_function(types.void, store)

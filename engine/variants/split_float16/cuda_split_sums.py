"""A group of a strip's input rows, multiplied as float16 halves on tensor cores; emitted as LLVM IR.

A lane loads three pairs of neighbouring cells of each row: 2 and 2 of the strip's 128, and of the first lanes 2 past them. It scales
them by a power of two that the warp has agreed on, splits each into an upper and a lower float16 (`engine.variants.split_float16.weight_halves` has the
arithmetic) and passes the words on to the lanes that need them for the overlapping rows of the products. A mask row's products
with the group's rows form chains of tensor-core multiplications, uppers apart from what holds a lower part; the two sums are
added to the result that the mask row belongs to. Sums of results that wait for further rows move up meanwhile, as in `cuda_march.py`.

With the scale every cell of the group is in float16's normal range, or 0. Where none does that (NaN, infinity, cells more than 2^27 times
smaller than the largest one, or this one not within 2^-47 to 2^74), the group is multiplied in float32, cell by cell, as a direct sum
is: slower, and with every NaN in its place. A scale is kept as long as it suits.
"""

from collections.abc import Callable
from itertools import pairwise

from llvmlite import ir
from numba import types
from numba.core import cgutils

from engine.variants.ir.cuda_ir import F32, I32, assembly, constant, fma, loop, moved
from engine.variants.ir.cuda_warp import BIT, Values, Warp
from engine.variants.ir.register_tile import VECTOR
from engine.variants.split_float16.cuda_pair_storer import PAIR
from engine.variants.split_float16.split_shape import SplitShape
from engine.variants.split_float16.weight_halves import LOWER_SCALE, ROOM_ABOVE, ROOM_BELOW, SCALED_TO
from engine.variants.strips.march_shape import LANES

HALF_STRIP = LANES * PAIR
"""Cells from a lane's first pair to its second one, and results."""

_MANTISSA_BITS, _BIAS = 23, 127
# With the largest cell of 2^-47 to 2^74 no unit of a sum under- or overflows, whatever the weights.
_LEAST_EXPONENT, _MOST_EXPONENT = 80, 200

SCALING = types.Tuple((types.float32, types.float32, types.uint32, types.uint32))
"""A scale, its inverse, and the bits of the smallest (doubled, less 1) and of the largest magnitude that it suits."""

ZEROS_ONLY = (1.0, 0.0, 2**32 - 1, 0)
"""A scaling that suits a group of zeros, and no other."""


def in_pairs(values: Values, combined: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
    """Return what all values come to when neighbours are combined, and then what came of them: few wait for one another."""
    while len(values) > 1:
        rest = values[len(values) // 2 * 2 :]
        values = [combined(*pair) for pair in zip(values[::2], values[1::2], strict=False)] + rest
    return values[0]


class SplitSums:
    """Emits what a lane does with a group of input rows.

    Parameters
    ----------
    shape : SplitShape
    builder : IRBuilder
    warp : Warp
    rows : pointer
        To the group's first cell; float32, any address space.
    lane : int32 value
    weights : list of int32 values
        The lane's words (`split_fragments.py`).
    mask : pointer
        To the weights as float32, row after row: for groups that are not split.
    unit : float32 value
        What the weights' halves count (`WeightHalves.unit`).
    offset : float32 value
        What every result begins with.
    """

    def __init__(
        self,
        shape: SplitShape,
        builder: ir.IRBuilder,
        warp: Warp,
        rows: ir.Value,
        lane: ir.Value,
        weights: Values,
        mask: ir.Value,
        unit: ir.Value,
        offset: ir.Value,
    ) -> None:
        self._shape, self._builder, self._warp = shape, builder, warp
        self._rows, self._lane, self._weights = rows, lane, weights
        self._mask, self._unit, self._offset = mask, unit, offset
        self._own = builder.mul(lane, constant(PAIR))

    def emit(self, waiting: Values, scaling: Values) -> tuple[Values, Values, Values]:
        """Return the results that the rows complete, row by row, what waits afterwards, and the scaling.

        Parameters
        ----------
        waiting : list of float32
            4 sums for each result that waits, the newest first.
        scaling : list of values
            As `SCALING` has them.
        """
        shape, builder = self._shape, self._builder
        cells = [self._pairs(row) for row in range(shape.group_rows)]
        scaling, suits = self._suited([cell for row in cells for pair in row for cell in pair], scaling)
        with builder.if_else(suits) as (then, otherwise):
            with then:
                split = self._split_sums(cells, scaling, waiting)
                after_split = builder.block
            with otherwise:
                direct = self._direct_sums(waiting)
                after_direct = builder.block
        sums = []
        for one, other in zip(split, direct, strict=True):
            total = builder.phi(F32)
            total.add_incoming(one, after_split)
            total.add_incoming(other, after_direct)
            sums.append(total)
        # The last rows of results have the group's first row under the mask's last one: they are complete, topmost last.
        first = VECTOR * (shape.mask_rows - 1)
        complete = [sums[place : place + VECTOR] for place in range(first, len(sums), VECTOR)]
        results = [value for row in reversed(complete) for value in row]
        # A mask of one row keeps nothing, but a tuple has to have something in it.
        return results, sums[:first] or waiting, scaling

    def _pairs(self, row: int) -> list[Values]:
        """Load a lane's pairs of an input row; lanes that have none past the strip load their first one again."""
        builder, at = self._builder, row * self._shape.along.tile_samples
        starts = [self._own, builder.add(self._own, constant(HALF_STRIP))]
        if self._shape.halo_lanes:
            has_third = builder.icmp_unsigned("<", self._lane, constant(self._shape.halo_lanes))
            third = builder.add(self._own, constant(2 * HALF_STRIP))
            starts.append(builder.select(has_third, third, self._own))
        kind = ir.VectorType(F32, PAIR)
        found = []
        for start in starts:
            pointer = moved(builder, moved(builder, self._rows, start), at)
            pair = builder.load(builder.bitcast(pointer, kind.as_pointer(pointer.type.addrspace)), align=8)
            found.append([builder.extract_element(pair, constant(place)) for place in range(PAIR)])
        return found

    def _suited(self, cells: Values, scaling: Values) -> tuple[Values, ir.Value]:
        """Return a scaling for the cells, the old one where it suits them, and whether it does."""
        builder, warp = self._builder, self._warp
        largest, smallest = self._largest_magnitude(cells), self._smallest_magnitude(cells)
        does_not = warp.any(builder.not_(self._is_within(largest, smallest, scaling)))
        before = builder.block
        with builder.if_then(does_not, likely=False):
            largest, smallest = warp.largest(largest), warp.smallest(smallest)
            fresh = self._scaling_for(largest)
            still_suits = self._is_within(largest, smallest, fresh)
            behind = builder.block
        found = []
        for old, new in zip([ir.Constant(BIT, 1), *scaling], [still_suits, *fresh], strict=True):
            value = builder.phi(new.type)
            value.add_incoming(old, before)
            value.add_incoming(new, behind)
            found.append(value)
        return found[1:], found[0]

    def _largest_magnitude(self, cells: Values) -> ir.Value:
        """Return the bits of the largest magnitude; of NaN, which are past all others, if there is one."""
        line = "{ .reg .f32 a, b; abs.f32 a, $1; abs.f32 b, $2; max.NaN.f32 $0, a, b; }"

        def larger(one: ir.Value, other: ir.Value) -> ir.Value:
            return assembly(self._builder, line, "=f,f,f", [one, other], F32, changes_memory=False)

        return self._builder.bitcast(in_pairs(cells, larger), I32)

    def _smallest_magnitude(self, cells: Values) -> ir.Value:
        """Return the bits of the smallest magnitude but 0, doubled, less 1: those of 0 are past all others then."""
        builder = self._builder
        doubled = (builder.shl(builder.bitcast(cell, I32), constant(1)) for cell in cells)

        def smaller(one: ir.Value, other: ir.Value) -> ir.Value:
            return builder.select(builder.icmp_unsigned("<", one, other), one, other)

        return in_pairs([builder.sub(bits, constant(1)) for bits in doubled], smaller)

    def _is_within(self, largest: ir.Value, smallest: ir.Value, scaling: Values) -> ir.Value:
        builder = self._builder
        is_large = builder.icmp_unsigned(">=", smallest, scaling[2])
        return builder.and_(is_large, builder.icmp_unsigned("<=", largest, scaling[3]))

    def _scaling_for(self, largest: ir.Value) -> Values:
        """Return the scaling for cells the largest of which has these bits; one for zeros only where there is none."""
        builder = self._builder
        exponent = builder.lshr(largest, constant(_MANTISSA_BITS))
        above_least = builder.sub(exponent, constant(_LEAST_EXPONENT))
        is_one = builder.icmp_unsigned("<=", above_least, constant(_MOST_EXPONENT - _LEAST_EXPONENT))

        def power(number: ir.Value) -> ir.Value:
            return builder.shl(number, constant(_MANTISSA_BITS))

        found = [
            builder.bitcast(power(builder.sub(constant(2 * _BIAS + SCALED_TO), exponent)), F32),
            builder.bitcast(power(builder.sub(exponent, constant(SCALED_TO))), F32),
            builder.sub(
                builder.shl(power(builder.sub(exponent, constant(ROOM_BELOW))), constant(1)), constant(1)
            ),
            power(builder.add(exponent, constant(ROOM_ABOVE))),
        ]
        return [
            builder.select(is_one, value, ir.Constant(value.type, other))
            for value, other in zip(found, ZEROS_ONLY, strict=True)
        ]

    def _split_sums(self, cells: list[list[Values]], scaling: Values, waiting: Values) -> Values:
        """Return the sums of all results that the rows have a part in, by tensor cores, the newest result first."""
        shape, builder, warp = self._shape, self._builder, self._warp
        back = builder.fmul(scaling[1], self._unit)
        back_lower = builder.fmul(back, ir.Constant(F32, 1 / LOWER_SCALE))
        factors = [self._factors([self._halves(pair, scaling[0]) for pair in row]) for row in cells]
        sums: Values = []
        for result in range(shape.touched):
            upper: Values | None = None
            lower: Values | None = None
            for row, (uppers, lowers) in enumerate(factors):
                mask_row = shape.mask_row(result, row)
                if mask_row is None:
                    continue
                for first, count in shape.products:
                    samples = slice(2 * first, 2 * (first + count))
                    weights = [self._words_of(part, mask_row, first, count) for part in (0, 1)]
                    upper = warp.multiplied(uppers[samples], weights[0], upper)
                    lower = warp.multiplied(lowers[samples], weights[0], lower)
                    lower = warp.multiplied(uppers[samples], weights[1], lower)
            assert upper is not None
            assert lower is not None
            for place in range(VECTOR):
                total = self._waiting(waiting, result, place)
                both = fma(builder, lower[place], back_lower, total)
                sums.append(fma(builder, upper[place], back, both))
        return sums

    def _waiting(self, waiting: Values, result: int, place: int) -> ir.Value:
        """Return the sum that a result has from earlier groups; the offset if it has none."""
        before = result - self._shape.group_rows
        return waiting[VECTOR * before + place] if before >= 0 else self._offset

    def _words_of(self, part: int, mask_row: int, first: int, count: int) -> Values:
        """Return the lane's words of some eights of a mask row: upper parts (0) or lower ones."""
        at = (part * self._shape.mask_rows + mask_row) * self._shape.eights + first
        return self._weights[at : at + count]

    def _halves(self, pair: Values, scale: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return two cells' upper parts in a word, and their lower parts in another."""
        builder = self._builder
        scaled = [builder.fmul(cell, scale) for cell in pair]
        uppers = self._packed(scaled)
        line = "{ .reg .f16 a, b; mov.b32 {a, b}, $2; cvt.f32.f16 $0, a; cvt.f32.f16 $1, b; }"
        both = ir.LiteralStructType([F32, F32])
        rounded = assembly(builder, line, "=f,=f,r", [uppers], both, changes_memory=False)
        lowers = [
            builder.fmul(
                builder.fsub(value, builder.extract_value(rounded, place)), ir.Constant(F32, LOWER_SCALE)
            )
            for place, value in enumerate(scaled)
        ]
        return uppers, self._packed(lowers)

    def _packed(self, values: Values) -> ir.Value:
        """Return two float32 rounded to float16, in a word (PTX ISA 9.7.9)."""
        line = "cvt.rn.f16x2.f32 $0, $2, $1;"
        return assembly(self._builder, line, "=r,f,f", values, I32, changes_memory=False)

    def _factors(self, pairs: list[tuple[ir.Value, ir.Value]]) -> tuple[Values, Values]:
        """Return the words of a row's products, upper and lower: of each eight those of rows g and g + 8, lane being 4 g + t.

        Row g begins 8 cells before row g + 1: an eight further on, a lane needs the words that the lane 4 further on had.
        """
        builder, warp = self._builder, self._warp
        parts = []
        for words in zip(*pairs, strict=True):
            found = list(words[:2])
            for eight in range(1, self._shape.eights):
                ahead = constant(4 * eight)
                source = builder.and_(builder.add(self._lane, ahead), constant(LANES - 1))
                is_first = builder.icmp_unsigned("<", self._lane, ahead)
                for own, following in pairwise(words):
                    found.append(warp.passed_on(builder.select(is_first, following, own), source))
            parts.append(found)
        return parts[0], parts[1]

    def _direct_sums(self, waiting: Values) -> Values:
        """Return the same by multiply-adds in float32, in loops over mask rows: few groups need it, and all pay for registers."""
        shape, builder = self._shape, self._builder
        sums = [[cgutils.alloca_once(builder, F32) for _ in range(VECTOR)] for _ in range(shape.touched)]
        for result, own in enumerate(sums):
            for place, slot in enumerate(own):
                builder.store(self._waiting(waiting, result, place), slot)
        with loop(builder, constant(0), constant(shape.touched), 1) as number:
            result = builder.sub(constant(shape.touched - 1), number)
            with loop(builder, constant(0), constant(shape.group_rows), 1) as row:
                mask_row = builder.add(builder.sub(result, constant(shape.group_rows - 1)), row)
                with builder.if_then(builder.icmp_unsigned("<", mask_row, constant(shape.mask_rows))):
                    for slot, value in zip(sums[-1], self._row_sum(row, mask_row), strict=True):
                        builder.store(builder.fadd(builder.load(slot), value), slot)
            # The next round's result moves to where this one was: after all rounds each is in its place again.
            moved_on = [[builder.load(slot) for slot in own] for own in [sums[-1], *sums[:-1]]]
            for own, values in zip(sums, moved_on, strict=True):
                for slot, value in zip(own, values, strict=True):
                    builder.store(value, slot)
        return [builder.load(slot) for own in sums for slot in own]

    def _row_sum(self, row: ir.Value, mask_row: ir.Value) -> Values:
        """Return a mask row's sums for a lane's 4 results, over an input row of the group."""
        shape, builder = self._shape, self._builder
        weights = moved(builder, self._mask, builder.mul(mask_row, constant(shape.mask_columns)))
        at = builder.add(builder.mul(row, constant(shape.along.tile_samples)), constant(shape.shift))
        cells = moved(builder, self._rows, builder.add(self._own, at))
        totals: Values = [ir.Constant(F32, 0.0)] * VECTOR
        for column in range(shape.mask_columns):
            weight = builder.load(moved(builder, weights, column))
            for place, apart in enumerate((0, 1, HALF_STRIP, HALF_STRIP + 1)):
                cell = builder.load(moved(builder, cells, column + apart))
                totals[place] = fma(builder, cell, weight, totals[place])
        return totals

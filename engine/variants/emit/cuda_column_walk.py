"""A step of `box` down the columns: results of several rows from sums of segments, and of rows that are kept; as LLVM IR."""

from functools import reduce
from itertools import accumulate
from typing import Any, NamedTuple

from llvmlite import ir
from numba import types

from engine.device.numba_cuda import intrinsic
from engine.variants.emit.box_strip import LANES, BoxStrip
from engine.variants.emit.column_walk_twin import column_walk_twin
from engine.variants.emit.cuda_ir import (
    F32,
    I32,
    I64,
    SHARED,
    constant,
    data_of,
    fma,
    moved,
    narrow,
    shape_of,
    wide,
    with_twin,
)
from engine.variants.emit.cuda_quantise import quantised_value

Values = list[ir.Value]


class StepPlace(NamedTuple):
    """Where a step lies in shared memory, in elements, and its thread's lane; as of `walk` below."""

    at: ir.Value
    back_at: ir.Value
    slot: ir.Value
    previous: ir.Value
    total: ir.Value
    lane: ir.Value


class ResultPlace(NamedTuple):
    """Where the results of a step go: the result and its samples a row, and what `walk` below has."""

    out: ir.Value
    pitch: ir.Value
    row: ir.Value
    rows: ir.Value
    first_row: ir.Value
    first_sample: ir.Value
    samples: ir.Value
    offset: ir.Value


class ColumnStep:
    """Emits one step of a thread's columns.

    Parameters
    ----------
    strip : BoxStrip
    builder : IRBuilder
    data : pointer
        To shared memory.
    weight : value
    place : StepPlace
    """

    def __init__(
        self, strip: BoxStrip, builder: ir.IRBuilder, data: ir.Value, weight: ir.Value, place: StepPlace
    ) -> None:
        self._strip, self._builder, self._weight = strip, builder, weight
        self._own = builder.add(place.lane, constant(strip.shift))
        self._batch = moved(builder, data, place.at)
        self._cells = moved(builder, self._batch, self._own)
        self._backs = moved(builder, data, builder.add(place.back_at, self._own))
        ring = moved(builder, data, builder.add(place.lane, constant(strip.ring_at)))
        self._slot, self._previous = moved(builder, ring, place.slot), moved(builder, ring, place.previous)
        self._totals = moved(builder, data, builder.add(place.lane, constant(strip.totals_at)))
        following = builder.add(place.total, constant(strip.out_samples))
        is_last = builder.icmp_signed("==", following, constant(strip.totals * strip.out_samples))
        self._total = moved(builder, self._totals, place.total)
        self._next_total = moved(builder, self._totals, builder.select(is_last, constant(0), following))

    def results(self, part: int) -> Values:
        """Return the results of a column, row under row, and keep what later steps need of it."""
        strip, builder, apart = self._strip, self._builder, part * LANES
        entering = self._along_row(part)
        if not strip.slots:
            return entering
        rows = [moved(builder, self._slot, j * strip.out_samples + apart) for j in range(strip.step_rows)]
        leaving = list(accumulate([builder.load(row) for row in reversed(rows)], builder.fadd))[::-1]
        places = range(0, strip.totals * strip.out_samples, strip.out_samples)
        common = self._sum([builder.load(moved(builder, self._totals, place + apart)) for place in places])
        entered = list(accumulate(entering, builder.fadd))
        results = []
        for left, right in zip(leaving, entered, strict=True):
            results.append(builder.fadd(left if common is None else builder.fadd(left, common), right))
        self._keep(entering, entered, apart)
        return results

    def _keep(self, entering: Values, entered: Values, apart: int) -> None:
        strip, builder = self._strip, self._builder
        for j, value in enumerate(entering):
            row, slot = strip.rest + j, self._slot
            if strip.rest and row < strip.step_rows:
                slot = self._previous
            place = row % strip.step_rows * strip.out_samples + apart
            builder.store(value, moved(builder, slot, place))
        if not strip.totals:
            return
        total = moved(builder, self._total, apart)
        if not strip.rest:
            builder.store(entered[-1], total)
            return
        # The rest of before is the beginning of a step's rows, which are complete now.
        if strip.whole_steps > 1:
            builder.store(builder.fadd(builder.load(total), entered[-strip.rest - 1]), total)
        builder.store(self._sum(entering[-strip.rest :]), moved(builder, self._next_total, apart))

    def _along_row(self, part: int) -> Values:
        """Return the sums along the entering rows, one a row."""
        strip, builder, apart, channels = self._strip, self._builder, part * LANES, self._strip.channels
        pitch = strip.tile.tile_samples
        if not strip.segment:
            sums = []
            for j in range(strip.step_rows):
                cells = [
                    builder.load(moved(builder, self._cells, j * pitch + apart + n * channels))
                    for n in range(strip.mask_columns)
                ]
                total = builder.fmul(cells[0], self._weight)
                for cell in cells[1:]:
                    total = fma(builder, cell, self._weight, total)
                sums.append(total)
            return sums
        sums = [
            builder.load(moved(builder, self._backs, j * strip.back_pitch + apart))
            for j in range(strip.step_rows)
        ]
        sample = builder.add(self._own, constant(apart))
        pixel = builder.udiv(sample, constant(channels))
        channel = builder.sub(sample, builder.mul(pixel, constant(channels)))
        first = builder.udiv(pixel, constant(strip.segment))
        into = builder.sub(pixel, builder.mul(first, constant(strip.segment)))
        # The last cell of the first segment.
        last = builder.add(builder.mul(first, constant(strip.segment)), constant(strip.segment - 1))
        last = moved(builder, self._batch, builder.add(builder.mul(last, constant(channels)), channel))
        end = moved(builder, self._cells, (strip.mask_columns - 1) * channels + apart)
        between, beyond = divmod(strip.mask_columns - 1, strip.segment)
        reaches_on = builder.icmp_unsigned(">=", into, constant(strip.segment - beyond))

        def added(pointer: ir.Value, values: Values) -> Values:
            return [
                builder.fadd(value, builder.load(moved(builder, pointer, j * pitch)))
                for j, value in enumerate(values)
            ]

        for number in range(1, between):
            sums = added(moved(builder, last, number * strip.segment * channels), sums)
        if between:
            sums = self._added_where(
                reaches_on,
                lambda values: added(moved(builder, last, between * strip.segment * channels), values),
                sums,
            )
            return added(end, sums)
        return self._added_where(reaches_on, lambda values: added(end, values), sums)

    def _added_where(self, is_so: ir.Value, added: Any, values: Values) -> Values:
        builder, before = self._builder, self._builder.block
        with builder.if_then(is_so):
            more = added(values)
            behind = builder.block
        chosen = []
        for value, other in zip(values, more, strict=True):
            phi = builder.phi(F32)
            phi.add_incoming(value, before)
            phi.add_incoming(other, behind)
            chosen.append(phi)
        return chosen

    def _sum(self, values: Values) -> ir.Value | None:
        return reduce(self._builder.fadd, values) if values else None


def emit_step(
    strip: BoxStrip,
    itemsize: int,
    builder: ir.IRBuilder,
    data: ir.Value,
    weight: ir.Value,
    place: StepPlace,
    target: ResultPlace,
) -> None:
    """Emit a step of the columns of a thread and the stores of its results."""
    step = ColumnStep(strip, builder, data, weight, place)
    results = [step.results(part) for part in range(strip.lane_samples)]
    results = [[builder.fadd(value, target.offset) for value in column] for column in results]
    if itemsize < 4:
        results = [[quantised_value(builder, v, itemsize) for v in column] for column in results]
    own_row = builder.add(target.first_row, builder.sext(target.row, I64))
    sample = builder.add(target.first_sample, wide(builder, place.lane))
    first = builder.gep(target.out, [builder.add(builder.mul(own_row, target.pitch), sample)])
    rows = [first]
    for _ in range(strip.step_rows - 1):
        rows.append(builder.gep(rows[-1], [target.pitch]))
    sample, samples = builder.trunc(sample, I32), builder.trunc(target.samples, I32)

    def is_row(j: int) -> ir.Value:
        # Rows above the strip are very large as unsigned numbers.
        return builder.icmp_unsigned("<", builder.add(target.row, constant(j)), target.rows)

    def is_sample(part: int) -> ir.Value:
        return builder.icmp_signed("<", builder.add(sample, constant(part * LANES)), samples)

    all_rows = builder.and_(is_row(0), is_row(strip.step_rows - 1))
    with builder.if_else(builder.and_(all_rows, is_sample(strip.lane_samples - 1))) as (then, otherwise):
        with then:
            for j in range(strip.step_rows):
                for part in range(strip.lane_samples):
                    builder.store(results[part][j], moved(builder, rows[j], part * LANES))
        with otherwise:
            inside = [is_sample(part) for part in range(strip.lane_samples)]
            for j in range(strip.step_rows):
                with builder.if_then(is_row(j)):
                    for part in range(strip.lane_samples):
                        with builder.if_then(inside[part]):
                            builder.store(results[part][j], moved(builder, rows[j], part * LANES))


def column_walker(strip: BoxStrip, itemsize: int = 4) -> Any:
    """Return the function that does a step of the columns and stores its results.

    `walk(tile, at, back_at, slot, previous, total, weight, lane, row, rows, out, first_row, first_sample, samples, offset)`

    Parameters
    ----------
    strip : BoxStrip
    itemsize : int
        Bytes of a sample of the result: 4 is float32, fewer are unsigned integers (`cuda_quantise.py`).

    Notes
    -----
    Of `walk`: tile is shared memory, `at` and `back_at` the elements where the step's first row and its sums lie; `slot`,
    `previous` and `total` where the rows that leave lie in the ring, those that came before them, and where, among the sums
    of steps, the oldest one lies (the rest of the rows so far, where there is one). `row` is the first result's row in the
    strip of `rows` rows (negative: no results yet), `first_row` and `first_sample` the strip's place in the picture.
    """

    @intrinsic
    def walk(
        typingctx, tile, at, back_at, slot, previous, total, weight, lane, row, rows, out, first_row,
        first_sample, samples, offset,
    ):  # fmt: skip
        signature = types.void(
            tile, at, back_at, slot, previous, total, weight, lane, row, rows, out, first_row,
            first_sample, samples, offset,
        )  # fmt: skip

        def codegen(context, builder, signature, arguments):
            kinds = signature.args
            data = data_of(context, builder, kinds[0], arguments[0], space=SHARED)
            out_data = data_of(context, builder, kinds[10], arguments[10])
            _, row_pixels, channels = shape_of(context, builder, kinds[10], arguments[10])
            lane, row, rows = (narrow(builder, value) for value in arguments[7:10])
            at, back_at, slot, previous, total = (narrow(builder, value) for value in arguments[1:6])
            place = StepPlace(at, back_at, slot, previous, total, lane)
            first_row, first_sample, samples = (wide(builder, value) for value in arguments[11:14])
            pitch = builder.mul(row_pixels, channels)
            target = ResultPlace(out_data, pitch, row, rows, first_row, first_sample, samples, arguments[14])
            emit_step(strip, itemsize, builder, data, arguments[6], place, target)
            return context.get_dummy_value()

        return signature, codegen

    return with_twin(walk, column_walk_twin(strip, itemsize))
